#!/usr/bin/env bash
# Installs Tenon once for all package tests: install_package.sh CMAKE BUILD_FOLDER
set -euo pipefail
work=$2/tests/written/installed
rm -rf "$work"
mkdir -p "$work"
"$1" --install "$2" --prefix "$work/prefix" >"$work/install.log"
