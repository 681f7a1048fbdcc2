#!/usr/bin/env bash
# Checks that the witness of version 1.0 changed in names only: check_renamed.sh
#
# Maps the names of witness_1_0.abi back to those it was first written with, and compares the digest. See
# renamed_1_0.txt.
#
# Exit codes: 0 the files are equal, 1 they differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
expected=ba30b353e233e880f705dc86ce6be34b154cfc4d49e412646775a56339601a38

found=$(awk -v back=1 -f map_names.awk renamed_1_0.txt witness_1_0.abi | sha256sum | cut -d' ' -f1)
if [ "$found" != "$expected" ]; then
  printf 'witness_1_0.abi with its first names has the digest %s; expected %s\n' "$found" "$expected"
  exit 1
fi
