#!/usr/bin/env bash
# Checks the plugin of examples/zig: check_zig.sh BUILD_FOLDER
#
# Builds it with the headers that install_package.sh installed, with the commands of its README. Checks that it exports
# only tenon_plugin_open, that `host validate` finds no error in it, that a run learns the data, that a wrong parameter
# gives a clear error, and that validate sees a dtype in place of a set of dtypes. Zig is the package ziglang of PyPI. The
# first call downloads it (100 MB) into ${TENON_CACHE:-${XDG_CACHE_HOME:-~/.cache}/tenon}.
#
# Exit codes: 0, 1 a check failed, 4 Zig could not be downloaded.
set -euo pipefail
tenon_build=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
example=$(cd "$here/../../examples/zig" && pwd)
prefix=$tenon_build/tests/written/installed/prefix
host=$prefix/bin/host
work=$tenon_build/tests/written/zig
version=0.17.1
hash=ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54
folder=${TENON_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tenon}/zig-$version

rm -rf "$work"
mkdir -p "$work/build" "$work/wrong" "$work/home" "$(dirname "$folder")"
chmod go-w "$work" "$work/build" "$work/wrong" # the host loads no plugin that others can replace

if [ ! -d "$folder" ]; then
  printf 'ziglang==%s --hash=sha256:%s\n' "$version" "$hash" >"$work/zig.txt"
  if ! PIP_ROOT_USER_ACTION=ignore python3 -m pip --quiet --disable-pip-version-check --no-cache-dir install --no-deps \
    --no-compile --require-hashes --only-binary :all: --requirement "$work/zig.txt" --target "$work/ziglang" </dev/null; then
    printf 'Zig %s could not be downloaded (the message is above)\n' "$version"
    exit 4
  fi
  mv "$work/ziglang" "$folder"
fi
zig=$folder/ziglang/zig
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$work/cache

# fail FILE MESSAGE: prints the file and the message, and ends the test.
fail() {
  cat "$1"
  printf '%s (above)\n' "$2"
  exit 1
}

# build SOURCE OUTPUT: as in the README. Zig names source files relative to the current folder.
build() {
  (cd "$(dirname "$1")" && "$zig" build-lib -dynamic -O ReleaseSafe -lc -z defs --dep tenon "-Mrings=$(basename "$1")" \
    "-Mtenon=$work/build/tenon.zig" "-femit-bin=$2")
}

# train [ARGUMENTS]: runs the run file of the example, with its output in WORK/log.
train() {
  (cd "$work" && env -u TENON_PLUGIN_PATH HOME="$work/home" "$host" --config "$example/rings.toml" \
    --plugin-dir "$work/build" --set run.threads=1 --set run.output_dir="\"$work/runs\"" "$@" >"$work/log" 2>&1)
}

cd "$example"
"$zig" fmt --check rings.zig >"$work/log" || fail "$work/log" 'zig fmt would change these files'
"$zig" translate-c -lc -I "$prefix/include" tenon_headers.h >"$work/build/tenon.zig"
build "$example/rings.zig" "$work/build/rings.so"

nm -D --defined-only "$work/build/rings.so" | awk '{ print $3 }' >"$work/exports"
if [ "$(cat "$work/exports")" != tenon_plugin_open ]; then
  fail "$work/exports" 'the plugin exports other symbols than tenon_plugin_open'
fi

"$host" note "$work/build/rings.so"
"$host" describe zig_cross_entropy --ports --plugin-dir "$work/build" >"$work/log" 2>&1 ||
  fail "$work/log" 'host describe failed'
grep -qF '  target: int64 [N]' "$work/log" || fail "$work/log" 'expected the input target'

"$host" validate "$work/build/rings.so" >"$work/log" 2>&1 || fail "$work/log" 'host validate found errors'
grep -q ' 0 with a warning, 0 failed' "$work/log" || fail "$work/log" 'host validate found warnings'
# These checks are skipped if the plugin declares no operators.
for check in operators declared-operators; do
  if ! grep -qE " $check +pass$" "$work/log"; then fail "$work/log" "expected that the check $check passes"; fi
done

train || fail "$work/log" 'training failed'
accuracy=$(sed -nE 's/^finished .* validation\/accuracy ([0-9.]+).*/\1/p' "$work/log")
if ! awk -v "accuracy=${accuracy:-0}" 'BEGIN { exit !(accuracy > 0.95) }'; then
  fail "$work/log" 'expected an accuracy above 0.95'
fi

status=0
train --set data.train.params.samples=7 || status=$?
if [ "$status" != 3 ] ||
  ! grep -qE '^error: dataset "rings" of plugin zig_example .*: samples is odd; expected an even number' "$work/log"; then
  fail "$work/log" "exit code $status; expected 3, and an error about samples"
fi

sed 's/c.TENON_DTYPE_BIT(c.TENON_INT64)/c.TENON_INT64/' "$example/rings.zig" >"$work/wrong/rings.zig"
if cmp -s "$example/rings.zig" "$work/wrong/rings.zig"; then fail "$example/rings.zig" 'expected TENON_DTYPE_BIT'; fi
build "$work/wrong/rings.zig" "$work/wrong/rings.so"
if "$host" validate "$work/wrong/rings.so" >"$work/log" 2>&1 || ! grep -qF 'TENON_DTYPE_BIT(TENON_INT64)' "$work/log"; then
  fail "$work/log" 'expected that validate refuses the number of a dtype as a set of dtypes'
fi
printf 'accuracy %s\n' "$accuracy"
