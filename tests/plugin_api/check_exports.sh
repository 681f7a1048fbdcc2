#!/usr/bin/env bash
# Checks that a plugin exports only tenon_plugin_open, and that a portable plugin does not link LibTorch:
# check_exports.sh portable|native PLUGIN.so...
set -euo pipefail
tier=$1
shift
failed=0

for plugin in "$@"; do
  exported=$(nm -D --defined-only "$plugin" | awk '{ print $NF }' | sort | tr '\n' ' ')
  if [ "$exported" != "tenon_plugin_open " ]; then
    printf '%s: exports %s; expected only tenon_plugin_open\n' "$plugin" "$exported"
    failed=1
  fi
  torch=$(readelf -d "$plugin" | grep NEEDED | grep -cE 'libtorch|libc10' || true)
  if [ "$tier" = portable ] && [ "$torch" != 0 ]; then
    printf '%s: is linked with LibTorch; expected a portable plugin without LibTorch\n' "$plugin"
    failed=1
  elif [ "$tier" = native ] && [ "$torch" = 0 ]; then
    printf '%s: is not linked with LibTorch; expected a native plugin with LibTorch\n' "$plugin"
    failed=1
  fi
done
exit "$failed"
