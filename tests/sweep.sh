#!/usr/bin/env bash
# Runs the numerical tests with the vector instructions and thread counts of other machines.
#
#   tests/sweep.sh BUILD_DIR [arguments of ctest, such as -R bundled]
#
# The tests are those with the label `numerical`. Each combination below runs all of them and prints one line; the last
# line has the totals. A combination limits what the libraries choose by the processor:
#   ATEN_CPU_CAPABILITY                    kernels of LibTorch: default (SSE2), avx2 or avx512
#   ONEDNN_MAX_CPU_ISA                     convolutions and products of oneDNN
#   MKL_CBWR                               products of MKL
#   OPENCV_CPU_DISABLE, JSIMD_FORCESSE2    resizing and decoding of images
#   GLIBC_TUNABLES                         exp, sin and other math functions
#   OMP_NUM_THREADS, MKL_NUM_THREADS       threads of an operator
# A test that sets one of these variables overrides the value of the combination. A combination is skipped if the
# processor lacks the instructions. The output of each combination stays in BUILD_DIR/tests/sweep.
# Run no other tests of BUILD_DIR at the same time: tests of the same name write to the same folder.
#
# Exit codes: 0, 1 when a test failed, 2 for a wrong command line.
set -euo pipefail

if [ $# -lt 1 ] || [ ! -e "$1/CTestTestfile.cmake" ]; then
  printf 'usage: tests/sweep.sh BUILD_DIR [arguments of ctest]; BUILD_DIR is a configured build tree\n' >&2
  exit 2
fi
build=$(cd "$1" && pwd)
shift

# Each combination has a name, the instructions that the processor needs (- for none), and variables.
oldest='ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE JSIMD_FORCESSE2=1'
oldest+=' OPENCV_CPU_DISABLE=SSE4.2,AVX,FP16,AVX2,FMA3,AVX512-SKX GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F'
combinations=(
  'threads-1 - OMP_NUM_THREADS=1 MKL_NUM_THREADS=1'
  'threads-2 - OMP_NUM_THREADS=2 MKL_NUM_THREADS=2'
  'threads-4 - OMP_NUM_THREADS=4 MKL_NUM_THREADS=4'
  'aten-default - ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=2 MKL_NUM_THREADS=2'
  'aten-avx2 avx2 ATEN_CPU_CAPABILITY=avx2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2'
  'aten-avx512 avx512f ATEN_CPU_CAPABILITY=avx512 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2'
  'onednn-sse41 - ONEDNN_MAX_CPU_ISA=SSE41 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2'
  'onednn-avx2 avx2 ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2'
  "oldest-threads-1 - $oldest OMP_NUM_THREADS=1 MKL_NUM_THREADS=1"
  "oldest-threads-4 - $oldest OMP_NUM_THREADS=4 MKL_NUM_THREADS=4"
  'avx2-threads-1 avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1'
  'avx2-threads-4 avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2 OMP_NUM_THREADS=4 MKL_NUM_THREADS=4'
)

# Unset the shell's values: they would apply to the combinations that do not set these variables.
unset ATEN_CPU_CAPABILITY ONEDNN_MAX_CPU_ISA MKL_CBWR OPENCV_CPU_DISABLE JSIMD_FORCESSE2 GLIBC_TUNABLES
# Concurrent tests share the cores, so waiting threads must not spin.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

logs=$build/tests/sweep
mkdir -p "$logs"

ran=0
failed=0
skipped=0
tests=0
for combination in "${combinations[@]}"; do
  read -r name needed variables <<<"$combination"
  if [ "$needed" != - ] && ! grep -qw "$needed" /proc/cpuinfo; then
    printf '%-18s skipped: the processor lacks %s\n' "$name" "$needed"
    skipped=$((skipped + 1))
    continue
  fi
  log=$logs/$name.log
  start=$SECONDS
  status=0
  # The values contain no spaces, so word splitting is safe.
  # shellcheck disable=SC2086
  env $variables ctest --test-dir "$build" -L '^numerical$' --no-tests=error --output-on-failure \
    --parallel "$(nproc)" "$@" >"$log" 2>&1 || status=$?
  count=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$log")
  ran=$((ran + 1))
  tests=$((tests + ${count:-0}))
  if [ "$status" = 0 ]; then
    printf '%-18s %s tests passed, %s s\n' "$name" "${count:-0}" $((SECONDS - start))
    continue
  fi
  failed=$((failed + 1))
  printf '%-18s FAILED, %s s: %s\n' "$name" $((SECONDS - start)) "$log"
  # CTest ends with lines such as "  12 - bundled.gpt (Failed)". A sweep without any test has none.
  names=$(sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - \([^ ]*.*\) (\(.*\)).*$/  \1: \2/p' "$log")
  printf '%s\n' "${names:-  $(tail -n 1 "$log")}"
done

printf '%s combinations: %s passed, %s failed, %s skipped; %s tests in all\n' \
  "${#combinations[@]}" $((ran - failed)) "$failed" "$skipped" "$tests"
[ "$failed" = 0 ]
