#!/usr/bin/env bash
# Builds plugins in separate projects with only the package that install_package.sh installed, and trains with them:
# check_package.sh CMAKE BUILD_FOLDER LIBTORCH
set -euo pipefail
cmake=$1
tenon_build=$2
libtorch=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$tenon_build/tests/written/package
prefix=$tenon_build/tests/written/installed/prefix
rm -rf "$work"
mkdir -p "$work"

"$here/check_names.sh" "$prefix" "$prefix"
"$prefix/bin/tenon-log" --help >/dev/null

# The installation can be moved: its files have no path of this build, and it has a copy of LibTorch.
cp -al "$prefix" "$work/moved"
find "$work/moved" -type f \( -name '*.so*' -o -path '*/bin/host' \) -not -path '*/lib/tenon/torch/*' -not -path '*/lib/tenon/nvidia/*' |
  while IFS= read -r file; do
    paths=$(readelf -d "$file" | sed -nE 's/.*\(R(UN)?PATH\).*\[(.*)\]/\2/p')
    case :$paths in
    *:[!\$]*)
      printf '%s: the loader searches %s; expected only paths that begin with $ORIGIN\n' "$file" "$paths"
      exit 1
      ;;
    esac
  done
[ ! -e "$work/moved/lib/tenon"/engine-*/libtorch.path ]
(cd / && env -i "$work/moved/bin/host" --version)
rm -rf "$work/moved"

# A copy of the installed plugins, so that no relative path leads into this repository.
cp -r "$prefix/share/tenon/examples/tutorial" "$work/source"
# Results do not depend on the optimisation, and -O1 compiles in two thirds of the time of -O3.
"$cmake" -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  -DCMAKE_PREFIX_PATH="$prefix" -DTENON_LIBTORCH="$libtorch" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_C_FLAGS='-Wall -Wextra' \
  -DCMAKE_CXX_FLAGS='-Wall -Wextra'
"$cmake" --build "$work/build"

"$here/../plugin_api/check_exports.sh" portable "$work/build/ramp.so" "$work/build/spiral.so" \
  "$work/build/two_towers.so" "$work/build/log_cosh.so" "$work/build/median_error.so" "$work/build/save_best.so" \
  "$work/build/log_values.so" "$work/build/shift.so"
"$here/../plugin_api/check_exports.sh" native "$work/build/linear.so"

