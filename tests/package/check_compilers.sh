#!/usr/bin/env bash
# Checks that portable plugins give bitwise identical weights and metrics with every compiler:
# check_compilers.sh BUILD_FOLDER [all]
#
# Builds the same plugins with several compilers and trains each build with the host that install_package.sh installed.
# By default there are two variants: gcc, and clang with libc++ if it is installed, with other optimisation and another
# standard. `all` tries every compiler at -O0 and -O3, as C11 with C++17 and C++20, and a run with plugins from several
# compilers. The compilers are called directly, and use only the headers of the installation. The plugins of examples/rust are
# tested in the same way.
#
# The datasets compute with doubles, so the results are equal only if the compilers follow IEEE 754. Without -march no
# compiler uses fused multiply-add on x86-64, and -ffp-contract=off disables it elsewhere. All use the same libm.
set -euo pipefail
tenon_build=$(cd "$1" && pwd)
matrix=${2:-some}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
work=$tenon_build/tests/written/compilers.$matrix
prefix=$work/prefix

for tool in gcc g++ clang clang++ rustc; do
  if ! command -v "$tool" >/dev/null; then
    printf '%s was not found; this test compares compilers and needs it: run scripts/dependencies\n' "$tool"
    exit 1
  fi
done

rm -rf "$work"
mkdir -p "$work/home"
cp -al "$tenon_build/tests/written/installed/prefix" "$prefix"
# The test trains the variants, so the host must not find the bundled plugins or the user's plugins.
rm -r "$prefix/lib/tenon/plugins" "$prefix"/lib/tenon/engine-*/plugins

tutorial=$repository/examples/tutorial
c_plugins=("$tutorial/ramp.c" "$repository/plugins/models/mlp/mlp.c")
cpp_plugins=("$tutorial/spiral.cpp" "$tutorial/two_towers.cpp"
  "$repository/plugins/losses/cross_entropy/cross_entropy.cpp" "$repository/plugins/metrics/accuracy/accuracy.cpp")

# build VARIANT OPTIMISATION C++_STANDARD CC CXX [CXXFLAGS...]: builds the plugins into a folder of that name.
build() {
  local folder=$work/$1 optimisation=$2 standard=$3 cc=$4 cxx=$5 source name
  local flags=("$optimisation" -ffp-contract=off -shared -fPIC -fvisibility=hidden -Wall -Wextra -pedantic -Werror
    -I "$prefix/include" -I "$repository") # bundled plugins share headers
  shift 5
  mkdir "$folder"
  for source in "${c_plugins[@]}"; do
    name=$(basename "$source" .c)
    "$cc" -std=c11 "${flags[@]}" "$source" -o "$folder/$name.so" -lm
  done
  for source in "${cpp_plugins[@]}"; do
    name=$(basename "$source" .cpp)
    "$cxx" "-std=$standard" "$@" "${flags[@]}" "$source" -o "$folder/$name.so"
  done
}

# run FOLDER RUN_FILE PLUGINS [ARGUMENTS]: runs the host in FOLDER, with its output in FOLDER/log. LibTorch's operators
# use one thread, which fixes the order of sums. Every step writes a line to the history.
run() {
  local folder=$1 run_file=$2 plugins=$3
  shift 3
  mkdir -p "$folder"
  (cd "$folder" && env -u TENON_PLUGIN_PATH HOME="$work/home" "$prefix/bin/host" --config "$run_file" \
    --plugin-dir "$plugins" --set run.threads=1 --set run.output_dir=runs --set 'log.every="1 step"' "$@" >log 2>&1)
}

