#!/usr/bin/env bash
# Checks that the sources of golden plugins, built with the current headers, give the results of the stored binaries:
# check_sources.sh VERSION_FOLDER PLUGIN_API_INCLUDE HOST COMPARE_GOLDEN WORK_FOLDER CC
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ "$(uname -m)" != x86_64 ]; then exit 77; fi
"$here/make_golden.sh" "$1" "$2" "$5/plugins" "$6"
"$here/check_golden.sh" "$1" "$5/plugins" "$3" "$4" "$5"