# The build writes a note into each plugin. Stripping the file keeps it.
mkdir "$work/stripped"
cp "$work/build"/*.so "$work/stripped"
strip --strip-unneeded "$work/stripped"/*.so
for folder in build stripped; do
  "$prefix/bin/host" plugins --plugin-dir "$work/$folder" >"$work/$folder.plugins"
  for plugin in "$work/$folder"/*.so; do
    if ! grep -q "^[a-z_]* 1\.0\.0 .* $plugin\$" "$work/$folder.plugins"; then
      cat "$work/$folder.plugins"
      printf '%s: host plugins does not list it from its note (above)\n' "$plugin"
      exit 1
    fi
  done
done

# Plugins can be built without a host in the package. The prefix is shared, so the host is removed from a copy.
cp -al "$prefix" "$work/prefix_without_host"
rm "$work/prefix_without_host/bin/host" "$work/prefix_without_host/bin/tenon"
"$cmake" -S "$work/source" -B "$work/without_host" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix_without_host" \
  -DTENON_LIBTORCH="$libtorch" >"$work/without_host.log"
"$cmake" --build "$work/without_host" --target ramp
grep -q 'no note is added to plugin ramp: this package contains no host' "$work/without_host.log"
"$prefix/bin/host" plugins --plugin-dir "$work/without_host" | grep -q "^no note: $work/without_host/ramp.so: run"

# train NAME RUN_FILE METRIC SIGN LIMIT [ARGUMENTS]: trains with the installed host in a separate folder. The metric
# must reach the limit.
train() {
  local name=$1 run_file=$2 metric=$3 sign=$4 limit=$5 found
  shift 5
  mkdir "$work/$name"
  (cd "$work/$name" && "$prefix/bin/host" --config "$work/source/$run_file" --plugin-dir "$work/build" "$@" >log)
  found=$(sed -En "s#^(finished|stopped) .*validation/$metric ([0-9.e-]*).*#\\2#p" "$work/$name/log")
  if ! awk -v found="$found" -v limit="$limit" "BEGIN { exit !(found != \"\" && found $sign limit) }"; then
    cat "$work/$name/log"
    printf '%s: %s is "%s"; expected %s %s\n' "$name" "$metric" "$found" "$sign" "$limit"
    exit 1
  fi
}
train portable spiral.toml accuracy '>=' 0.95
train two_towers two_towers.toml accuracy '>=' 0.95
train native spiral.toml accuracy '>=' 0.5 --set 'model={use="linear"}' --set train.epochs=5
train line line.toml median_error '<=' 0.02

# The installed examples, as separate projects.
example() {
  cp -r "$prefix/share/tenon/examples/$1" "$work/$1.source"
  "$cmake" -S "$work/$1.source" -B "$work/$1.build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
    -DCMAKE_PREFIX_PATH="$prefix" -DOpenCV_DIR="$work/opencv" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Wcast-qual' \
    -DCMAKE_CXX_FLAGS='-Wall -Wextra -Wpedantic'
  "$cmake" --build "$work/$1.build"
  "$here/../plugin_api/check_exports.sh" portable "$work/$1.build/$1.so"
  cp "$work/$1.build/$1.so" "$work/build"
  cp "$work/$1.source/$1.toml" "$work/source/example_$1.toml"
}
example line
train example_line example_line.toml absolute_error '<=' 0.09
grep -q 'stop_below: the loss is below the threshold' "$work/example_line/log"

# Debian has OpenCV's CMake package only in libopencv-dev, which needs all of OpenCV.
mkdir "$work/opencv"
cat >"$work/opencv/OpenCVConfig.cmake" <<'END'
foreach(part core imgproc imgcodecs)
  add_library(opencv_${part} INTERFACE IMPORTED)
  target_include_directories(opencv_${part} INTERFACE /usr/include/opencv4)
  target_link_libraries(opencv_${part} INTERFACE -lopencv_${part})
endforeach()
END
# Images that are bright at the top.
example rotations
mkdir "$work/source/photos"
awk -v folder="$work/source/photos" 'BEGIN {
  for (image = 0; image < 100; image++) {
    file = folder "/" image ".ppm"
    print "P3 16 16 255" >file
    for (pixel = 0; pixel < 256; pixel++) { value = (pixel < 128 ? 200 : 50) + int(50 * rand()); print value, value, value >file }
    close(file)
  }
}'
train rotations example_rotations.toml accuracy '>=' 0.95

# The first half of the images is bright at the top, the second half at the bottom.
example mnist
mkdir "$work/source/data"
python3 - "$work/source/data" <<'END'
import pathlib, struct, sys
images = b"".join(bytes([200, 20][(row >= 4) ^ (image >= 100)] for row in range(8) for _ in range(8)) for image in range(200))
for part in "train", "t10k":
    folder = pathlib.Path(sys.argv[1])
    (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, 200, 8, 8) + images)
    (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, 200) + bytes(100) + b"\1" * 100)
END
train mnist example_mnist.toml accuracy '>=' 0.95 --set train.epochs=10

# The example with CUDA kernels. Without nvcc its build is empty.
cp -r "$here/../../examples/cuda_loss" "$work/kernels"
"$cmake" -S "$work/kernels" -B "$work/kernels/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON >"$work/kernels.log"
"$cmake" --build "$work/kernels/build"
if ! grep -q 'examples/cuda_loss is not built: nvcc is missing' "$work/kernels.log"; then
  "$here/../plugin_api/check_exports.sh" portable "$work/kernels/build/cuda_loss.so"
  cp "$work/kernels/build/cuda_loss.so" "$work/build"
  cp "$work/kernels/digits.toml" "$work/source"
  train cuda_loss digits.toml accuracy '>=' 0.9 --set train.epochs=3
fi

# Plugins that were built with the C++ headers before their names changed train to the same bits. The callback's
# parameter had another name then.
kept=$here/../golden/1_0/cpp
(cd "$kept" && sha256sum --check --strict --quiet SHA256SUMS)
mkdir "$work/kept"
(cd "$work/kept" && "$prefix/bin/host" --config "$work/source/line.toml" --plugin-dir "$kept" \
  --set 'callback=[{use="save_best", params={figure="validation/median_error"}}]' >log)
# history FOLDER: the lines of the run's history without times.
history() { sed -E 's/(, )?"(time_s|train\/[a-z_]+_s)": [^,}]*//g' "$work/$1"/runs/*/*/history.jsonl; }
if ! diff <(history line) <(history kept); then
  printf 'above: the history with the plugins that were just built, and with %s\n' "$kept"
  exit 1
fi