# train VARIANT RUN RUN_FILE PLUGINS [ARGUMENTS]: prints a digest of the weights and of the history without its times.
train() {
  local variant=$1 name=$2 folder=$work/$1.$2 results
  if ! run "$folder" "${@:3}"; then
    cat "$folder/log" >&2
    printf '%s: training %s failed (above)\n' "$variant" "$name" >&2
    return 1
  fi
  results=("$folder"/runs/*/*)
  # The header, with its length in the first eight bytes, also has the parameters of the model.
  local weights=${results[0]}/checkpoints/latest/model.safetensors header
  header=$(od -An -t u8 -N 8 "$weights")
  { tail -c "+$((header + 9))" "$weights" &&
    sed -E 's/"(time_s|train\/[a-z_]+_s)": [^,}]*//g' "${results[0]}/history.jsonl"; } | sha256sum | cut -c 1-16
}

# refusal VARIANT: prints the error of a run with a class weight too many. The loss throws a C++ exception in its
# first step, and the plugin API converts it into a message.
refusal() {
  local folder=$work/$1.refusal status=0
  run "$folder" "$tutorial/spiral.toml" "$work/$1" \
    --set 'loss=[{use="cross_entropy",params={class_weights=[1,2,3]}}]' || status=$?
  printf '%s: ' "$status"
  sed -n 's/^error: //p' "$folder/log"
}

# try VARIANT: trains with the plugins of that folder, prints a line of the table, and records the results that must be
# equal for all variants.
try() {
  local variant=$1 spiral two_towers ramp
  spiral=$(train "$variant" spiral "$tutorial/spiral.toml" "$work/$variant" --set train.epochs=1)
  two_towers=$(train "$variant" two_towers "$tutorial/two_towers.toml" "$work/$variant" --set train.epochs=4)
  ramp=$(train "$variant" ramp "$tutorial/ramp.toml" "$work/$variant")
  printf '%-22s %-18s%-18s%-18s\n' "$variant" "$spiral" "$two_towers" "$ramp"
  printf '%s %s %s\n' "$spiral" "$two_towers" "$ramp" >>"$work/digests"
  refusal "$variant" >>"$work/refusals"
}

# expect_one FILE WHAT: checks that all lines of the file are equal.
expect_one() {
  if [ "$(sort -u "$1" | wc -l)" != 1 ]; then
    sort "$1" | uniq -c
    printf '%s differ between variants of the same sources (above)\n' "$2"
    exit 1
  fi
}

libcxx=yes
printf '#include <vector>\n' | clang++ -stdlib=libc++ -shared -fPIC -x c++ - -o "$work/libcxx.so" 2>/dev/null ||
  libcxx=no

printf '%-22s %-18s%-18s%-18s\n' variant spiral two_towers ramp
# variant COMPILER OPTIMISATION STANDARD: builds and tries one variant.
variant() {
  local name=$1$2-$3
  case $1 in
  gcc) build "$name" "$2" "$3" gcc g++ ;;
  clang) build "$name" "$2" "$3" clang clang++ ;;
  libc++)
    if [ "$libcxx" = no ]; then return; fi
    build "$name" "$2" "$3" clang clang++ -stdlib=libc++
    ;;
  esac
  try "$name"
}

if [ "$matrix" = all ]; then
  for optimisation in -O0 -O3; do
    for standard in c++17 c++20; do
      for compiler in gcc clang libc++; do variant "$compiler" "$optimisation" "$standard"; done
    done
  done
  # One run with plugins from several compilers.
  mkdir "$work/mixed"
  cp "$work"/gcc-O3-c++17/{mlp,accuracy,two_towers}.so "$work"/clang-O0-c++20/{cross_entropy,spiral,ramp}.so "$work/mixed"
  if [ "$libcxx" = yes ]; then cp "$work/libc++-O3-c++20/accuracy.so" "$work/mixed"; fi
  try mixed
else
  variant gcc -O3 c++17
  if [ "$libcxx" = yes ]; then variant libc++ -O0 c++20; else variant clang -O0 c++20; fi
fi
if [ "$libcxx" = no ]; then printf 'libc++ was not found: clang was tested with libstdc++ only\n'; fi

expect_one "$work/digests" 'weights or histories'
expect_one "$work/refusals" 'refusals'
if ! grep -q '^3: loss "cross_entropy" of plugin cross_entropy' "$work/refusals"; then
  cat "$work/refusals"
  printf 'above: expected exit code 3 and the loss that failed\n'
  exit 1
