#!/usr/bin/env bash
# Packs the test of CUDA devices with the stand-in for CUDA, moves the pack and runs it there:
# check_gpu_kit.sh BUILD_FOLDER LIBTORCH [all]
#
# Runs four checks, and python3 in PATH needs no torch: then comparisons with PyTorch are skipped. With `all` every check, on
# python3's torch. All must pass, except that speed and kernels are skipped: the stand-in has none.
set -euo pipefail
build=$1
libtorch=$2
checks=(--only device killed_run out_of_memory parity_gpt)
if [ "${3:-}" = all ]; then checks=(); fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$build/tests/written/gpu_kit
if [ ! -e "$build/lib/cuda_standin/libtenon_cuda_standin.so" ]; then
  echo "this build has no stand-in for CUDA, because LibTorch's CUDA headers are missing"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work/home" "$work/programs"

"$root/scripts/gpu" --pack "$work/packed" --standin --build "$build"
mv "$work/packed" "$work/moved"
kit=$work/moved

# An almost empty environment. TENON_LIBTORCH stands for the package torch, which python3 need not have.
variables=(PATH="$work/programs:$PATH" HOME="$work/home" TENON_LIBTORCH="$libtorch")
if [ "${3:-}" = all ]; then variables=("${variables[@]:0:2}" PYTHONPATH="${PYTHONPATH:-}" PYTHONDONTWRITEBYTECODE=1); fi
run() {
  (cd "$work/home" && env -i "${variables[@]}" "$kit/gpu" "$@")
}

# A device that is busy in a quarter of the time.
cat >"$work/programs/nvidia-smi" <<'EOF'
#!/bin/sh
case "$*" in
*--query-gpu=name,*) echo 'stand-in for CUDA, 580.0, 16384 MiB' ;;
*--query-gpu=memory.total*) echo 16384 ;;
*) while echo 25; do sleep 0.1; done ;;
esac
EOF
chmod +x "$work/programs/nvidia-smi"

fail() {
  printf '%s\n' "$1"
  exit 1
}

run --list >"$work/list"
run --small "${checks[@]}" --results "$work/results.json" >"$work/log" 2>&1 || {
  cat "$work/log"
  fail 'the checks failed (above)'
}

# The names in the list of the program are not read here, so that a check that is lost is noticed.
python3 - "$work/results.json" "${checks[@]:1}" <<'EOF'
import json
import sys

PASS = {"device", "model_steps", "tests", "label_out_of_range", "killed_run", "waits", "digits", "out_of_memory", "resume",
        "unet_inference", "checkpoint", "nccl", "experiment", "parity_gpt", "parity_resnet", "parity_efficientnet"}
NEED_KERNELS = {"speed_efficientnet_6x8", "speed_gpt_16", "speed_resnet_256", "speed_efficientnet_128", "idle_efficientnet_6x8",
                "custom_kernels"}
REASONS = {name: "skipped: no kernels" for name in NEED_KERNELS}

checks = json.load(open(sys.argv[1]))["checks"]
expected_checks = set(sys.argv[2:]) or PASS | NEED_KERNELS
if sys.argv[2:]:
    REASONS["parity_gpt"] = ("skipped: no module torch", "skipped: torch cannot be imported")
problems = [f"{name} did not run" for name in sorted(expected_checks - set(checks))]
for name, result in checks.items():
    is_skipped = result["status"] == "skipped" and result["message"].startswith(REASONS.get(name, "-"))
    if result["status"] != "passed" and not is_skipped:
        problems.append(f"{name}: {result['status']}, {result.get('message')}")
rows = {name: len(result.get("rows", [])) for name, result in checks.items()}
for name, expected in (("model_steps", 9), ("waits", 9), ("digits", 5), ("killed_run", 2), ("speed_gpt_16", 3)):
    if name in expected_checks and rows.get(name, 0) < expected:
        problems.append(f"{name}: {rows.get(name)} rows; expected {expected}")
for row in checks.get("speed_gpt_16", {}).get("rows", []):
    if row["device idle, %"] not in (None, 75.0):  # None: shorter than the first sample
        problems.append(f"speed_gpt_16: {row}")
if problems:
    sys.exit("\n".join(problems))
EOF

# Passed checks are not repeated.
run --results "$work/results.json" --small --only device killed_run >"$work/again"
if grep -q '^passed' "$work/again"; then fail "the rerun repeated a check that had passed: $work/again"; fi
run --table "$work/results.json" | grep -q '^| killed_run | passed |' || fail 'the table has no row for killed_run'

run --results "$work/nothing.json" --small --piece 3 --minutes 0.01 | grep -q '^not started for lack of time: experiment' ||
  fail 'checks that take longer than --minutes have run'

# Failing and hanging checks do not stop the next one, and what they had measured so far is kept.
cat >>"$kit/bench/gpu/checks.py" <<'EOF'


def hang(context: Context) -> dict[str, Any]:
    import subprocess
    context.save({"rows": [{"case": "measured"}]})
    subprocess.run(["sleep", "86399"])
    return {}


def crash(context: Context) -> dict[str, Any]:
    raise RuntimeError("the planned error")


CHECKS = [Check("hang", "hangs", 1, 0.01, 0.05, hang), Check("crash", "crashes", 1, 0.01, 1, crash), *CHECKS]
EOF
code=0
run --results "$work/failures.json" --small --only hang crash device compile_cache >"$work/failures" || code=$?
[ "$code" = 1 ] || fail "exit code $code after failed checks; expected 1"
for expected in '^failed .* hang .*killed after' '^failed .* crash .*the planned error' '^passed .* device ' '^skipped .* compile_cache '; do
  grep -q "$expected" "$work/failures" || {
    cat "$work/failures"
    fail "no line \"$expected\" (above)"
  }
done
grep -q '^| measured |' "$work/failures" || fail 'the rows of the check that was killed are lost'
if pgrep -f 'sleep 86399' >/dev/null; then fail 'a process of the check that was killed is still running'; fi

# Without TENON_LIBTORCH the libraries of the package torch are found, without importing it.
mkdir "$work/packages"
ln -s "$libtorch" "$work/packages/torch"
(cd "$work/home" && env -i PATH="$work/programs:$PATH" HOME="$work/home" PYTHONPATH="$work/packages" "$kit/gpu" --small --only device \
  --results "$work/package.json" >/dev/null) || fail 'the libraries of the package torch were not found'

# A pack for real devices says at once that there is none.
sed -i 's/"standin": true/"standin": false/' "$kit/kit.json"
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
  code=0
  run --results "$work/none.json" --smoke >"$work/none" 2>&1 || code=$?
  grep -q 'no CUDA device' "$work/none" || fail "expected \"no CUDA device\": $work/none"
  [ "$code" = 3 ] || fail "exit code $code without a device; expected 3"
fi
rm -rf "$kit"
