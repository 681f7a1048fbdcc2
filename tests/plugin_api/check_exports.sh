#!/usr/bin/env bash
# A plugin shows tenon_plugin_open and no other symbol, and a portable one needs no LibTorch:
# check_exports.sh portable|native PLUGIN.so...
set -euo pipefail
tier=$1
shift
failed=0

for plugin in "$@"; do
  exported=$(nm -D --defined-only "$plugin" | awk '{ print $NF }' | sort | tr '\n' ' ')
  if [ "$exported" != "tenon_plugin_open " ]; then
    printf '%s: exports %s; expected tenon_plugin_open alone\n' "$plugin" "$exported"
    failed=1
  fi
  torch=$(readelf -d "$plugin" | grep NEEDED | grep -cE 'libtorch|libc10' || true)
  if [ "$tier" = portable ] && [ "$torch" != 0 ]; then
    printf '%s: is linked with LibTorch; expected a portable plugin to need none of it\n' "$plugin"
    failed=1
  elif [ "$tier" = native ] && [ "$torch" = 0 ]; then
    printf '%s: is not linked with LibTorch; expected a native plugin to be\n' "$plugin"
    failed=1
  fi
done
exit "$failed"
