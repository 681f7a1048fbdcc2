#!/usr/bin/env bash
# Checks that plugins still give their reference results, to 12 digits: check_golden.sh VERSION_FOLDER PLUGINS HOST
# COMPARE_GOLDEN WORK_FOLDER [--update]
#
# Trains VERSION_FOLDER/run.toml with the plugins in PLUGINS. Compares history and weights with values.json, and the
# events of the callbacks with events.txt. If PLUGINS is VERSION_FOLDER, the binaries must match SHA256SUMS. --update
# writes values.json and events.txt instead, once for the folder of a new version (README.md).
#
# Exit codes: 0 all results agree, 1 a result differs, 77 the machine is not x86-64.
set -euo pipefail
if [ "$(uname -m)" != x86_64 ]; then
  printf 'the golden plugins are built for x86_64; this machine is %s\n' "$(uname -m)"
  exit 77
fi
version=$(cd "$1" && pwd)
plugins=$(cd "$2" && pwd)
host=$3
compare=$4
update=${6:-}
mkdir -p "$5"
work=$(cd "$5" && pwd)

if [ "$plugins" = "$version" ]; then (cd "$version" && sha256sum --check --strict --quiet SHA256SUMS); fi

# run FOLDER [ARGUMENTS]: runs the host, with its output in FOLDER/log. LibTorch and MKL choose their code by the CPU,
# which changes sums. They are therefore limited to one thread and to the instructions of every x86-64. No metric is
# monitored, because the checkpoints of the best metric would add events.
run() {
  local folder=$work/$1
  shift
  rm -rf "$folder"
  mkdir -p "$folder"
  env -u TENON_PLUGIN_PATH -u LD_PRELOAD HOME="$work/home" LC_ALL=C ATEN_CPU_CAPABILITY=default \
    MKL_CBWR=COMPATIBLE MKL_NUM_THREADS=1 OMP_NUM_THREADS=1 \
    "$host" --config "$version/run.toml" --plugin-dir "$plugins" --set run.output_dir="$folder/runs" \
    --set 'checkpoint.monitor=""' "$@" \
    >"$folder/log" 2>&1
}

# compare_events REFERENCE CURRENT: words must be equal, numbers to 12 digits.
compare_events() {
  awk -F '[ =]' '
    function is_number(word) { return word ~ /^-?[0-9]+\.[0-9e+-]+$/ }
    function are_equal(a, b) {
      size = a < 0 ? -a : a
      gap = a - b
      return a == b || (is_number(a) && is_number(b) && (gap < 0 ? -gap : gap) <= 1e-12 * size)
    }
    NR == FNR { reference[FNR] = $0; lines = FNR; next }
    {
      count = split(reference[FNR], fields, FS)
      wrong = count != NF
      for (i = 1; i <= NF && !wrong; ++i)
        wrong = !are_equal(fields[i], $i)
      if (wrong) { printf "line %d:\n-%s\n+%s\n", FNR, reference[FNR], $0; failed = 1; exit 1 }
    }
    END { if (!failed && FNR != lines) { printf "%d events; expected %d\n", FNR, lines; exit 1 } }' "$1" "$2"
}

# refuses EXIT_CODE TEXT ARGUMENTS...: checks that the run fails with that exit code and the plugin's error message.
refuses() {
  local expected=$1 text=$2 status=0
  shift 2
  run refused "$@" || status=$?
  if [ "$status" != "$expected" ] || ! grep -qF "$text" "$work/refused/log"; then
    cat "$work/refused/log"
    printf 'with %s: exit code %s; expected %s, and a message with "%s"\n' "$*" "$status" "$expected" "$text"
    exit 1
  fi
}

if ! run trained; then
  cat "$work/trained/log"
  printf 'above: the error of the run\n'
  exit 1
fi
run_folder=$(echo "$work"/trained/runs/*/*)
if [ "$update" = --update ]; then
  "$compare" "$run_folder" "$version/values.json" --update
  cp "$run_folder/events.txt" "$version/events.txt"
  exit
fi
compare_events "$version/events.txt" "$run_folder/events.txt"
grep -q 'second was told of [0-9]* events' "$run_folder/log.txt"
"$compare" "$run_folder" "$version/values.json"

# Repeats the run with another number of workers.
run one_worker --set data.workers=0
"$compare" "$(echo "$work"/one_worker/runs/*/*)" "$version/values.json"

# Loads the saved weights.
run loaded --set model.weights="$run_folder/checkpoints/latest/model.safetensors" --set train.epochs=1
grep -q '^first checkpoint_loaded ' "$work"/loaded/runs/*/*/events.txt

refuses 3 'width is odd; expected an even number' --set model.params.width=7
refuses 3 'expected 1 to 16 numbers' --set loss.0.params.class_weights=[]
refuses 4 'the sample is a bad one' --set data.train.params.bad_sample=3
grep -q '^first run_exception .* error$' "$work"/refused/runs/*/*/events.txt
