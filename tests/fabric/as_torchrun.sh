#!/bin/bash
# Starts ranks on this host with the variables that torchrun sets: as_torchrun.sh -n RANKS COMMAND…
# They meet over TCP. When one fails the others are ended, unless SYNCOPATE_TEST_KEEP is set. Says the code of
# the first that failed. With HOSTS (how many there are) and HOST (which this one is, from 0 on) it starts
# the ranks of one host of several; then MASTER_ADDR, MASTER_PORT and TORCHELASTIC_RUN_ID come from outside.
ranks=$2
shift 2
export WORLD_SIZE=$((ranks * ${HOSTS:-1})) LOCAL_WORLD_SIZE=$ranks
export MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
export MASTER_PORT=${MASTER_PORT:-$((10000 + ($$ * 131 + RANDOM) % 20000))}
export TORCHELASTIC_RUN_ID=${TORCHELASTIC_RUN_ID:-test-$$} TORCHELASTIC_RESTART_COUNT=0
export SYNCOPATE_FABRIC=tcp
trap 'kill -KILL "${started[@]}" 2>/dev/null; exit 1' TERM INT
for ((local = 0; local < ranks; ++local)); do
  RANK=$((${HOST:-0} * ranks + local)) LOCAL_RANK=$local "$@" &
  started+=($!)
done
# Asked one by one: "wait -n" does not tell of those that have ended before it was called.
code=0
while [ ${#started[@]} -gt 0 ]; do
  sleep 0.02
  left=()
  for rank in "${started[@]}"; do
    if kill -0 "$rank" 2>/dev/null; then
      left+=("$rank")
      continue
    fi
    wait "$rank"
    ended=$?
    [ $ended = 0 ] || [ $code != 0 ] || code=$ended
  done
  started=("${left[@]}")
  [ $code = 0 ] || [ -n "$SYNCOPATE_TEST_KEEP" ] || kill -KILL "${started[@]}" 2>/dev/null
done
exit $code
