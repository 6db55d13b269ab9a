#!/bin/sh
# Strikes at a job under mpirun: strikes.sh openmpi|mpich|tcp CONTENT SECONDS PROGRAM SCENARIO [plain].
# So many ranks are to be content, all processes gone within the time, and nothing left of them.
# CONTENT any: the launcher may end the others before they are. plain: mpirun as most people call it,
# which ends the job when a rank is killed. The rank that is to be struck must have been, and no other
# have failed before, or what follows need not be its doing. Then the job of a rank that was killed
# or refused something has to fail.
kind=$1 content=$2 seconds=$3 program=$(realpath "$4") scenario=$5 plain=$6
case $kind in
  openmpi) set -- mpirun.openmpi --oversubscribe ;;
  mpich) set -- mpirun.mpich ;;
  *) set -- "$(dirname "$0")/as_torchrun.sh" ;;
esac
if [ -z "$plain" ]; then
  case $kind in
    openmpi) set -- "$@" --enable-recovery ;;
    mpich) set -- "$@" -disable-auto-cleanup ;;
    *) export SYNCOPATE_TEST_KEEP=1 ;;
  esac
fi
folder=$(mktemp -d)
# The program under a name of its own, so that its processes can be told from others.
ln -s "$program" "$folder/strikes"
SYNCOPATE_TEST_LOG=$folder/log
SYNCOPATE_TEST_JOB=syncopate-test-$$
SYNCOPATE_PLUGINS=$(dirname "$program")/../lib/syncopate
SYNCOPATE_TIMEOUT=3 SYNCOPATE_SPLIT=${SYNCOPATE_SPLIT-2,1}
export SYNCOPATE_TEST_LOG SYNCOPATE_TEST_JOB SYNCOPATE_PLUGINS SYNCOPATE_TIMEOUT SYNCOPATE_SPLIT
begin=$(date +%s)
timeout -k 5 "$seconds" "$@" -n 5 "$folder/strikes" "$scenario"
code=$?
took=$(($(date +%s) - begin))
for look in 1 2 3 4 5 6 7 8 9 10; do  # Those that mpirun has killed may take a moment.
  left=$(pgrep -f "^$folder/strikes" | tr '\n' ' ')
  [ -n "$left" ] || break
  sleep 0.05
done
[ -n "$left" ] && kill -KILL $left
found=$(grep -c content "$folder/log" 2>/dev/null)
struck=$(grep -c struck "$folder/log" 2>/dev/null)
early=$(sed '/struck/,$d' "$folder/log" 2>/dev/null | grep -c failing)
echo "$kind, $scenario: code $code after $took s, ${found:-0} of $content content, left: ${left:-none}"
cat "$folder/log" 2>/dev/null
rm -rf "$folder" "/dev/shm/$SYNCOPATE_TEST_JOB".*
case $scenario in
  *killed | *stopped* | left-behind) [ "$struck" = 1 ] && [ "$early" = 0 ] || exit 1 ;;
esac
case $scenario in
  *killed | *refused) [ -z "$plain" ] || [ "$code" != 0 ] || exit 1 ;;
esac
[ "$content" = any ] || [ "${found:-0}" = "$content" ] || exit 1
[ -z "$left" ] && [ "$took" -lt "$seconds" ]
