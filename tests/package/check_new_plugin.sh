#!/usr/bin/env bash
# Writes a plugin of each kind and template with `host new plugin`, builds it with only the package that install_package.sh installed,
# and runs its tests and its run file: check_new_plugin.sh CMAKE CTEST BUILD_FOLDER
set -euo pipefail
cmake=$1
ctest=$2
work=$3/tests/written/new_plugin
prefix=$3/tests/written/installed/prefix
rm -rf "$work"
mkdir -p "$work"
cd "$work"

for kind in dataset model loss metric callback transform images; do
  name=new_$kind
  given=(--kind "$kind")
  if [ "$kind" = images ]; then given=(--template images); fi
  "$prefix/bin/tenon" new plugin "$name" "${given[@]}" >"$name.commands"
  # The printed commands, with warnings as errors.
  expected="cmake -S $name -B $name/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=$prefix && cmake --build $name/build
ctest --test-dir $name/build --output-on-failure
tenon --config $name/$name.toml --plugin-dir $name/build"
  if [ "$(tail -n 3 "$name.commands")" != "$expected" ]; then
    cat "$name.commands"
    printf 'above: the commands that were printed; expected:\n%s\n' "$expected"
    exit 1
  fi
  "$cmake" -S "$name" -B "$name/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_CXX_FLAGS='-Wall -Wextra -Wpedantic'
  "$cmake" --build "$name/build"
  "$ctest" --test-dir "$name/build" --output-on-failure >"$name.tests" || {
    cat "$name.tests"
    exit 1
  }
  if ! grep -q '100% tests passed, 0 tests failed out of 2' "$name.tests"; then
    cat "$name.tests"
    printf '%s: expected two tests, which pass\n' "$name"
    exit 1
  fi
  "$prefix/bin/tenon" --config "$name/$name.toml" --plugin-dir "$name/build" >"$name.log"
  found=$(sed -En 's#^(finished|stopped) .*validation/accuracy ([0-9.e-]*).*#\2#p' "$name.log")
  if ! awk -v found="$found" 'BEGIN { exit !(found != "" && found >= 0.9) }'; then
    cat "$name.log"
    printf '%s: the accuracy is "%s"; expected at least 0.9\n' "$name" "$found"
    exit 1
  fi
done
grep -q '^stopped .*new_callback: validation/accuracy has reached' new_callback.log
grep -q 'validation/new_metric 0\.' new_metric.log
