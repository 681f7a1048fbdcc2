#!/usr/bin/env bash
# Tests scripts/dependencies --cuda and --for-tests without a network: check_dependencies.sh SCRIPTS WORK. A fake Python adds
# packages and headers. Needs all packages of scripts/dependencies --for-tests; the fake apt-get and sudo fail.
set -euo pipefail
scripts=$1
work=$2
rm -rf "$work"
mkdir -p "$work/bin" "$work/cache" "$work/arrow" "$work/sentencepiece/src"
: >"$work/arrow/libparquet.so.1"
: >"$work/sentencepiece/src/sentencepiece_processor.h"

# pip adds the pinned packages to the folder after --target, and download_headers.py adds a header to its last argument. Both
# fail after the first one if $work/fails exists.
cat >"$work/bin/python3" <<'END'
#!/usr/bin/env bash
set -euo pipefail
work=$(cd "$(dirname "$0")/.." && pwd)
if [ "$*" = '-m pip --version' ]; then exit 0; fi
if [ "${1##*/}" = download_headers.py ]; then
  printf '%s\n' "${3##*/}" >>"$work/calls"
  mkdir -p "$4/nvidia/nvidia-cublas/include"
  printf 'from download_headers.py\n' >"$4/nvidia/nvidia-cublas/include/nvidia-cublas.h"
  if [ -e "$work/fails" ]; then exit 1; fi
  exit
fi
while [ $# != 0 ]; do
  case $1 in
  --requirement) pins=$2 ;;
  --target) target=$2 ;;
  esac
  shift
done
printf '%s\n' "${pins##*/}" >>"$work/calls"
sed -nE 's/^([a-z0-9-]+)==([0-9.]+).*/\1 \2/p' "$pins" | while read -r name version; do
  mkdir -p "$target/nvidia/$name"/{lib,include} "$target/${name//-/_}-$version.dist-info"
  : >"$target/nvidia/$name/lib/lib$name.so"
  printf 'from pip\n' >"$target/nvidia/$name/include/$name.h"
  if [ -e "$work/fails" ]; then exit 1; fi
