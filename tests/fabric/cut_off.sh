#!/bin/sh
# Cuts a host off in the middle of a run: cut_off.sh SECONDS PROGRAM. The ranks of the other hosts are
# told which machine is lost and so is the user who called mpirun, the job fails within the time, and
# no process is left on any host, that one included.
. "$(dirname "$0")/cut_host.sh"
# 3 s: so that the ranks have heard before mpirun ends them.
run_cut "$1" "$2" host-cut-off 3
told=$(grep -c 'told of machine two' "$folder/log" 2>/dev/null)
named=$(grep -c 'Remote daemon.* on node two' "$folder/said")
echo "code $code after $took s, ${told:-0} of 2 told, left: ${left:-none}"
forget_cut
[ "$code" != 0 ] && [ "$took" -lt "$seconds" ] && [ -z "$left" ] && [ "${told:-0}" = 2 ] &&
  [ "$named" -gt 0 ]
