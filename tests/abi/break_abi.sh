#!/usr/bin/env bash
# Mutation test of the ABI checks: breaks the plugin ABI in copies of the files, and expects the checks to detect it:
# break_abi.sh STRIDE WORK_FOLDER CC CXX WHAT_LINKS_THE_TEST_OF_SIZES...
#
# breakages.txt contains one breakage per line. STRIDE 5 tries every fifth of them, 1 all. Prints the checks that
# detected each breakage. Fails if an expected check misses it, if a breakage cannot be applied, or if the original
# files do not pass. The checks:
#   asserts   the assertions in the headers (TENON_FREEZE, frozen structs)
#   layout    layouts/*.c and layouts/draft/*.c, as C and as C++
#   abidiff   check_abidiff.sh
#   target    check_target_abi.sh
#   sizes     plugin_sizes_test.cpp, linked with a new build of framework/components/loading/check_plugin.cpp
# The other checks use headers without assertions, so that each check is tested separately.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
stride=$1
work=$2
cc=$3
cxx=$4
shift 4
links=("$@")
tree=$work/tree
ccache=$(command -v ccache || true)
failures=0

complain() {
  printf '%s\n' "$*"
  failures=$((failures + 1))
}

# lay_out BASE: copies the original files. The base `next` adds a version to the headers.
lay_out() {
  rm -rf "$tree"
  mkdir -p "$tree/framework/components/loading"
  cp -r "$repository/plugin_api/include" "$tree/include"
  cp "$repository/framework/components/loading/check_plugin.cpp" "$tree/framework/components/loading"
  if [ "$1" = next ]; then "$here/add_version.sh" "$tree/include" >/dev/null; fi
  silence_asserts
}

# Removes the assertions from the headers in $tree/silent.
silence_asserts() {
  rm -rf "$tree/silent"
  cp -r "$tree/include" "$tree/silent"
  perl -0777 -pi -e 's/^TENON_(FREEZE|STATIC_ASSERT)\(.*?\);$//gms' "$tree"/silent/tenon/*.h
}

compile_headers() { # INCLUDE
  printf '#include <tenon/gradient.h>\n#include <tenon/tenon.h>\n' |
    "$cc" -std=c11 -Wall -Wextra -Werror -I "$1" -fsyntax-only -x c -
}

check_asserts() { compile_headers "$tree/include"; }

check_layout() {
  local layouts=("$here"/layouts/*.c "$here"/layouts/draft/*.c)
  "$cc" -std=c11 -I "$tree/silent" -fsyntax-only "${layouts[@]}" &&
    "$cxx" -std=c++17 -I "$tree/silent" -fsyntax-only "${layouts[@]/%.c/.cpp}"
}

check_abidiff() { "$here/check_abidiff.sh" "$cc" "$tree/silent" "$work/abidiff"; }

check_target() { # BASE
  local added=()
  if [ "$1" = next ]; then added=(--has-newest); fi
  "$here/check_target_abi.sh" "$tree/include" "$work/target" "${added[@]}"
}

# The sources repeat, so ccache helps.
link_sizes() {
  $ccache "$cxx" -std=c++20 -I "$tree/silent" -I "$repository" -c "$tree/framework/components/loading/check_plugin.cpp" \
    -o "$work/check_plugin.o" &&
    "$cxx" "$work/check_plugin.o" "${links[@]}" -o "$work/sizes"
}

check_sizes() { "$work/sizes"; }

# notices CHECK BASE: whether the check fails on the current tree. Its output is in the work folder.
notices() { ! "check_$1" "$2" >"$work/$1.log" 2>&1; }

# expect_green BASE CHECK...: checks that the original files pass.
expect_green() {
  local check base=$1
  shift
  lay_out "$base"
  for check in "$@"; do
    if [ "$check" = sizes ] && ! link_sizes; then complain 'above: the size test does not link'; fi
    if notices "$check" "$base"; then
      cat "$work/$check.log"
      complain "above: $check fails on the original files ($base)"
    fi
  done
}

# try_breakage NAME BASE FILE EXPECTED_CHECKS EXPRESSION
try_breakage() {
  local name=$1 base=$2 file=$3 expected=$4 expression=$5 check checks='asserts layout abidiff' noticed=''
  lay_out "$base"
  case $file in
  *.h) file=include/tenon/$file ;;
  esac
  cp "$tree/$file" "$work/before"
  perl -0777 -pi -e "$expression" "$tree/$file"
  silence_asserts
  if cmp -s "$tree/$file" "$work/before"; then
    complain "$name: the expression changes nothing in $file: $expression"
    return
  fi
  if ! compile_headers "$tree/silent" >"$work/headers.log" 2>&1; then
    cat "$work/headers.log"
    complain "above: $name: the headers do not compile as C, which is not an ABI change"
    return
  fi
  case " $expected " in *' target '*) checks+=' target' ;; esac
  case " $expected " in
  *' sizes '*)
    checks+=' sizes'
    if ! link_sizes; then
      complain "above: $name: the host does not compile; expected it to compile and its test to fail"
      return
    fi
    ;;
  esac
  for check in $checks; do
    if notices "$check" "$base"; then noticed+=" $check"; fi
  done
  printf '%-62s%s\n' "$name" "${noticed:- nothing}"
  for check in $expected; do
    case " $noticed " in
    *" $check "*) ;;
    *) complain "$name: $check did not detect it" ;;
    esac
  done
}

trimmed() { sed -E 's/^ +| +$//g' <<<"$1"; }

mkdir -p "$work"
line_number=0
count=0
expect_green today asserts layout abidiff sizes
expect_green next asserts layout abidiff
printf '%-62s %s\n' breakage 'detected by'
while IFS= read -r line; do
  case $line in '' | '#'*) continue ;; esac
  line_number=$((line_number + 1))
  if [ $((line_number % stride)) != $((stride - 1)) ]; then continue; fi
  IFS='|' read -r name base file expected expression <<<"$line"
  try_breakage "$(trimmed "$name")" "$(trimmed "$base")" "$(trimmed "$file")" "$(trimmed "$expected")" \
    "$(trimmed "$expression")"
  count=$((count + 1))
done <"$here/breakages.txt"
# The original files again. The test abi.target covers the check `target` for them.
expect_green today asserts layout abidiff sizes
printf '%d breakages, %d failures\n' "$count" "$failures"
[ "$failures" = 0 ] && [ "$count" -gt 0 ]
