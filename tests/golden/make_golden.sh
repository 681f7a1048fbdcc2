#!/usr/bin/env bash
# Builds golden plugins from their sources: make_golden.sh VERSION_FOLDER PLUGIN_API_INCLUDE OUTPUT_FOLDER [CC]
#
#   tests/golden/make_golden.sh tests/golden/1_0 plugin_api/include tests/golden/1_0
#
# built the stored binaries once, with gcc and the headers of that version. They are never rebuilt (README.md). The test
# golden.sources builds them in another folder. The same compiler gives the same bytes on every machine.
set -euo pipefail
version=$(cd "$1" && pwd)
include=$(cd "$2" && pwd)
output=$3
cc=${4:-gcc}
# The instructions of every processor of that architecture.
case $("$cc" -dumpmachine) in
aarch64*) architecture=armv8-a ;;
*) architecture=x86-64 ;;
esac

mkdir -p "$output"
for source in "$version"/sources/golden_*.c; do
  name=$(basename "$source" .c)
  "$cc" -std=c11 -O2 -march="$architecture" -ffp-contract=off -fPIC -fvisibility=hidden -shared -s -Wall -Wextra -pedantic \
    -Werror -ffile-prefix-map="$version"=. -ffile-prefix-map="$include"=include -Wl,--build-id=none -Wl,-z,defs \
    -Wl,-z,noseparate-code -I "$include" "$source" -o "$output/$name.so"
done
