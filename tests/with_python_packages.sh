#!/usr/bin/env bash
# Runs a command with the Python packages that some soak tests need: tests/with_python_packages.sh COMMAND...
#
# They are PyTorch, timm, ONNX Runtime, MLflow and what these need: the wheels of scripts/python_packages.txt, and a
# LibTorch of scripts/libtorch/, which is the package torch. It is imported only with its CUDA libraries. The first call downloads them
# into ${TENON_CACHE:-${XDG_CACHE_HOME:-~/.cache}/tenon}. The name of the folder has the hash of the pins. Sets PATH and
# PYTHONPATH, so that `python3` is Python 3.11 and finds them.
#
# Exit codes: that of the command, 3 Python 3.11 or pip is missing, 4 the packages could not be downloaded.
set -euo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scripts=$tests/../scripts
cache=${TENON_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tenon}
pins=$scripts/python_packages.txt
version=2.15.0  # the torch that the other packages fit
libtorch=$cache/libtorch-$version
packages=$cache/python-$(cat "$pins" "$scripts/libtorch/$version"/{libtorch,cuda}.txt | sha256sum | cut -c 1-16)

say() { printf 'tenon: %s\n' "$*" >&2; }

python=''
for candidate in python3 python3.11 /usr/bin/python3; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null &&
    "$candidate" -m pip --version >/dev/null 2>&1; then
    python=$("$candidate" -c 'import sys; print(sys.executable)')
    break
  fi
done
if [ -z "$python" ]; then
  say 'Python 3.11 with pip is missing; the wheels are for this version'
  exit 3
fi

# Unpacks the wheels into a temporary folder and then renames it, so that the final folder is always complete. LibTorch is added
# as hard links, which replace the CUDA headers or libraries that it also has.
fetch_packages() {
  local temporary
  say "downloading Python packages (3.6 GB on the disk) into $packages"
  rm -rf "$cache"/.python.* "$cache"/python-*
  temporary=$(mktemp -d "$cache/.python.XXXXXX")
  if ! PIP_ROOT_USER_ACTION=ignore "$python" -m pip --quiet --disable-pip-version-check --no-cache-dir install --no-deps \
    --no-compile --require-hashes --only-binary :all: --requirement "$pins" --requirement "$scripts/libtorch/$version/cuda.txt" \
    --target "$temporary" </dev/null >&2 || ! cp --recursive --link --force "$libtorch"/. "$temporary"; then
    rm -rf "$temporary"
    say "the Python packages could not be downloaded (the message is above)"
    exit 4
  fi
  mv "$temporary" "$packages"
}

exec 9>"$cache/python.lock"
flock 9
if [ ! -d "$packages" ]; then
  "$scripts/dependencies" --libtorch "$version" --unless-done
  fetch_packages
fi
exec 9>&-
mkdir -p "$packages/.bin"
ln -sf "$python" "$packages/.bin/python3"
export PATH=$packages/.bin:$packages/bin:$PATH PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE=1
exec "$@"