fi

# Rust. Its structs are written by hand and must have the same memory layout as those of the headers.
rust=$repository/examples/rust
gcc -std=c11 -I "$prefix/include" "$here/rust/layouts.c" -o "$work/layouts_c"
rustc --edition 2021 "$here/rust/layouts.rs" -o "$work/layouts_rust"
if ! diff -u --label 'the headers' --label examples/rust/tenon.rs <("$work/layouts_c") <("$work/layouts_rust"); then
  printf 'the structs of examples/rust differ from those of the headers (above)\n'
  exit 1
fi

# A dtype where a set of dtypes is expected has another type.
mkdir "$work/wrong_dtype"
cp "$rust"/*.rs "$work/wrong_dtype"
sed -i 's/dtypes: ANY_FLOAT/dtypes: FLOAT32/' "$work/wrong_dtype/mlp.rs"
if rustc --crate-type cdylib --edition 2021 "$work/wrong_dtype/lib.rs" -o "$work/wrong_dtype/disc.so" \
  2>"$work/wrong_dtype/log" || ! grep -q '^error\[E0308\]: mismatched types' "$work/wrong_dtype/log"; then
  cat "$work/wrong_dtype/log"
  printf 'above: expected that rustc refuses a dtype as a set of dtypes\n'
  exit 1
fi

# The model computes the same as mlp.c, so it must reach the same weights with the dataset and loss in C++.
printf '%-22s %-18s%-18s\n' variant spiral disc
optimisations=(3)
if [ "$matrix" = all ]; then optimisations=(0 3); fi
for optimisation in "${optimisations[@]}"; do
  variant=rustc-O$optimisation
  mkdir "$work/$variant"
  rustc --crate-type cdylib --edition 2021 -D warnings -C "opt-level=$optimisation" "$rust/lib.rs" \
    -o "$work/$variant/disc.so"
  "$prefix/bin/host" note "$work/$variant/disc.so"
  cp "$work"/gcc-O3-c++17/{spiral,cross_entropy,accuracy}.so "$work/$variant"
  if ! "$prefix/bin/host" describe rust_mlp --plugin-dir "$work/$variant" | grep -q '^  hidden = '; then
    printf '%s: host describe does not find rust_mlp in the note\n' "$variant"
    exit 1
  fi
  spiral=$(train "$variant" spiral "$tutorial/spiral.toml" "$work/$variant" --set train.epochs=1 \
    --set model.use=rust_mlp)
  disc=$(train "$variant" disc "$rust/disc.toml" "$work/$variant")
  printf '%-22s %-18s%-18s\n' "$variant" "$spiral" "$disc"
  printf '%s\n' "$spiral" >>"$work/rust_digests"
  printf '%s\n' "$disc" >>"$work/disc_digests"
done
head -n 1 "$work/digests" | cut -d ' ' -f 1 >>"$work/rust_digests"
expect_one "$work/rust_digests" 'weights or histories of rust_mlp and mlp'
expect_one "$work/disc_digests" 'weights or histories of the Rust plugins'

# A panic in a data worker is also reported as an error message.
mkdir "$work/panics"
rustc --crate-type cdylib --edition 2021 -D warnings -O "$here/rust/panics.rs" -o "$work/panics/panics.so"
cp "$work"/gcc-O3-c++17/{mlp,cross_entropy,accuracy}.so "$work/panics"
status=0
run "$work/panics.run" "$tutorial/spiral.toml" "$work/panics" --set data.train.use=panics \
  --set data.validation.use=disc || status=$?
if [ "$status" != 3 ] ||
  ! grep -qE '^error: dataset "panics" of plugin panics .*: panic: no sample [0-9]+' "$work/panics.run/log"; then
  cat "$work/panics.run/log"
  printf 'exit code %s; expected 3, and a message with the panic of the dataset\n' "$status"
  exit 1
fi
