#!/usr/bin/env bash
# Builds everything with clang and warnings as errors: check_clang.sh REPOSITORY. Takes as long as a build with GCC.
#
# Exit codes: 0 built, 1 an error or a warning, 3 clang is missing.
set -euo pipefail

cd "$1"
if ! command -v clang++ >/dev/null; then
  printf 'tenon: clang++ is missing; install the package clang\n' >&2
  exit 3
fi
cmake --preset clang
cmake --build --preset clang
