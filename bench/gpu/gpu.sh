#!/usr/bin/env bash
# Tests this packed Tenon on the CUDA device of this machine: DIR/gpu [--list | --smoke | --piece N | --only NAME ...]
#
# Builds nothing and needs no network. Needs python3 with the torch of the pack. TENON_LIBTORCH=DIR names another LibTorch; then
# python3 may lack torch, and comparisons with PyTorch are skipped. DIR/gpu --help describes the options and exit codes.
set -euo pipefail

{ : <&0; } 2>/dev/null || exec </dev/null

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 "$here/bench/gpu/main.py" "$@"
