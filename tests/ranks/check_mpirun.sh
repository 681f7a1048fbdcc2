#!/usr/bin/env bash
# Trains with two processes of Open MPI's mpirun, and compares the history with that of `host --processes 2`. Exits with 77
# if there is no Open MPI.
#
#   check_mpirun.sh HOST RUN_FILE FOLDER
set -euo pipefail
host=$1 run_file=$2 folder=$3
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "no Open MPI here"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder"
settings=(--config "$run_file" --set run.deterministic=true --set run.threads=1 --set train.epochs=1)
mpirun --allow-run-as-root --oversubscribe -n 2 "$host" "${settings[@]}" --set "run.output_dir=\"$folder/mpirun\""
"$host" "${settings[@]}" --processes 2 --set "run.output_dir=\"$folder/host\""

weights() { # FOLDER
  sha256sum "$1"/*/*/checkpoints/latest/model.safetensors | cut -d' ' -f1
}

[ "$(weights "$folder/mpirun")" = "$(weights "$folder/host")" ] || { echo "the weights differ"; exit 1; }
world=$(grep -o '"world_size": *[0-9]*' "$folder"/mpirun/*/*/checkpoints/latest/manifest.json)
[ "${world##*[: ]}" = 2 ] || { echo "the run had $world processes; expected 2"; exit 1; }
