#!/usr/bin/env bash
# Sends SIGINT to a command once it has written 8 bytes, and passes on its output and exit code:
# interrupt_after_output.sh COMMAND...
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
mkfifo "$folder/output"
# A shell ignores SIGINT for a command that it starts with &.
env --default-signal=INT "$@" >"$folder/output" &
exec 3<"$folder/output"
dd bs=1 count=8 status=none <&3
kill -INT $!
cat <&3
wait $!
