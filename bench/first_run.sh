#!/usr/bin/env bash
# Measures the first steps of a new user in an empty Debian root: bench/first_run.sh ROOT [--with-tests]
#
# Creates a minimal Debian bookworm in the new folder ROOT (debootstrap --variant=minbase) and copies the checked-out
# commit into it. Runs there the commands of the README in order: scripts/run configs/digits.toml, cmake --install, and
# the build and training of the first plugin. --with-tests also runs scripts/test. Prints for each step the elapsed time
# and the CPU time. The CPU time does not depend on other work of the machine.
#
# Needs root, debootstrap, and 6 GB in ROOT. ROOT gets the name servers of this machine, and pip gets its certificates.
# Exit codes: 2 wrong arguments, 3 no debootstrap, or that of the first failed step.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=${1:-}
with_tests=${2:-}
if [ -z "$root" ] || [ -e "$root" ] || { [ -n "$with_tests" ] && [ "$with_tests" != --with-tests ]; }; then
  printf 'usage: bench/first_run.sh ROOT [--with-tests], where ROOT does not exist yet\n' >&2
  exit 2
fi
command -v debootstrap >/dev/null || { printf 'debootstrap is missing: apt-get install debootstrap\n' >&2; exit 3; }

# In a separate mount namespace, the mounts below end with this process.
if [ -z "${TENON_FIRST_RUN_UNSHARED:-}" ]; then
  TENON_FIRST_RUN_UNSHARED=1 exec unshare --mount --propagation private bash "$0" "$@"
fi

debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { cat "$root.log" >&2; exit 3; }
mkdir -p "$root/etc/ssl" "$root/tenon"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Uses another file name: the package ca-certificates writes ca-certificates.crt in the root.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certificates_of_this_machine.crt"
git -C "$here" archive HEAD | tar -x -C "$root/tenon"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"

# step NAME COMMAND: runs the command in the root with the environment of a login.
step() {
  local name=$1 code=0 start end before after
  start=$(date +%s.%N)
  before=$(children_cpu)
  chroot "$root" env -i HOME=/root TERM=dumb PIP_CERT=/etc/ssl/certificates_of_this_machine.crt \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /tenon && $2" </dev/null >"$root.out" 2>&1 || code=$?
  end=$(date +%s.%N)
  after=$(children_cpu)
  printf '%-44s %8.0f s %10.0f s\n' "$name" "$(subtract "$end" "$start")" "$(subtract "$after" "$before")"
  if [ "$code" != 0 ]; then
    tail -n 60 "$root.out"
    exit "$code"
  fi
}

subtract() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%f", a - b }'; }

# Prints the CPU seconds (user and system) of all ended child processes.
children_cpu() { awk -v hertz="$(getconf CLK_TCK)" '{ sub(/^.*\) /, ""); print ($14 + $15) / hertz }' "/proc/$$/stat"; }

printf '%s, %s cores, commit %s\n\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
  "$(git -C "$here" rev-parse --short HEAD)"
printf '%-44s %10s %12s\n' step time 'CPU time'
step 'scripts/dependencies (downloads)' 'scripts/dependencies'
step 'scripts/run configs/digits.toml' 'scripts/run configs/digits.toml'
grep -E 'accuracy' "$root.out" | tail -n 1 || true
step 'scripts/run again' 'scripts/run configs/digits.toml'
step 'cmake --install build/release' 'cmake --install build/release --prefix /opt/tenon'
step 'build of the first plugin' 'mkdir /plugin && cp examples/tutorial/spiral.* /plugin && cd /plugin &&
  printf "cmake_minimum_required(VERSION 3.25)\nproject(MyPlugins LANGUAGES C CXX)\nfind_package(Tenon REQUIRED)\ntenon_add_plugin(spiral SOURCES spiral.cpp)\n" >CMakeLists.txt &&
  cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=/opt/tenon && cmake --build build'
step 'training of the first plugin' 'cd /plugin && /opt/tenon/bin/host --config spiral.toml --plugin-dir build'
if [ -n "$with_tests" ]; then
  step 'scripts/dependencies --for-tests (downloads)' 'scripts/dependencies --for-tests'
  step 'scripts/test' 'scripts/test'
  tail -n 8 "$root.out"
fi
