#!/usr/bin/env bash
# Checks that a field of a newer version does not compile in a plugin that targets an older version:
# check_target_abi.sh PLUGIN_API_INCLUDE WORK_FOLDER [--has-newest]
#
# Adds a minor version to a copy of the headers with add_version.sh (with --has-newest they already contain it). Then
# compiles with gcc and clang: each use of each new field for the older and the newer target, and existing plugins for
# the older target. Finally checks the versions that plugins built with the new headers report.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
work=$2
include=$work/include
rm -rf "$work"
mkdir -p "$work"
cp -r "$1" "$include"
if [ "${3:-}" != --has-newest ]; then "$here/add_version.sh" "$include" >/dev/null; fi
newer=$(sed -nE 's/^#define TENON_ABI_CURRENT TENON_MAKE_ABI\(1, ([0-9]+)\)$/\1/p' "$include/tenon/abi.h")
older=$((newer - 1))
at_newer="-DTENON_TARGET_ABI=TENON_MAKE_ABI(1,$newer)"
at_older="-DTENON_TARGET_ABI=TENON_MAKE_ABI(1,$older)"
uses=0

stop() {
  printf '%s\n' "$*"
  exit 1
}

# compile LANGUAGE COMPILER ARGUMENTS...: compiles, with the compiler's output in the work folder.
compile() {
  local language=$1 compiler=$2 standard=c11
  shift 2
  if [ "$language" = c++ ]; then standard=c++20; fi
  "$compiler" -x "$language" "-std=$standard" -Wall -Wextra -Werror -fsyntax-only -I "$include" -I "$repository" "$@" \
    >"$work/messages" 2>&1
}

# must_compile WHAT LANGUAGE COMPILER ARGUMENTS...
must_compile() {
  local what=$1
  shift
  compile "$@" || { cat "$work/messages" && stop "above: $2 at ${*: -1}: $what; expected it to compile"; }
}

# must_not_compile WHAT MESSAGE LANGUAGE COMPILER ARGUMENTS...: the message is an extended regular expression.
must_not_compile() {
  local what=$1 message=$2
  shift 2
  if compile "$@"; then stop "$2 at ${*: -1}: $what; expected a compilation error"; fi
  grep -qE "$message" "$work/messages" ||
    { cat "$work/messages" && stop "above: $2 at ${*: -1}: $what; expected a message like: $message"; }
}

try_uses() { # LANGUAGE COMPILER
  local line file=$here/use_newest.c
  local use=("$1" "$2" -Wno-missing-field-initializers "$file")
  must_compile 'every use of a newer field' "${use[@]}" "$at_newer"
  must_not_compile 'every use of a newer field' '\<newest\>' "${use[@]}" "$at_older"
  while IFS=: read -r line _; do
    grep -qF "use_newest.c:$line:" "$work/messages" ||
      stop "$2 as $1: no message about line $line of use_newest.c, $(sed -n "${line}p" "$file")"
    uses=$((uses + 1))
  done < <(grep -nE '[>., ]newest' "$file")
}

try_targets() { # LANGUAGE COMPILER
  local nothing=("$1" "$2" "$work/nothing")
  must_compile 'the headers alone' "${nothing[@]}"
  must_not_compile 'a target of the future' 'TENON_TARGET_ABI: expected' "${nothing[@]}" \
    "-DTENON_TARGET_ABI=TENON_MAKE_ABI(1,$((newer + 1)))"
  must_not_compile 'a target before 1.0' 'TENON_TARGET_ABI: expected' "${nothing[@]}" \
    '-DTENON_TARGET_ABI=TENON_MAKE_ABI(0,1)'
}

# Compiles existing plugins for the older target, and without a target.
try_plugins() { # C_COMPILER C++_COMPILER
  local target source
  for target in "$at_older" -UTENON_TARGET_ABI; do
    if command -v "$1" >/dev/null; then
      must_compile 'a model in C' c "$1" "$repository/plugins/models/mlp/mlp.c" "$target"
    fi
  done
  command -v "$2" >/dev/null || return 0
  for source in plugins/losses/cross_entropy/cross_entropy.cpp examples/tutorial/spiral.cpp; do
    must_compile "$source" c++ "$2" "$repository/$source" "$at_older"
  done
  must_compile 'the C++ headers' c++ "$2" "$work/wrappers" "$at_older"
}

# expect_answers TARGET LINES: checks the replies of a plugin for that target to hosts of both versions.
expect_answers() {
  "$cc" -std=c11 -I "$include" "$1" "$here/answers.c" "$repository/plugins/models/mlp/mlp.c" -o "$work/answers" -lm
  diff -u --label expected --label "replies of a plugin with $1" - <("$work/answers" "$older" "$newer") ||
    stop 'above: the versions in the replies of a plugin'
}

printf '#include <tenon/tenon.h>\n' >"$work/nothing"
for path in "$include"/tenon/*.hpp; do
  case ${path##*/} in torch.hpp | opencv.hpp) ;; *) printf '#include <tenon/%s>\n' "${path##*/}" ;; esac
done >"$work/wrappers"

cc=$(command -v gcc || command -v clang) || stop 'neither gcc nor clang was found: run scripts/dependencies --for-tests'
for compiler in gcc clang; do
  if command -v "$compiler" >/dev/null; then
    try_uses c "$compiler"
    try_targets c "$compiler"
  fi
done
for compiler in g++ clang++; do
  if command -v "$compiler" >/dev/null; then
    try_uses c++ "$compiler"
    try_targets c++ "$compiler"
  fi
done

expect_answers "$at_older" <<END
host 1.$older: plugin 1.$older to 1.$newer, status 0, described
host 1.$newer: plugin 1.$older to 1.$newer, status 0, described
END
expect_answers "$at_newer" <<END
host 1.$older: plugin 1.$newer to 1.$newer, status 5, silent
host 1.$newer: plugin 1.$newer to 1.$newer, status 0, described
END
expect_answers -UTENON_TARGET_ABI <<END
host 1.$older: plugin 1.0 to 1.$newer, status 0, described
host 1.$newer: plugin 1.0 to 1.$newer, status 0, described
END
try_plugins gcc g++
try_plugins clang clang++
printf '%d uses of newer fields, each rejected at 1.%d and compiled at 1.%d\n' "$uses" "$older" "$newer"
