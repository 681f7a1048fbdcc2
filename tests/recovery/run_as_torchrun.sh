#!/usr/bin/env bash
# Starts two processes in the way that torchrun does: run_as_torchrun.sh STORE_PROGRAM SERVER COMMAND...
#
# SERVER: "agent" if the agent serves the store, or "rank0". As soon as one process has failed, both get SIGTERM, and
# SIGKILL a second later. Ends with the exit code of the first failure.
set -u

store=$1
server=$2
shift 2
export MASTER_ADDR=127.0.0.1 MASTER_PORT WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RESTART_COUNT=0
if [ "$server" = agent ]; then
  rm -f port
  "$store" serve >port &
  export TENON_TEST_AGENT=$! TORCHELASTIC_USE_AGENT_STORE=True
  trap 'kill -KILL $TENON_TEST_AGENT' EXIT
  until [ -s port ]; do sleep 0.05; done
  MASTER_PORT=$(cat port)
else
  export TORCHELASTIC_USE_AGENT_STORE=False
  MASTER_PORT=$("$store")
fi

RANK=0 LOCAL_RANK=0 "$@" &
first=$!
RANK=1 LOCAL_RANK=1 "$@" &
second=$!
code=0
for _ in 1 2; do
  wait -n $first $second
  ended=$?
  if [ $ended = 0 ]; then continue; fi
  code=$ended
  kill -TERM $first $second 2>/dev/null
  sleep 1
  kill -KILL $first $second 2>/dev/null
  break
done
wait $first $second
exit $code
