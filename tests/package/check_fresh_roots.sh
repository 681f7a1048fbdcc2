#!/usr/bin/env bash
# Installs the packages of scripts/package in fresh Debian roots, trains as an ordinary user, and builds plugins:
# check_fresh_roots.sh PACKAGES WORK [wheel|archive|deb ...]
#
# PACKAGES: the folder with the packages. WORK: an empty folder for the roots, which needs 20 GB. The roots have no
# compiler until the plugins are built. The wheel is tried in Debian 12 and 13, with the newest release of each minor version
# of torch that it declares; the plugin of the README, built once, runs with all of them. Prints how long each step takes.
# Needs root, debootstrap, and the Debian and Python package registries. Exits with 77 if it cannot run here.
set -euo pipefail
if [ ! -e "$1/contents.json" ]; then
  printf '%s has no packages; run scripts/package\n' "$1"
  exit 77
fi
packages=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
examples=$(cd "$here/../.." && pwd)/examples/tutorial
formats=("$@")
if [ $# = 0 ]; then formats=(wheel archive deb); fi
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! unshare -m true 2>/dev/null; then
  printf 'needs root, debootstrap and the right to mount\n'
  exit 77
fi

home=/srv/tester

fail() {
  printf '%s\n' "$1"
  exit 1
}

mirror=${TENON_DEBIAN_MIRROR:-http://deb.debian.org/debian}

# make_root SUITE: makes the root $tree, a copy of a Debian that is bootstrapped once, with a user.
make_root() {
  local base=$work/$1.base
  if [ ! -e "$base/etc/debian_version" ]; then
    debootstrap --variant=minbase --include=ca-certificates "$1" "$base" "$mirror" >"$work/debootstrap.log" ||
      fail "debootstrap failed; see $work/debootstrap.log"
  fi
  rm -rf "$tree"
  cp -a "$base" "$tree"
  cp /etc/resolv.conf "$tree/etc/resolv.conf"
  if [ -n "${PIP_CERT:-}" ]; then cp "$PIP_CERT" "$tree/$PIP_CERT"; fi
  inside root "useradd --create-home --home-dir $home tester"
}

# The newest accuracy in the history of the user's run.
accuracy() {
  sed -n 's|.*"validation/accuracy": \([0-9.]*\).*|\1|p' "$tree$home"/runs/digits*/*/history.jsonl | tail -n 1
}

# install PACKAGE...: installs Debian packages in the root.
install() {
  inside root "apt-get -qq update && apt-get -qq install -y --no-install-recommends $*" >"$work/apt.log" 2>&1 || {
    cat "$work/apt.log"
    fail "$format: apt-get failed"
  }
}

# inside USER COMMAND: runs a shell command in the root $tree.
inside() {
  unshare -m -f bash -c '
    mount -t proc proc "$1/proc" && mount -t devtmpfs dev "$1/dev" 2>/dev/null || mount --bind /dev "$1/dev"
    mkdir -p "$1/packages" "$1/sources" "$1/pip-cache" "$6" /dev/shm
    mount --bind "$3" "$1/packages" && mount --bind "$4" "$1/sources" && mount --bind "$6" "$1/pip-cache"
    chmod 777 "$6"
    exec env -i "$(command -v chroot)" "$1" /bin/su "$2" -s /bin/bash -c "$5"' - "$tree" "$1" "$packages" "$examples" \
    "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ${passed[*]}; set -e; cd; $2" "$work/pip-cache"
}

# How this machine reaches the registries.
passed=(DEBIAN_FRONTEND=noninteractive PIP_CACHE_DIR=/pip-cache)
for name in PIP_INDEX_URL PIP_CERT PIP_DEFAULT_TIMEOUT http_proxy https_proxy; do
  if [ -n "${!name:-}" ]; then passed+=("$name=${!name}"); fi
done

# timed LABEL COMMAND...
timed() {
  local label=$1 start=$EPOCHREALTIME
  shift
  "$@"
  printf '%-9s%-34s%7.1f s\n' "$format" "$label" "$(awk "BEGIN { print $EPOCHREALTIME - $start }")"
}

# train TENON ARGUMENTS: digits, or what the arguments say, in the home of the user.
train() {
  timed "train" inside tester "$1 --config \$($1 --prefix)/share/tenon/configs/digits.toml --quiet ${*:2}"
  local found
  found=$(accuracy)
  awk -v found="$found" 'BEGIN { exit !(found >= 0.97) }' || fail "$format: accuracy $found; expected 0.97 or more"
  rm -r "$tree$home/runs"
}

# build_plugins TENON: the plugin of the README. For the wheel also a native one, with the headers in the package torch.
build_plugins() {
  install g++ cmake ninja-build
  inside tester "mkdir plugins && cp /sources/{spiral.cpp,spiral.toml,linear.cpp} plugins && cd plugins &&
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(MyPlugins LANGUAGES C CXX)' \
      'find_package(Tenon REQUIRED)' 'tenon_add_plugin(spiral SOURCES spiral.cpp)' >CMakeLists.txt &&
    if [ $format = wheel ]; then echo 'tenon_add_plugin(linear TORCH SOURCES linear.cpp)' >>CMakeLists.txt; fi &&
    cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=\$(cd && $1 --prefix) &&
    cmake --build build" \
    >"$work/plugins.log" 2>&1 || {
    cat "$work/plugins.log"
    fail "$format: the plugins cannot be built"
  }
  run_plugins "$1"
  if [ "$format" = wheel ]; then
    inside tester "$1 --config plugins/spiral.toml --plugin-dir plugins/build --set train.epochs=5 --quiet \
      --set 'model={use=\"linear\"}'"
  fi
  rm -rf "$tree$home/runs"
}

# run_plugins TENON: trains with the portable plugin.
run_plugins() { inside tester "$1 --config plugins/spiral.toml --plugin-dir plugins/build --set train.epochs=5 --quiet"; }

# check_wheel SUITE: the wheel with each torch that it declares, and with one that it does not.
check_wheel() {
  local versions version code=0
  make_root "$1"
  install python3-venv
  versions=$(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["libtorch"])' "$packages/contents.json")
  for version in $versions; do
    timed "$1: pip, with torch $version" inside tester \
      "rm -rf env && python3 -m venv env && env/bin/pip -q install /packages/*.whl 'torch==$version.*'"
    inside tester "env/bin/tenon --version" | grep -q "^libtorch $version" || fail "wheel: another LibTorch than $version"
    train env/bin/tenon
    if [ ! -e "$tree$home/plugins" ]; then build_plugins env/bin/tenon; else run_plugins env/bin/tenon; fi
  done
  expect_files $home/env/bin/{host,tenon,tenon-export,tenon-log} $home/env/share/man/man1/{host,tenon}.1
  check_libraries $home/env/lib/python3.*/site-packages/tenon_host
  # A version without an engine. Only its files are read.
  inside tester "env/bin/pip -q install --no-deps 'torch==2.10.*'"
  inside tester "env/bin/tenon --version" >"$work/refused" 2>&1 || code=$?
  if [ $code != 127 ] || ! grep -q "is LibTorch 2.10.*; expected LibTorch .* run .pip install 'torch==" "$work/refused"; then
    cat "$work/refused"
    fail "wheel: torch 2.10 gives exit code $code; expected 127 and the command that installs a torch that fits"
  fi
  inside tester "env/bin/pip -q uninstall --yes tenon-host"
  left=$(find "$tree$home/env" -name '*tenon*' -o -path '*/bin/host' -o -name host.1)
  [ -z "$left" ] || fail "wheel: pip left $left"
}

# check_libraries FOLDER: every library of the installed files is found, and none in a home folder of this machine.
check_libraries() {
  inside root "find $1 -type f \( -name '*.so*' -o -path '*/bin/tenon' -o -path '*/bin/host' \) -exec ldd {} +" \
    >"$work/ldd.log" 2>&1 || true
  # The program loads the first two before the files that need them; machines without CUDA lack the rest.
  if grep 'not found' "$work/ldd.log" | grep -vE '^\s*lib(torch_cpu|c10|torch_cuda|c10_cuda|cu[a-z]+|arrow|parquet)\.so'; then
    fail "$format: these libraries are missing"
  fi
  if grep -q '\.cache' "$work/ldd.log"; then
    grep '\.cache' "$work/ldd.log"
    fail "$format: libraries of a home folder are used"
  fi
}

# expect_files PATH...: the root has these files.
expect_files() {
  local path
  for path; do [ -e "$tree$path" ] || fail "$format: there is no $path"; done
}

for format in "${formats[@]}"; do
  tree=$work/$format
  if [ "$format" != wheel ]; then make_root bookworm; fi
  case $format in
  wheel)
    for suite in bookworm trixie; do check_wheel "$suite"; done
    ;;
  archive)
    timed 'tar -xzf' inside tester "tar -xzf /packages/*.tar.gz"
    train tenon-*/bin/tenon
    inside tester "mkdir 'another folder' && mv tenon-* 'another folder/moved'"
    inside tester "'another folder/moved/bin/host' --version" >/dev/null
    inside tester "mv 'another folder/moved' moved"
    train moved/bin/host
    expect_files $home/moved/bin/{host,tenon,tenon-log} $home/moved/share/man/man1/{host,tenon}.1
    check_libraries $home/moved
    build_plugins moved/bin/tenon
    ;;
  deb)
    list_files() { (cd "$tree" && find usr etc opt var/lib/dpkg/info | sort); }
    before=$(list_files)
    timed 'apt install' install '/packages/*.deb'
    train tenon
    check_libraries "/usr/bin/tenon /usr/lib/tenon"
    # Other packages have the program `host`, its page and its completions.
    install bind9-host bash-completion
    expect_files /usr/bin/{tenon,tenon-log} /usr/share/man/man1/tenon.1.gz /usr/share/bash-completion/completions/tenon
    inside root "apt-get -qq purge -y tenon" >"$work/apt.log" 2>&1
    left=$(comm -13 <(printf '%s\n' "$before") <(list_files) | grep tenon || true)
    [ -z "$left" ] || fail "deb: purge left $left"
    install '/packages/*.deb'
    build_plugins tenon
    ;;
  *) fail "$format: expected wheel, archive or deb" ;;
  esac
  rm -rf "$tree"
done
