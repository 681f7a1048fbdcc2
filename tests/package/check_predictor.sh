#!/usr/bin/env bash
# Builds the example programs that predict with only the package that install_package.sh installed, and runs them on models
# of images and of a table: check_predictor.sh CMAKE BUILD_FOLDER
set -euo pipefail
cmake=$1
tenon_build=$2
work=$tenon_build/tests/written/package_predictor
prefix=$tenon_build/tests/written/installed/prefix
rm -rf "$work"
mkdir -p "$work"
cp -r "$prefix/share/tenon/examples/predictor" "$work/source"
"$cmake" -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_C_FLAGS='-Wall -Wextra' -DCMAKE_CXX_FLAGS='-Wall -Wextra'
"$cmake" --build "$work/build"
if readelf -d "$work/build/classify" "$prefix/lib/libtenon_predictor.so" | grep -E 'NEEDED.*(torch|c10)'; then
  printf 'above: a library of LibTorch that a program or libtenon_predictor needs; expected none\n'
  exit 1
fi

# Images that are dark or bright, and a table in which y is 2 x + 1 for the first kind.
mkdir -p "$work/images/bright" "$work/images/dark"
awk -v folder="$work" -v OFS=, 'BEGIN {
  for (i = 0; i < 20; i++) {
    name = i % 2 ? "bright" : "dark"
    file = folder "/images/" name "/" i ".ppm"
    print "P3 8 8 255" >file
    for (k = 0; k < 64; k++) { value = (i % 2 ? 180 : 20) + (7 * i + k) % 40; print value " " value " " value >file }
    close(file)
  }
  print "x,kind,y" >(folder "/table.csv")
  for (i = 0; i < 40; i++) print i, i % 2 ? "first" : "second", (i % 2 ? 2 : -1) * i + 1 >(folder "/table.csv")
}'
write_run() { # NAME DATASET PARAMS MODEL LOSS
  cat >"$work/$1.toml" <<END
[run]
output_dir = "$work/runs"
threads = 1
[model]
$4
[data]
batch_size = 4
workers = 0
[data.train]
use = "$2"
params = { path = "$work/$3 }
[data.validation]
like = "train"
[[loss]]
use = "$5"
[train]
epochs = 20
[optimizer]
use = "adamw"
lr = 1e-2
END
  "$prefix/bin/host" --config "$work/$1.toml" >"$work/$1.log"
  "$prefix/bin/host" export --config "$work/$1.toml" --output "$work/$1.tenon" >>"$work/$1.log"
}
write_run images image_folder 'images", transforms = ["resize(8)", "normalize()"]' \
  'use = "small_cnn"
params = { width = 4 }' cross_entropy
write_run table table 'table.csv", target = "y", task = "regression", standardize_target = true' \
  'use = "mlp"
params = { hidden = [16], classes = 1 }
inputs = { image = "data.features" }' mse

# expect TEXT COMMAND...: the command succeeds and prints the text, and nothing as an error.
expect() {
  local text=$1 found
  shift
  found=$("$@" 2>"$work/errors")
  if [[ $found != $text ]] || [ -s "$work/errors" ]; then
    cat "$work/errors"
    printf '%s: printed "%s"; expected "%s"\n' "$*" "$found" "$text"
    exit 1
  fi
}
expect $'*0.ppm\tdark\t*\n*1.ppm\tbright\t*' "$work/build/classify" "$work/images.tenon" "$work/images/dark/0.ppm" "$work/images/bright/1.ppm"
expect $'x\nkind' "$work/build/predict_row" "$work/table.tenon"
expect 'logits *' "$work/build/predict_row" "$work/table.tenon" 7 first
expect '*[0-9]*' python3 "$work/source/predict.py" "$prefix/lib/libtenon_predictor.so" "$work/table.tenon" 0.5 1 0

# The errors that a user makes first.
refuse() {
  local text=$1
  shift
  if "$@" >"$work/out" 2>&1 || ! grep -qF -- "$text" "$work/out"; then
    cat "$work/out"
    printf '%s: expected a failure with "%s"\n' "$*" "$text"
    exit 1
  fi
}
refuse 'missing.tenon: cannot be opened: No such file or directory' "$work/build/classify" missing.tenon "$work/images/dark/0.ppm"
refuse 'expected TENON_INPUT_ELEMENTS or TENON_INPUT_ROW' "$work/build/classify" "$work/table.tenon" "$work/images/dark/0.ppm"
refuse 'the row has 1 cells; expected 2' "$work/build/predict_row" "$work/table.tenon" 7
refuse 'column "x"' "$work/build/predict_row" "$work/table.tenon" seven first
