#!/bin/sh
# Starts a program of tests: job.sh mpirun -n 3 program. Names the memory that its processes share,
# and removes what a process that failed has left of it. SYNCOPATE_TEST_ENDS_WITH is the exit code
# that is right, 0 if not set.
SYNCOPATE_TEST_JOB=syncopate-test-$$
export SYNCOPATE_TEST_JOB
trap 'rm -f "/dev/shm/$SYNCOPATE_TEST_JOB".*' EXIT
trap 'exit 1' TERM INT
"$@"
code=$?
[ "$code" -eq "${SYNCOPATE_TEST_ENDS_WITH:-0}" ] && exit 0
[ "$code" -ne 0 ] || code=1
exit "$code"
