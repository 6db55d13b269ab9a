# Runs a program whose ranks cut the host two off, on three hosts: for cut_off.sh and comes_back.sh,
# which read it by `.` and say what they expect.
#
# run_cut openmpi|tcp SECONDS PROGRAM SCENARIO PATIENCE sets: folder (with `said` and `log`), code, took, and left,
# the processes that are left on any host. forget_cut removes what it has written.
run_cut() {
  kind=$1 seconds=$2 program=$(realpath "$3")
  folder=$(mktemp -d)
  # The program under a name of its own and the hosts' files below it, so that all processes of the
  # run can be told from others.
  ln -s "$program" "$folder/strikes"
  TMPDIR=$folder
  CUT=two
  SYNCOPATE_TEST_CUE=$folder/cue
  SYNCOPATE_TEST_HEALED=$folder/healed
  SYNCOPATE_TEST_LOG=$folder/log
  SYNCOPATE_TEST_JOB=syncopate-test-$$
  SYNCOPATE_PLUGINS=$(dirname "$program")/../lib/syncopate
  SYNCOPATE_TIMEOUT=$5
  export TMPDIR CUT SYNCOPATE_TEST_CUE SYNCOPATE_TEST_HEALED SYNCOPATE_TEST_LOG
  export SYNCOPATE_TEST_JOB SYNCOPATE_PLUGINS SYNCOPATE_TIMEOUT
  begin=$(date +%s)
  timeout -k 5 "$seconds" "$(dirname "$0")/hosts.sh" "$kind" 1 "$folder/strikes" "$4" \
    > "$folder/said" 2>&1
  code=$?
  took=$(($(date +%s) - begin))
  # The daemon of the host that was cut off notices by itself, at about the same time.
  while left=$(pgrep -f "$folder" | tr '\n' ' ') && [ -n "$left" ] &&
        [ $(($(date +%s) - begin)) -lt "$seconds" ]; do
    sleep 0.1
  done
  [ -n "$left" ] && kill -KILL $left
}

forget_cut() {
  cat "$folder/said" "$folder/log" 2>/dev/null
  rm -rf "$folder" "/dev/shm/$SYNCOPATE_TEST_JOB".*
  [ "$code" = 77 ] && exit 77
}
