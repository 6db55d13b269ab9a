#!/bin/sh
# Cuts a host off for a while in the middle of a run: comes_back.sh SECONDS PROGRAM SCENARIO CUT_FOR
# PATIENCE CODE. The link comes back after CUT_FOR seconds, while ranks wait for PATIENCE seconds
# (SYNCOPATE_TIMEOUT). All three ranks have to be content, the job ends with the CODE within the
# time, and no process is left.
seconds=$1 program=$(realpath "$2") scenario=$3 cut_for=$4 patience=$5 expected=$6
folder=$(mktemp -d)
# The program under a name of its own, so that all processes of the run can be told from others.
ln -s "$program" "$folder/strikes"
TMPDIR=$folder
CUT=two
CUT_FOR=$cut_for
SYNCOPATE_TEST_CUE=$folder/cue
SYNCOPATE_TEST_HEALED=$folder/healed
SYNCOPATE_TEST_LOG=$folder/log
SYNCOPATE_TEST_JOB=syncopate-test-$$
SYNCOPATE_PLUGINS=$(dirname "$program")/../lib/syncopate
SYNCOPATE_TIMEOUT=$patience
export TMPDIR CUT CUT_FOR SYNCOPATE_TEST_CUE SYNCOPATE_TEST_HEALED SYNCOPATE_TEST_LOG
export SYNCOPATE_TEST_JOB SYNCOPATE_PLUGINS SYNCOPATE_TIMEOUT
begin=$(date +%s)
timeout -k 5 "$seconds" "$(dirname "$0")/hosts.sh" openmpi 1 "$folder/strikes" "$scenario" \
  > "$folder/said" 2>&1
code=$?
took=$(($(date +%s) - begin))
while left=$(pgrep -f "$folder" | tr '\n' ' ') && [ -n "$left" ] &&
      [ $(($(date +%s) - begin)) -lt "$seconds" ]; do
  sleep 0.1
done
[ -n "$left" ] && kill -KILL $left
content=$(grep -c content "$folder/log" 2>/dev/null)
echo "code $code after $took s, ${content:-0} of 3 content, left: ${left:-none}"
cat "$folder/said" "$folder/log" 2>/dev/null
rm -rf "$folder" "/dev/shm/$SYNCOPATE_TEST_JOB".*
[ "$code" = 77 ] && exit 77
[ "$code" = "$expected" ] && [ "$took" -lt "$seconds" ] && [ -z "$left" ] && [ "${content:-0}" = 3 ]
