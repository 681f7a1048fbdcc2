#!/usr/bin/env bash
# Packs the test of CUDA devices with the simulated device, moves the pack and runs it there:
# check_gpu_kit.sh BUILD_FOLDER LIBTORCH [all]
#
# Runs four checks, with `all` every one. python3 in PATH may have no torch. Comparisons with PyTorch are then skipped; every
# other check must pass.
set -euo pipefail
build=$1
libtorch=$2
checks=(--only device killed_run digits parity_gpt)
if [ "${3:-}" = all ]; then checks=(); fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$build/tests/written/gpu_kit
rm -rf "$work"
mkdir -p "$work/home"

"$root/scripts/gpu" --pack "$work/packed" --simulated --build "$build"
mv "$work/packed" "$work/moved"
kit=$work/moved

# An empty environment. TENON_LIBTORCH stands for the package torch, which python3 need not have.
run() {
  (cd "$work/home" && env -i PATH="$PATH" HOME="$work/home" TENON_LIBTORCH="$libtorch" "$kit/gpu" "$@")
}

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

ALWAYS = {"device", "model_steps", "tests", "label_out_of_range", "killed_run", "waits", "digits", "out_of_memory",
          "resume", "unet_inference", "checkpoint"}
WITH_TORCH = {"parity_gpt", "parity_resnet", "parity_efficientnet", "speed_efficientnet_6x8", "speed_gpt_16",
              "speed_resnet_256", "speed_efficientnet_128", "idle_efficientnet_6x8"}
REASONS = {**{name: ("skipped: no module torch", "skipped: torch cannot be imported") for name in WITH_TORCH},
           "experiment": ("skipped: no module PIL",), "nccl": ("skipped: NCCL needs a CUDA device",),
           "custom_kernels": ("skipped: a plugin with CUDA kernels needs a CUDA device",)}

checks = json.load(open(sys.argv[1]))["checks"]
expected_checks = set(sys.argv[2:]) or ALWAYS | set(REASONS)
problems = [f"{name} did not run" for name in sorted(expected_checks - set(checks))]
for name, result in checks.items():
    is_skipped = result["status"] == "skipped" and result["message"].startswith(REASONS.get(name, ("-",)))
    if result["status"] != "passed" and not is_skipped:
        problems.append(f"{name}: {result['status']}, {result.get('message')}")
rows = {name: len(result.get("rows", [])) for name, result in checks.items()}
for name, expected in (("model_steps", 10), ("waits", 10), ("digits", 5), ("killed_run", 2), ("speed_gpt_16", 1)):
    if name in expected_checks and rows.get(name, 0) < expected:
        problems.append(f"{name}: {rows.get(name)} rows; expected {expected}")
if problems:
    sys.exit("\n".join(problems))
EOF

# Passed checks are not repeated.
run --results "$work/results.json" --small --only device digits >"$work/again"
if grep -q '^passed' "$work/again"; then fail "the rerun repeated a check that had passed: $work/again"; fi
run --table "$work/results.json" | grep -q '^| digits | passed |' || fail 'the table has no row for digits'

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
run --results "$work/failures.json" --small --only hang crash device >"$work/failures" || code=$?
[ "$code" = 1 ] || fail "exit code $code after failed checks; expected 1"
for expected in '^failed .* hang .*killed after' '^failed .* crash .*the planned error' '^passed .* device '; do
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
(cd "$work/home" && env -i PATH="$PATH" HOME="$work/home" PYTHONPATH="$work/packages" "$kit/gpu" --small --only device \
  --results "$work/package.json" >/dev/null) || fail 'the libraries of the package torch were not found'
rm -rf "$kit"
