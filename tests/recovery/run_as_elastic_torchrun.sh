#!/usr/bin/env bash
# Changes the number of processes in the way that torchrun does when machines join or leave:
# run_as_elastic_torchrun.sh STORE_PROGRAM CHECKPOINTS COMMAND...
#
# Starts two processes. As soon as there is a file that matches CHECKPOINTS, they get SIGTERM, and three processes are
# started with the same store and the same number of restarts, but with TENON_TEST_FAULTY_LAST_ATTEMPT=0. Ends with the
# exit code of the first failure among these.
set -u

store=$1
checkpoints=$2
shift 2
rm -f port
"$store" serve >port &
agent=$!
trap 'kill -KILL $agent' EXIT
until [ -s port ]; do sleep 0.05; done
export MASTER_ADDR=127.0.0.1 MASTER_PORT TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_USE_AGENT_STORE=True
MASTER_PORT=$(cat port)

start() {
  size=$1
  shift
  processes=()
  for ((rank = 0; rank < size; ++rank)); do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$size LOCAL_WORLD_SIZE=$size "$@" &
    processes+=($!)
  done
}

start 2 "$@"
until compgen -G "$checkpoints" >/dev/null; do
  kill -0 "${processes[@]}" 2>/dev/null || exit 1
  sleep 0.05
done
kill -TERM "${processes[@]}"
wait "${processes[@]}"
export TENON_TEST_FAULTY_LAST_ATTEMPT=0
start 3 "$@"
code=0
for process in "${processes[@]}"; do
  wait "$process" || code=$?
done
exit $code
