#!/usr/bin/env bash
# Writes the output of abidw for the witness library: make_witness.sh CC PLUGIN_API_INCLUDE FILE.abi
#
# The library is FILE.so. Every field has its name, including those of the newest version. The contents of the file do
# not depend on its folder.
set -euo pipefail
cc=$1
include=$(cd "$2" && pwd)
mkdir -p "$(dirname "$3")"
file=$(cd "$(dirname "$3")" && pwd)/$(basename "$3" .abi)
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v abidw >/dev/null; then
  printf 'abidw was not found; this test compares ABIs with it: run scripts/dependencies --for-tests\n'
  exit 1
fi
"$cc" -std=c11 -g -shared -fPIC -fvisibility=hidden -DTENON_TARGET_ABI=TENON_ABI_CURRENT -I "$include" witness.c \
  -o "$file.so"
abidw --no-architecture --no-comp-dir-path --no-corpus-path --no-elf-needed --no-parameter-names --no-show-locs \
  --no-write-default-sizes "$file.so" --out-file "$file.abi"
