#!/usr/bin/env bash
# The headers hold what every released version of the contract held: check_abidiff.sh CC PLUGIN_API_INCLUDE WORK_FOLDER
#
# abidiff compares the witness library of these headers with each witness_MAJOR_MINOR.abi that is kept here. What a sized
# struct gained since is cut off first. (The suppressions of abidiff hide more of such a struct than what was appended.)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cc=$1
include=$2
work=$3
failed=0

mkdir -p "$work"
"$here/make_witness.sh" "$cc" "$include" "$work/today.abi"
for kept in "$here"/witness_*_*.abi; do
  awk -f "$here/cut_structs.awk" "$kept" "$work/today.abi" >"$work/cut.abi"
  if ! abidiff --harmless --no-added-syms "$kept" "$work/cut.abi"; then
    printf 'above: what became of %s, which is kept for ever\n' "$(basename "$kept")"
    failed=1
  fi
done
exit "$failed"
