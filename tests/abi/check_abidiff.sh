#!/usr/bin/env bash
# Checks that the headers contain every released version of the ABI: check_abidiff.sh CC PLUGIN_API_INCLUDE WORK_FOLDER
#
# abidiff compares the witness library of these headers with each stored witness_MAJOR_MINOR.abi. Fields that were
# appended to a sized struct since then are removed first. (The suppressions of abidiff would hide more than these.)
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
    printf 'above: the changes to %s, which must not change\n' "$(basename "$kept")"
    failed=1
  fi
done
exit "$failed"
