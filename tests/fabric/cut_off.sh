#!/bin/sh
# Cuts a host off in the middle of a run: cut_off.sh openmpi|tcp SECONDS PROGRAM. The ranks of the other
# hosts are told which machine is lost, the job fails within the time, and no process is left on any host,
# that one included. With mpirun its caller is told as well. Over TCP ranks would wait for long, and are
# told by the fabric.
kind=$1 seconds=$2 program=$(realpath "$3")
folder=$(mktemp -d)
# The program under a name of its own and the hosts' files below it, so that all processes of the
# run can be told from others.
ln -s "$program" "$folder/strikes"
TMPDIR=$folder
CUT=two
SYNCOPATE_TEST_CUE=$folder/cue
SYNCOPATE_TEST_LOG=$folder/log
SYNCOPATE_TEST_JOB=syncopate-test-$$
SYNCOPATE_PLUGINS=$(dirname "$program")/../lib/syncopate
# So that the ranks have heard before mpirun ends them.
SYNCOPATE_TIMEOUT=3
[ "$kind" = tcp ] && SYNCOPATE_TIMEOUT=300
export TMPDIR CUT SYNCOPATE_TEST_CUE SYNCOPATE_TEST_LOG SYNCOPATE_TEST_JOB SYNCOPATE_PLUGINS
export SYNCOPATE_TIMEOUT
begin=$(date +%s)
timeout -k 5 "$seconds" "$(dirname "$0")/hosts.sh" "$kind" 1 "$folder/strikes" host-cut-off \
  > "$folder/said" 2>&1
code=$?
took=$(($(date +%s) - begin))
# The daemon of the host that was cut off notices by itself, at about the same time.
while left=$(pgrep -f "$folder" | tr '\n' ' ') && [ -n "$left" ] &&
      [ $(($(date +%s) - begin)) -lt "$seconds" ]; do
  sleep 0.1
done
[ -n "$left" ] && kill -KILL $left
told=$(grep -c 'told of machine two' "$folder/log" 2>/dev/null)
echo "code $code after $took s, ${told:-0} of 2 told, left: ${left:-none}"
cat "$folder/said" "$folder/log" 2>/dev/null
named=$(grep -c 'Remote daemon.* on node two' "$folder/said")
rm -rf "$folder" "/dev/shm/$SYNCOPATE_TEST_JOB".*
[ "$code" = 77 ] && exit 77
[ "$kind" = tcp ] && named=1
[ "$code" != 0 ] && [ "$took" -lt "$seconds" ] && [ -z "$left" ] && [ "${told:-0}" = 2 ] &&
  [ "$named" -gt 0 ]
