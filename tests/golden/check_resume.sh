#!/usr/bin/env bash
# Resumes a run that the first host interrupted: check_resume.sh VERSION_FOLDER HOST COMPARE_GOLDEN WORK_FOLDER
#
# VERSION_FOLDER/interrupted_run is a run of VERSION_FOLDER/run.toml that was killed after step 12. Its newest checkpoint
# is of step 10, the end of an epoch. The host of that version resumed a copy of it; resumed.json has the metrics and
# weights of that run. This script resumes another copy with today's host and compares the results to 12 digits. It also
# reads the run with the other commands that read stored files.
#
# Exit codes: 0 the results agree, 1 they differ, 77 the machine is not x86-64.
set -euo pipefail
if [ "$(uname -m)" != x86_64 ]; then
  printf 'the golden plugins are built for x86_64; this machine is %s\n' "$(uname -m)"
  exit 77
fi
version=$(cd "$1" && pwd)
host=$2
compare=$3
rm -rf "$4"
mkdir -p "$4/runs/run"
work=$(cd "$4" && pwd)
run=$work/runs/run/2026-11-23T18-20-04
cp -r "$version/interrupted_run" "$run"
ln -s step-00000006 "$run/checkpoints/best"
ln -s step-00000010 "$run/checkpoints/latest"

# run_host ARGUMENTS...: the host on one thread, with the vector instructions that each x86-64 processor has.
run_host() {
  env -u TENON_PLUGIN_PATH -u LD_PRELOAD HOME="$work/home" LC_ALL=C ATEN_CPU_CAPABILITY=default \
    MKL_CBWR=COMPATIBLE MKL_NUM_THREADS=1 OMP_NUM_THREADS=1 "$host" "$@"
}

# expect TEXT FILE
expect() {
  if ! grep -qF -- "$1" "$2"; then
    cat "$2"
    printf 'above: expected "%s"\n' "$1"
    exit 1
  fi
}

# The commands that read a run understand the names of the first version.
run_host runs "$work/runs" >"$work/runs.txt"
expect 'validation/clean/loss' "$work/runs.txt"
run_host checkpoint verify "$run/checkpoints/latest" >"$work/verify.txt"
expect '  intact' "$work/verify.txt"
run_host checkpoint show "$run/checkpoints/latest" >"$work/show.txt"
expect 'train/mixed.class' "$work/show.txt"
# A host writes these numbers when a run ends; this run was killed.
sed -i 's/"first_loss": null/"first_loss": 1.836/; s/"uninformed_loss": null/"uninformed_loss": 0.9326/' "$run/run.json"
run_host report "$run" >"$work/report.txt"
expect 'the initial loss was 1.836' "$run/report.html"

if ! run_host --config "$version/run.toml" --plugin-dir "$version" --set run.output_dir="$work/runs" --resume auto \
  >"$work/log" 2>&1; then
  cat "$work/log"
  printf 'above: why the run failed to resume\n'
  exit 1
fi
expect 'resumed from' "$work/log"
"$compare" "$run" "$version/resumed.json"

# What is written has today's names.
manifest=$run/checkpoints/latest/manifest.json
expect '"metrics": {' "$manifest"
expect '"metric.train/loss"' "$manifest"
expect '"requested.save"' "$manifest"
if grep -n '"figure\|asked' "$manifest"; then
  printf 'above: names of the first version in a new manifest\n'
  exit 1
fi
