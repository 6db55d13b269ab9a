#!/bin/sh
# Cuts a host off in the middle of a run: cut_off.sh openmpi|tcp SECONDS PROGRAM. The ranks of the other
# hosts are told which machine is lost, the job fails within the time, and no process is left on any host,
# that one included. With mpirun its caller is told as well. Over TCP ranks would wait for long, and are
# told by the fabric.
. "$(dirname "$0")/cut_host.sh"
# 3 s: so that the ranks have heard before mpirun ends them.
patience=3
[ "$1" = tcp ] && patience=300
run_cut "$1" "$2" "$3" host-cut-off "$patience"
told=$(grep -c 'told of machine two' "$folder/log" 2>/dev/null)
named=$(grep -c 'Remote daemon.* on node two' "$folder/said")
[ "$1" = tcp ] && named=1
echo "code $code after $took s, ${told:-0} of 2 told, left: ${left:-none}"
forget_cut
[ "$code" != 0 ] && [ "$took" -lt "$seconds" ] && [ -z "$left" ] && [ "${told:-0}" = 2 ] &&
  [ "$named" -gt 0 ]
