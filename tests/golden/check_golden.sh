#!/usr/bin/env bash
# Plugins give the figures that they once gave, to 12 digits: check_golden.sh VERSION_FOLDER PLUGINS HOST COMPARE_GOLDEN
# WORK_FOLDER [--update]
#
# Trains by VERSION_FOLDER/run.toml with the plugins in PLUGINS and compares history and weights with figures.json, and
# what the callbacks were told with events.txt. Where PLUGINS is VERSION_FOLDER itself the binaries must be those of
# SHA256SUMS. --update writes figures.json and events.txt instead: for a new version's folder, once (README.md).
#
# Exit codes: 0 all is the same, 1 something differs, 77 this is no x86-64.
set -euo pipefail
if [ "$(uname -m)" != x86_64 ]; then
  printf 'the golden plugins are of x86_64; this machine is %s\n' "$(uname -m)"
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

# run FOLDER [ARGUMENTS]: the host, with what it says in FOLDER/log. LibTorch and MKL choose their code by the CPU, and
# sums differ with it; so they are held to what every x86-64 has, on one thread. Nothing is monitored, for the checkpoints
# that are saved for that would be events of their own.
run() {
  local folder=$work/$1
  shift
  rm -rf "$folder"
  mkdir -p "$folder"
  env -u TENON_PLUGIN_PATH -u LD_PRELOAD HOME="$work/nobody" LC_ALL=C ATEN_CPU_CAPABILITY=default \
    MKL_CBWR=COMPATIBLE MKL_NUM_THREADS=1 OMP_NUM_THREADS=1 \
    "$host" --config "$version/run.toml" --plugin-dir "$plugins" --set run.output_dir="$folder/runs" \
    --set 'checkpoint.monitor=""' "$@" \
    >"$folder/log" 2>&1
}

# refuses EXIT_CODE TEXT ARGUMENTS...: the run fails with that exit code and a message with the plugin's own words.
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
  printf 'above: why the run failed\n'
  exit 1
fi
run_folder=$(echo "$work"/trained/runs/*/*)
if [ "$update" = --update ]; then
  "$compare" "$run_folder" "$version/figures.json" --update
  cp "$run_folder/events.txt" "$version/events.txt"
  exit
fi
diff -u --label 'what the callbacks were told once' "$version/events.txt" --label 'and are told now' \
  "$run_folder/events.txt"
grep -q 'second was told of [0-9]* events' "$run_folder/log.txt"
"$compare" "$run_folder" "$version/figures.json"

# With another number of workers too.
run one_worker --set data.workers=0
"$compare" "$(echo "$work"/one_worker/runs/*/*)" "$version/figures.json"

# Its weights come back.
run loaded --set model.weights="$run_folder/checkpoints/latest/model.safetensors" --set train.epochs=1
grep -q '^first checkpoint_loaded ' "$work"/loaded/runs/*/*/events.txt

refuses 3 'width is odd; expected an even number' --set model.params.width=7
refuses 3 'expected 1 to 16 numbers' --set loss.0.params.class_weights=[]
refuses 4 'the sample is a bad one' --set data.train.params.bad_sample=3
grep -q '^first run_exception .* error$' "$work"/refused/runs/*/*/events.txt
