#!/usr/bin/env bash
# Compiles with clang, with warnings as errors: check_clang.sh REPOSITORY BUILD SLICE
#
#   1  what is installed: the host, the bundled plugins and the CUDA library, which are linked too
#   2  the sources of benchmarks, scripts and tests, without linking them
#
# Exit codes: 0 compiled, 1 an error or a warning, 2 wrong arguments, 3 clang is missing.
set -euo pipefail
cd "$1"
build=$2
if ! command -v clang++ >/dev/null; then
  printf 'tenon: clang++ is missing; install the package clang\n' >&2
  exit 3
fi
cmake --preset clang -B "$build"
case $3 in
1) targets=(installed_files) ;;
2) mapfile -t targets < <(ninja -C "$build" -t targets all | sed -nE 's/^((bench|scripts|tests)\/.*\.o): .*/\1/p') ;;
*) exit 2 ;;
esac
ninja -C "$build" "${targets[@]}"
