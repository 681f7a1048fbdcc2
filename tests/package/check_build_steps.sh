#!/usr/bin/env bash
# Tests the lines of scripts/build in a small tree: check_build_steps.sh SCRIPTS_DIR EMPTY_DIR
#
# The tree has a folder that CMake lists in each build, as Tenon's own has. Exit codes: 0 success, 1 a line is wrong.
set -euo pipefail
scripts=$1 tree=$2/tree
rm -rf "$2"
mkdir -p "$tree/scripts" "$tree/listed"
cp "$scripts/build" "$scripts/help.sh" "$tree/scripts"
printf '#!/bin/sh\necho "$@" >"%s/wanted"\n' "$2" >"$tree/scripts/dependencies"
chmod +x "$tree/scripts/dependencies"
printf 'one\n' >"$tree/listed/one"
printf 'two\n' >"$tree/listed/two"
cat >"$tree/CMakePresets.json" <<'END'
{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}
END
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(Small LANGUAGES NONE)
file(GLOB listed RELATIVE ${PROJECT_SOURCE_DIR}/listed CONFIGURE_DEPENDS listed/*)
set(made "")
foreach(name IN LISTS listed)
  add_custom_command(OUTPUT bin/${name} DEPENDS listed/${name}
                     COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/listed/${name} bin/${name})
  list(APPEND made bin/${name})
endforeach()
add_custom_command(OUTPUT bin/host COMMAND ${CMAKE_COMMAND} -E touch bin/host)
add_custom_target(small DEPENDS bin/host ${made})
END

# expect WHAT TEXT [TARGET]: compares what scripts/build prints.
expect() {
  local printed
  printed=$("$tree/scripts/build" "${@:3}" 2>&1) || true
  if [ "$printed" != "$2" ]; then
    printf '%s: found:\n%s\nexpected:\n%s\n' "$1" "$printed" "$2"
    exit 1
  fi
}

expect 'first build' 'tenon: configuring build/release
tenon: building (3 steps; the first build takes 5 to 10 minutes on two cores)' small
for name in one two host; do test -e "$tree/build/release/bin/$name"; done
expect 'up to date' '' small
test "$(cat "$2/wanted")" = --unless-done
expect 'all targets' ''
test "$(cat "$2/wanted")" = '--for-tests --unless-done'
printf 'new\n' >"$tree/listed/one"
expect 'a changed file' 'tenon: building (1 step)' small
printf 'three\n' >"$tree/listed/three"
printf 'four\n' >"$tree/listed/four"
expect 'new files in the listed folder' 'tenon: building (2 steps)' small
expect 'up to date again' '' small
expect 'unknown target' "ninja: Entering directory \`$tree/build/release'
ninja: error: unknown target 'smal', did you mean 'small'?" smal
printf 'message(FATAL_ERROR wrong)\n' >>"$tree/CMakeLists.txt"
if "$tree/scripts/build" small >"$2/printed" 2>&1; then
  printf 'a CMake error: the script succeeded\n'
  exit 1
fi
grep -q 'CMake Error at CMakeLists.txt' "$2/printed" || { cat "$2/printed"; exit 1; }
