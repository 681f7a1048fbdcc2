#!/usr/bin/env bash
# Installs Tenon, builds plugins of another project against what was installed, and nothing else, and trains with them:
# check_package.sh CMAKE BUILD_FOLDER LIBTORCH
set -euo pipefail
cmake=$1
tenon_build=$2
libtorch=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$tenon_build/tests/written/package
prefix=$work/prefix
rm -rf "$work"
mkdir -p "$work"

"$cmake" --install "$tenon_build" --prefix "$prefix" >"$work/install.log"

# A copy, so that nothing can be found by a path into this repository.
cp -r "$here/plugin" "$work/source"
"$cmake" -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  -DTENON_LIBTORCH="$libtorch" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_C_FLAGS='-Wall -Wextra' \
  -DCMAKE_CXX_FLAGS='-Wall -Wextra'
"$cmake" --build "$work/build"

"$here/../plugin_api/check_exports.sh" portable "$work/build/ramp.so" "$work/build/spiral.so" \
  "$work/build/two_towers.so"
"$here/../plugin_api/check_exports.sh" native "$work/build/linear.so"

# train NAME RUN_FILE ACCURACY [ARGUMENTS]: the installed host, from a folder of its own, must reach that accuracy at least.
train() {
  local name=$1 run_file=$2 expected=$3 found
  shift 3
  mkdir "$work/$name"
  (cd "$work/$name" && "$prefix/bin/host" --config "$work/source/$run_file" --plugin-dir "$work/build" "$@" >log)
  found=$(sed -n 's/^finished .*validation\/accuracy \([0-9.]*\).*/\1/p' "$work/$name/log")
  if ! awk -v found="$found" -v expected="$expected" 'BEGIN { exit !(found != "" && found >= expected) }'; then
    cat "$work/$name/log"
    printf '%s: accuracy "%s"; expected at least %s\n' "$name" "$found" "$expected"
    exit 1
  fi
}
train portable spiral.toml 0.95
train two_towers two_towers.toml 0.95
train native spiral.toml 0.5 --set 'model={use="linear"}' --set train.epochs=5
