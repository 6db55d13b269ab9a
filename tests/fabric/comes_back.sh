#!/bin/sh
# Cuts a host off for a while in the middle of a run: comes_back.sh SECONDS PROGRAM SCENARIO CUT_FOR
# PATIENCE CODE. The link comes back after CUT_FOR seconds, while ranks wait for PATIENCE seconds
# (SYNCOPATE_TIMEOUT). All three ranks have to be content, the job ends with the CODE within the
# time, and no process is left.
. "$(dirname "$0")/cut_host.sh"
CUT_FOR=$4 expected=$6
export CUT_FOR
run_cut openmpi "$1" "$2" "$3" "$5"
content=$(grep -c content "$folder/log" 2>/dev/null)
echo "code $code after $took s, ${content:-0} of 3 content, left: ${left:-none}"
forget_cut
[ "$code" = "$expected" ] && [ "$took" -lt "$seconds" ] && [ -z "$left" ] && [ "${content:-0}" = 3 ]
