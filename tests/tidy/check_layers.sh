#!/usr/bin/env bash
# Who may include what, as the layers of docs and CMake say it: check_layers.sh REPOSITORY. Prints each breach as
# FILE:LINE: what is wrong, and fails if there is one.
set -euo pipefail
cd "$1"
breaches=0

breach() {
  printf '%s\n' "$1"
  breaches=$((breaches + 1))
}

# includes FOLDER...: FILE:LINE:PATH of each include in quotes.
includes() {
  grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' --include='*.hpp' --include='*.cpp' "$@" |
    sed -E 's/^([^:]+:[0-9]+):.*"([^"]+)".*/\1:\2/' || true
}

# may_see ROOM ALLOWED...: the files of framework/ROOM include those folders of framework, and their own, alone.
may_see() {
  local room=$1 line path owner
  shift
  [ -d "framework/$room" ] || return 0
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    path=${line##*:}
    case $path in
    framework/*/*) owner=$(cut -d/ -f2 <<<"$path") ;;
    *)
      breach "${line%:*}: includes \"$path\"; expected a path from the repository's root, within framework"
      continue
      ;;
    esac
    case " $room $* " in
    *" $owner "* | *" $path "*) ;;
    *) breach "${line%:*}: $room includes \"$path\"; $room may see: ${*:-nothing else}" ;;
    esac
  done < <(includes "framework/$room")
}

may_see support
may_see config support
may_see plugins support config
may_see data support config plugins
may_see distributed support config
may_see precision support config
may_see optimization support config
may_see artifacts support config
may_see packing support config plugins data artifacts
may_see callbacks support config plugins framework/pipeline/events.h framework/pipeline/run_state.h
may_see cuda support config
may_see validation support config plugins
may_see profiling support config plugins data artifacts pipeline
may_see pipeline support config plugins data distributed precision optimization artifacts

while IFS= read -r line; do
  [ -n "$line" ] && breach "${line%:*}: a plugin includes \"${line##*:}\"; plugins see <tenon/...> and their own files"
done < <(includes plugins plugin_api | grep -E ':(framework|host|tests)/' || true)

while IFS= read -r line; do
  [ -n "$line" ] && breach "${line%:*}: includes \"${line##*:}\"; only host sees host, only tests see tests"
done < <(includes framework | grep -E ':(host|tests)/' || true)

# door NAME PATTERN MOST PLACE: at most MOST files include the library, all of them in PLACE.
door() {
  local name=$1 pattern=$2 most=$3 place=$4 files file
  mapfile -t files < <(grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$pattern" \
    --include='*.h' --include='*.hpp' --include='*.cpp' framework host plugins plugin_api 2>/dev/null || true)
  for file in "${files[@]}"; do
    [[ $file =~ ^$place ]] || breach "$file: includes $name; its one door is $place"
  done
  if [ "${#files[@]}" -gt "$most" ]; then
    breach "$name is included by ${files[*]}; expected $most file at most"
  fi
}

door toml++ 'toml(\+\+|plusplus)/' 1 'framework/config/.*\.cpp'
door Boost.DLL 'boost/dll' 1 'framework/plugins/.*\.cpp'
door Boost.Program_options 'boost/program_options' 1 'host/command_options\.h'
door OpenCV 'opencv2/' 1000 'plugins/(datasets|images)/'
door libjpeg '(jpeglib|jerror)\.h' 1 'plugins/images/decode/.*\.cpp'
door libpng 'png\.h' 1 'framework/artifacts/.*\.cpp'
door zlib 'zlib\.h' 1 'plugins/datasets/shared/.*\.cpp'
door c10d 'torch/csrc/distributed/|c10d/' 1000 'framework/(distributed|cuda)/'
door CUDA '(cuda|cuda_runtime(_api)?|nccl|c10/cuda/.*|ATen/cuda/.*|nvtx3/.*)\.h' 1000 'framework/cuda/'

if [ "$breaches" != 0 ]; then
  printf '%d breaches of the layers\n' "$breaches"
  exit 1
fi
