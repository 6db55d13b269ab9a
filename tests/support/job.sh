#!/bin/sh
# Starts a program of tests: job.sh mpirun -n 3 program. Names the memory that its processes share,
# and removes what a process that failed has left of it.
SYNCOPATE_TEST_JOB=syncopate-test-$$
export SYNCOPATE_TEST_JOB
"$@"
code=$?
rm -f "/dev/shm/$SYNCOPATE_TEST_JOB".*
exit $code