done
END
printf '#!/bin/sh\nexit 1\n' | tee "$work/bin/apt-get" >"$work/bin/sudo"
chmod +x "$work/bin"/*

version=$(cd "$scripts/libtorch" && printf '%s\n' * | sort -V | tail -n 1)
libtorch=$work/cache/libtorch-$version
mkdir -p "$libtorch/torch/lib" "$libtorch/nvidia/cu13/lib"
: >"$libtorch/torch/lib/libtorch_cpu.so"
: >"$libtorch/nvidia/cu13/lib/libcudart.so.13"

failed=0
export PATH=$work/bin:$PATH TENON_CACHE=$work/cache TENON_ARROW=$work/arrow TENON_SENTENCEPIECE=$work/sentencepiece
unset TENON_LIBTORCH LD_LIBRARY_PATH

# call NAME CODE DOWNLOADS ARGUMENT...: runs scripts/dependencies. Compares its exit code and the lists that pip got.
call() {
  local name=$1 expected="exit code $2, downloads: $3" code=0 found
  shift 3
  : >"$work/calls"
  "$scripts/dependencies" "$@" >"$work/log" 2>&1 || code=$?
  found="exit code $code, downloads: $(paste -sd ' ' "$work/calls")"
  if [ "$found" != "$expected" ]; then fail "$name: $found; expected $expected" "$work/log"; fi
}

# fail MESSAGE [FILE]
fail() {
  printf '%s\n' "$1"
  if [ $# = 2 ]; then cat "$2"; fi
  failed=1
}

# expect_text NAME TEXT
expect_text() { grep -qF -- "$2" "$work/log" || fail "$1: no \"$2\" in the message" "$work/log"; }

files() { (cd "$libtorch" && find . | sort); }

call 'without --cuda' 0 ''
before=$(files)
: >"$work/fails"
call 'an interrupted download of headers' 4 'cuda_headers.txt' --for-tests
expect_text 'an interrupted download of headers' 'the CUDA headers could not be downloaded'
if [ "$(files)" != "$before" ]; then fail 'an interrupted download of headers changed the folder of LibTorch'; fi
rm "$work/fails"
call 'a folder without headers is extended' 0 'cuda_headers.txt' --for-tests --unless-done
if [ -n "$(find "$libtorch" -name '.cuda.*')" ]; then fail 'a temporary folder remains'; fi
header=$libtorch/nvidia/nvidia-cublas/include/nvidia-cublas.h
if [ "$(cat "$header")" != 'from download_headers.py' ]; then fail 'there are no headers'; fi
call 'headers again' 0 '' --for-tests
call 'headers again --unless-done' 0 '' --for-tests --unless-done
printf 'older\n' >"$libtorch/cuda_headers.txt"
call 'headers of other pins, without --for-tests' 0 '' --unless-done
call 'headers of other pins' 0 'cuda_headers.txt' --for-tests --unless-done

before=$(files)
: >"$work/fails"
call 'an interrupted download' 4 'cuda.txt' --cuda
expect_text 'an interrupted download' 'the CUDA libraries could not be downloaded'
if [ "$(files)" != "$before" ]; then fail 'an interrupted download changed the folder of LibTorch'; fi
rm "$work/fails"

inode=$(stat -c %i "$libtorch/torch/lib/libtorch_cpu.so")
call 'a folder without CUDA libraries is extended' 0 'cuda.txt' --cuda --unless-done
if [ "$(stat -c %i "$libtorch/torch/lib/libtorch_cpu.so")" != "$inode" ]; then fail 'LibTorch was replaced'; fi
for file in nvidia/nvidia-cublas/lib/libnvidia-cublas.so nvidia/cu13/lib/libcudart.so.13; do
  if [ ! -e "$libtorch/$file" ]; then fail "there is no $file"; fi
done
if [ -n "$(find "$libtorch" -name '.cuda.*')" ]; then fail 'a temporary folder remains'; fi
if [ "$(cat "$header")" != 'from pip' ]; then fail 'the packages do not replace the headers'; fi
call 'again' 0 '' --cuda
call 'again --unless-done' 0 '' --unless-done --cuda
rm -r "$libtorch"/nvidia_nccl_cu13-*.dist-info
call 'a package without its record' 0 'cuda.txt' --unless-done --cuda
rm "$libtorch/cuda_headers.txt"
call 'the packages have the headers' 0 '' --for-tests --cuda

# A LibTorch without CUDA, one that lacks a library, and a complete one.
other=$work/other
mkdir -p "$other/lib"
: >"$other/lib/libtorch_cpu.so"
export TENON_LIBTORCH=$other
call 'TENON_LIBTORCH without CUDA, without --cuda' 0 ''
call 'TENON_LIBTORCH gets no headers' 0 '' --for-tests
if [ -e "$other/nvidia" ]; then fail 'the folder of TENON_LIBTORCH was changed'; fi
call 'TENON_LIBTORCH without CUDA' 3 '' --unless-done --cuda
expect_text 'TENON_LIBTORCH without CUDA' "TENON_LIBTORCH=$other: missing CUDA libraries: libtorch_cuda.so;"
: >"$work/empty.c"
cc -shared "$work/empty.c" -o "$other/lib/libneeded.so" -Wl,-soname,libneeded.so
cc -shared "$work/empty.c" -o "$other/lib/libtorch_cuda.so" -Wl,--no-as-needed,-rpath,"\$ORIGIN" \
  "$other/lib/libneeded.so"
call 'a complete TENON_LIBTORCH' 0 '' --unless-done --cuda
rm "$other/lib/libneeded.so"
call 'TENON_LIBTORCH that lacks a library' 3 '' --unless-done --cuda
expect_text 'TENON_LIBTORCH that lacks a library' 'missing CUDA libraries: libneeded.so;'
unset TENON_LIBTORCH

call 'a wrong argument' 2 '' --gpu
expect_text 'a wrong argument' 'argument --gpu; expected --for-tests, --for-pictures, --cuda, --libtorch VERSION or --unless-done'
exit "$failed"
