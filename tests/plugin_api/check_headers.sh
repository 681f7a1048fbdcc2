#!/usr/bin/env bash
# Checks that every header of the plugin API compiles by itself without warnings:
# check_headers.sh PLUGIN_API_INCLUDE OPENCV_INCLUDE [all]
#
# C headers are compiled as C and C++, C++ headers as C++. gcc uses C11 and C++20; clang, if installed, uses C17 and
# C++17. With `all` each compiler uses each standard. torch.hpp and torch_results.hpp need LibTorch; native plugins
# compile them.
set -euo pipefail
include=$1
opencv=$2
matrix=${3:-some}
failed=0
compiled=0

compile() { # LANGUAGE STANDARD COMPILER HEADER
  compiled=$((compiled + 1))
  if ! printf '#include <tenon/%s>\nint main(void) { return 0; }\n' "$4" |
    "$3" -x "$1" "-std=$2" -pedantic -Wall -Wextra -Wcast-qual -Werror -fsyntax-only "-I$include" -isystem "$opencv" -; then
    printf 'above: tenon/%s as %s with %s\n' "$4" "$2" "$3"
    failed=1
  fi
}

for compiler in gcc clang; do
  command -v "$compiler" >/dev/null || continue
  c_standards=(c11 c17)
  cpp_standards=(c++17 c++20)
  if [ "$matrix" != all ] && [ "$compiler" = gcc ]; then c_standards=(c11) cpp_standards=(c++20); fi
  if [ "$matrix" != all ] && [ "$compiler" = clang ]; then c_standards=(c17) cpp_standards=(c++17); fi
  for path in "$include"/tenon/*.h "$include"/tenon/{ops,draft}/*.h; do
    for standard in "${c_standards[@]}"; do compile c "$standard" "$compiler" "${path#"$include"/tenon/}"; done
    for standard in "${cpp_standards[@]}"; do compile c++ "$standard" "$compiler" "${path#"$include"/tenon/}"; done
  done
  for path in "$include"/tenon/*.hpp "$include"/tenon/draft/*.hpp; do
    case ${path##*/} in torch.hpp | torch_results.hpp) continue ;; esac
    for standard in "${cpp_standards[@]}"; do compile c++ "$standard" "$compiler" "${path#"$include"/tenon/}"; done
  done
done

if [ "$compiled" = 0 ]; then
  printf 'neither gcc nor clang was found, or no header in %s\n' "$include"
  exit 1
fi
printf '%d compilations\n' "$compiled"
exit "$failed"
