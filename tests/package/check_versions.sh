#!/usr/bin/env bash
# Resumes runs of one LibTorch in another one, both ways: check_versions.sh BUILD BUILD WORK
#
# The builds have different versions of LibTorch. A run of digits_mlp.toml starts with one host and is resumed by the other,
# which warns that it will not be bitwise identical. Its losses are those of an uninterrupted run, to 1e-3. Both hosts then
# evaluate the last checkpoint and get the same metrics, to 1e-5. The same holds for a model of torch.export; the second host
# also exports it with the trained weights, and the first one evaluates that archive.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$3
rm -rf "$work"
mkdir -p "$work"

fail() {
  printf '%s\n' "$1"
  exit 1
}

config=$root/configs/digits_mlp.toml

# train BUILD NAME ARGUMENT...
train() {
  "$1/bin/host" --config "$config" --set train.epochs=4 --set checkpoint.keep=4 --set run.name="$2" \
    --set run.output_dir="$work/runs" --quiet "${@:3}" 2>"$work/$2.errors" || {
    cat "$work/$2.errors"
    fail "$2: the run failed"
  }
}

# losses NAME: the validation losses of its epochs.
losses() { sed -nE 's|.*"validation/loss": ([0-9.e-]+).*|\1|p' "$work/runs/$1"/*/history.jsonl; }

# expect_near WHAT LIMIT: pairs of numbers on standard input differ by at most this part.
expect_near() {
  awk -v limit="$2" '{ d = $1 - $2; if (d < 0) d = -d; if (d > limit * ($1 < 0 ? -$1 : $1)) bad = 1; n++ }
    END { exit bad || n == 0 }' || fail "$1"
}

metrics() {
  "$1/bin/host" evaluate --config "$config" "${@:3}" --checkpoint "$(echo "$work/runs/$2"/*)/checkpoints/latest" \
    --json | grep -oE '[0-9]+\.[0-9]+(e-?[0-9]+)?'
}

# continue_in FIRST SECOND NAME: the second host continues after the second epoch of the first one.
continue_in() {
  local second
  train "$1" "$3.alone"
  second=$(printf '%s\n' "$work/runs/$3.alone"/*/checkpoints/step-* | sort | sed -n 2p)
  train "$2" "$3" --resume "$second"
  grep -q 'warning: the checkpoint was written with LibTorch' "$work/$3.errors" || fail "$3: no warning about LibTorch"
  paste -d ' ' <(losses "$3" | tail -n 2) <(losses "$3.alone" | tail -n 2) | expect_near "$3: other losses than those of one LibTorch" 1e-3
  paste -d ' ' <(metrics "$1" "$3") <(metrics "$2" "$3") | expect_near "$3: the hosts evaluate to other metrics" 1e-5
  printf '%s: %s to %s: %s\n' "$3" "$("$1/bin/host" --version | sed -n 's/^libtorch //p')" \
    "$("$2/bin/host" --version | sed -n 's/^libtorch //p')" "$(losses "$3" | paste -sd ' ')"
}
continue_in "$1" "$2" forwards
continue_in "$2" "$1" backwards

cat >"$work/exported.toml" <<TOML
[model]
use = "exported"
params = { path = "$root/tests/parity/reference/exported/residual.pt2", outputs = ["logits"] }
[data]
batch_size = 64
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[train]
epochs = 4
[optimizer]
use = "adamw"
lr = 1e-3
TOML
config=$work/exported.toml

# reopen_in FIRST SECOND NAME: the first host evaluates the archive that the second one exported.
reopen_in() {
  "$2/bin/host" export --config "$config" --checkpoint "$(echo "$work/runs/$3"/*)/checkpoints/latest" \
    --output "$work/$3.pt2" >/dev/null || fail "$3: the model cannot be exported"
  paste -d ' ' <(metrics "$2" "$3") <(metrics "$1" "$3" --set model.params.path="$work/$3.pt2") |
    expect_near "$3: the exported archive has other metrics" 1e-5
}
continue_in "$1" "$2" exported.forwards
reopen_in "$1" "$2" exported.forwards
continue_in "$2" "$1" exported.backwards
reopen_in "$2" "$1" exported.backwards
