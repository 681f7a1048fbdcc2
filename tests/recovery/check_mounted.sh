#!/usr/bin/env bash
# Trains, resumes and evaluates on exFAT and on a FUSE file system that refuses symbolic links and removals:
# check_mounted.sh BUILD WORK
#
# Needs root, /dev/fuse, a loop device, and Debian's exfat-fuse, exfatprogs and python3-fusepy. Exits with 77 if it cannot run.
set -euo pipefail
build=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2"
work=$(cd "$2" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ "$(id -u)" != 0 ] || [ ! -e /dev/fuse ] || ! /usr/bin/python3 -c 'import fusepy' 2>/dev/null; then
  printf 'needs root, /dev/fuse and python3-fusepy\n'
  exit 77
fi

mounted=() loop=
clean_up() {
  for folder in "${mounted[@]}"; do umount "$folder" 2>/dev/null || true; done
  [ -z "$loop" ] || losetup --detach "$loop"
}
trap clean_up EXIT

fail() {
  printf '%s\n' "$1"
  exit 1
}

# host ARGUMENTS...: runs host, and shows its output if it fails.
host() { (cd "$folder" && "$build/bin/host" "$@") >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; fail "host $* failed"; }; }

# try_runs FOLDER: a run of two epochs, its resumption, and commands that read its links.
try_runs() {
  local folder=$1
  cat >"$1/digits.toml" <<'TOML'
[model]
use = "mlp"
[data]
batch_size = 256
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[train]
epochs = 2
[optimizer]
use = "adamw"
lr = 1e-3
[checkpoint]
keep = 1
TOML
  host "$1/digits.toml"
  [ "$(grep -c 'has no symbolic links' "$work/err")" = 1 ] || fail 'expected one warning'
  local run
  run=$(echo "$1"/runs/digits/*)
  [ -f "$run/checkpoints/latest" ] && [ ! -L "$run/checkpoints/latest" ] || fail 'latest is not a file'
  host evaluate --config "$1/digits.toml" --checkpoint best
  host evaluate --config "$1/digits.toml" --checkpoint "$run/checkpoints/best"
  host checkpoint verify "$run"
  host "$1/digits.toml" --resume latest --set train.epochs=4
  grep -q 'epoch 4/4' "$work/out" || fail 'did not resume'
  host prune runs --keep-checkpoints 1 --yes
}

truncate -s 64M "$work/exfat.image"
mkfs.exfat "$work/exfat.image" >/dev/null
mkdir "$work/exfat" "$work/content" "$work/fuse"
if loop=$(losetup --find --show "$work/exfat.image" 2>/dev/null) && mount.exfat-fuse "$loop" "$work/exfat" >/dev/null 2>&1; then
  mounted+=("$work/exfat")
  try_runs "$work/exfat"
  printf 'exFAT: passed\n'
else
  printf 'exFAT: cannot be mounted here\n'
  exit 77
fi

/usr/bin/python3 "$here/refusing_file_system.py" "$work/content" "$work/fuse" training.safetensors &
mounted+=("$work/fuse")
for _ in $(seq 100); do
  mountpoint -q "$work/fuse" && break
  sleep 0.1
done
try_runs "$work/fuse"
grep -q 'cannot be removed' "$work"/fuse/runs/digits/*/log.txt || fail 'the file that stays was not reported'
printf 'FUSE: passed\n'
