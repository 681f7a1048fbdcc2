#!/usr/bin/env bash
# Makes the wheel of this build, installs it and uses it: check_wheel.sh BUILD_FOLDER LIBTORCH
#
# The wheel has no image library, because this build may use the OpenCV of the system. check_fresh_roots.sh tests the
# packages of scripts/package.
set -euo pipefail
build=$1
libtorch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$build/tests/written/wheel
rm -rf "$work"
mkdir -p "$work/user"

fail() {
  printf '%s\n' "$1"
  exit 1
}

python=''
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -m pip --version >/dev/null 2>&1; then python=$candidate; fi
  [ -z "$python" ] || break
done
if [ -z "$python" ]; then
  printf 'no Python with pip was found\n'
  exit 77
fi

# with_pip ARGUMENT...: runs pip without a network. Debian's pip refuses --prefix, even for a folder of the test (PEP 668).
with_pip() {
  PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 "$python" -m pip --quiet --disable-pip-version-check "$@" 2>"$work/pip.log" || {
    cat "$work/pip.log"
    exit 1
  }
}

# run COMMAND...: runs it in an almost empty environment.
run() { (cd "$work/user" && env -i PATH="$PATH" HOME="$work/user" PIP_ROOT_USER_ACTION=ignore "$@"); }

python3 "$root/packaging/make_packages.py" "$build" "$work/made" --format wheel --leave-out-opencv
wheel=$(echo "$work"/made/*.whl)
case $(basename "$wheel") in
tenon_host-*-py3-none-manylinux_2_*_*.whl) ;;
*) fail "$wheel: unexpected name" ;;
esac

# The package torch is represented by links to LibTorch.
with_pip install --no-deps --no-index --target "$work/first" "$wheel"
ln -s "$libtorch" "$work/first/torch"
ln -s "$libtorch/../nvidia" "$work/first/nvidia"
mv "$work/first" "$work/moved"
bin=$work/moved/bin
prefix=$work/moved/tenon_host
python3 "$here/check_sbom.py" "$wheel.cdx.json" "$work/moved" || fail 'the bill of materials does not match the wheel'
cmp "$wheel.cdx.json" "$work"/moved/tenon_host-*.dist-info/sboms/tenon.cdx.json || fail 'the wheel has another bill of materials'
[ "$(run "$bin/tenon" --prefix)" = "$prefix" ] || fail "--prefix: found $(run "$bin/tenon" --prefix); expected $prefix"
grep -qx 'Name: tenon-host' "$work"/moved/tenon_host-*.dist-info/METADATA || fail 'the wheel has another name'
"$here/check_names.sh" "$work/moved" "$prefix" || fail 'the names of the program are wrong (above)'

# The programs in Python print their help without the packages that they use.
for name in tenon-export tenon-log; do
  help=$(run PYTHONPATH="$work/moved" "$python" "$bin/$name" --help) || fail "$name does not start"
  grep -q "^usage: $name" <<<"$help" || fail "the help of $name names another program: $help"
done

# Every library is in the package, or every Linux system has it.
find "$prefix" -type f \( -name '*.so*' -o -path '*/bin/*' \) | while IFS= read -r file; do
  paths=$(readelf -d "$file" | sed -nE 's/.*\(R(UN)?PATH\).*\[(.*)\]/\2/p')
  case :$paths in
  *:[!\$]*) fail "$file: the loader searches $paths; expected only paths that begin with \$ORIGIN" ;;
  esac
  env -i ldd "$file" | sed -nE 's/^\s*(\S+) => (.*) \(.*/\1 \2/p; s/^\s*(\S+) => (not found)$/\1 \2/p' |
    while read -r name place; do
      case $name in
      libtorch_cpu.so | libc10.so) ;; # the program loads them first
      linux-vdso.so* | ld-linux*.so* | libc.so.6 | libm.so.6 | libdl.so.2 | librt.so.1 | libpthread.so.0) ;;
      libutil.so.1 | libstdc++.so.6 | libgcc_s.so.1) ;;
      libarrow.so.* | libparquet.so.*) ;; # of the package pyarrow
      *)
        case $place in
        "$work/moved"/*) ;;
        *) case $file in
          # Only machines with a GPU have LibTorch's CUDA libraries.
          */libtenon_cuda.so) ;;
          *) fail "$file: $name is $place; expected it in the package" ;;
          esac ;;
        esac
        ;;
      esac
    done
done

run "$bin/tenon" --config "$prefix/share/tenon/configs/digits.toml" --quiet
accuracy=$(sed -n 's|.*"validation/accuracy": \([0-9.]*\).*|\1|p' "$work"/user/runs/digits*/*/history.jsonl | tail -n 1)
awk -v found="$accuracy" 'BEGIN { exit !(found >= 0.97) }' || fail "digits: accuracy $accuracy; expected 0.97 or more"

# The plugins of the package.
cp -r "$prefix/share/tenon/examples/tutorial" "$work/plugin"
TENON_CACHE="$work/none" cmake -S "$work/plugin" -B "$work/plugin/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$(run "$bin/tenon" --prefix)" >"$work/configure.log"
grep -q "Found LibTorch: $libtorch" "$work/configure.log" || {
  cat "$work/configure.log"
  fail 'the plugin is not built with the LibTorch next to the package'
}
cmake --build "$work/plugin/build" >"$work/build.log" || {
  cat "$work/build.log"
  fail 'the plugins cannot be built with the package'
}
run "$bin/tenon" --config "$work/plugin/spiral.toml" --plugin-dir "$work/plugin/build" --set train.epochs=5 --quiet

# In a prefix, the commands are found in the folders of Python, and pip removes every file. Debian's pip chooses another
# folder than Python's own.
with_pip install --no-deps --no-index --ignore-installed --prefix "$work/prefix" "$wheel"
place=$(dirname "$(find "$work/prefix" -type d -path '*-packages/tenon_host')")
command=$(find "$work/prefix" -type f -path '*/bin/tenon' -not -path '*-packages/*')
status=0
run "$command" --version >"$work/log" 2>&1 || status=$?
[ "$status" = 127 ] || fail "without torch: exit code $status; expected 127"
grep -q "^error: LibTorch: not found in .*, $place/torch; expected LibTorch .*pip install 'torch==" "$work/log" || {
  cat "$work/log"
  fail 'without torch: expected the folders that were searched, and the command that installs it'
}
PYTHONPATH=$place with_pip uninstall --yes tenon-host
left=$(find "$work/prefix" -type f)
[ -z "$left" ] || fail "pip left files: $left"
