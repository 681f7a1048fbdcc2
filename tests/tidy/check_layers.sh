#!/usr/bin/env bash
# Checks that includes follow the module dependencies of CONTRIBUTING.md and CMake: check_layers.sh REPOSITORY. Prints
# each violation as FILE:LINE: problem. Fails if there is one.
set -euo pipefail
cd "$1"
breaches=0

breach() {
  printf '%s\n' "$1"
  breaches=$((breaches + 1))
}

# includes FOLDER...: prints FILE:LINE:PATH for each include in quotes.
includes() {
  grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' --include='*.hpp' --include='*.cpp' "$@" |
    sed -E 's/^([^:]+:[0-9]+):.*"([^"]+)".*/\1:\2/' || true
}

# may_see MODULE ALLOWED...: checks that files in framework/MODULE include only that folder and the allowed folders of
# framework.
may_see() {
  local module=$1 line path owner
  shift
  [ -d "framework/$module" ] || return 0
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    path=${line##*:}
    case $path in
    framework/*/*)
      owner=${path#framework/}
      owner=${owner%%/*}
      ;;
    *)
      breach "${line%:*}: includes \"$path\"; expected a path in framework, relative to the repository's root"
      continue
      ;;
    esac
    case " $module $* " in
    *" $owner "* | *" $path "*) ;;
    *) breach "${line%:*}: $module includes \"$path\"; $module may include: ${*:-nothing else}" ;;
    esac
  done < <(includes "framework/$module")
}

may_see formats
may_see images formats
may_see support formats
may_see config formats support
may_see components formats support config framework/images/transforms/host_interface.h
may_see data formats support config components
may_see operators formats support
may_see distributed formats support config operators
may_see precision formats support config
may_see optimization formats support config
may_see artifacts formats support config
may_see packing formats support config components data artifacts
may_see callbacks formats support config components framework/pipeline/state/events.h framework/pipeline/state/run_state.h
may_see cuda formats support config
may_see validation formats support config components
may_see profiling formats support config components data artifacts pipeline
may_see reporting formats support config components artifacts callbacks pipeline
may_see pipeline formats support config components data operators distributed precision optimization artifacts

# follow_order FOLDER SUBFOLDER...: checks that files in each subfolder include only files of that and earlier subfolders.
follow_order() {
  local folder=$1 name line path earlier=" "
  shift
  for name in "$@"; do
    earlier+="$name "
    while IFS= read -r line; do
      [ -n "$line" ] || continue
      line=${line/:$folder\//:}
      path=${line##*:}
      case "$earlier" in
      *" ${path%%/*} "*) ;;
      *) breach "${line%:*}: $name includes \"${line##*:}\" of $folder; $name may include:$earlier" ;;
      esac
    done < <(includes "$folder/$name" | grep -E ":$folder/[a-z_]+/" || true)
  done
}

follow_order framework/support text diagnostics files digests process compute
follow_order framework/config toml values plan file resolve
follow_order framework/distributed launch collectives
follow_order framework/images decode resample transforms reader library
follow_order framework/components calls loading tensors kinds
follow_order framework/artifacts files checkpoint drawing run_folder
follow_order framework/pipeline threads device state losses build evaluation generation checks loop tools
follow_order framework/validation session checks
follow_order framework/reporting runs terminal predictions report comparison
follow_order host program process command_line describe init new_plugin training data predict generate compare verify_resume commands

while IFS= read -r line; do
  [ -n "$line" ] && breach "${line%:*}: a plugin includes \"${line##*:}\"; expected <tenon/...>, or a file in plugins or framework/formats"
done < <(includes plugins plugin_api | grep -E ':(framework|host|tests)/' | grep -vE '^plugins/.*:framework/formats/' || true)

while IFS= read -r line; do
  [ -n "$line" ] && breach "${line%:*}: includes \"${line##*:}\"; only host includes host, only tests include tests"
done < <(includes framework | grep -E ':(host|tests)/' || true)
# The program is linked with no module.
while IFS= read -r line; do
  [ -n "$line" ] && breach "${line%:*}: includes \"${line##*:}\"; host/program includes only headers of framework/support"
done < <(includes host/program | grep -vE ':(host/program|framework/support)/' || true)

# restrict_library NAME PATTERN MOST PLACE: checks that at most MOST files include the library, and that all of them match PLACE.
restrict_library() {
  local name=$1 pattern=$2 most=$3 place=$4 files file
  mapfile -t files < <(grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$pattern" \
    --include='*.h' --include='*.hpp' --include='*.cpp' framework host plugins plugin_api 2>/dev/null || true)
  for file in "${files[@]}"; do
    [[ $file =~ ^$place ]] || breach "$file: includes $name; only $place may include it"
  done
  if [ "${#files[@]}" -gt "$most" ]; then
    breach "$name is included by ${files[*]}; expected at most $most file(s)"
  fi
}

restrict_library toml++ 'toml(\+\+|plusplus)/' 1 'framework/config/.*\.cpp'
restrict_library Boost.DLL 'boost/dll' 1 'framework/components/.*\.cpp'
restrict_library Boost.Program_options 'boost/program_options' 1 'host/command_line/command\.h'
restrict_library OpenCV 'opencv2/' 1000 '(framework/images/|plugin_api/include/tenon/opencv\.hpp)'
restrict_library libjpeg '(jpeglib|jerror)\.h' 1 'framework/images/decode/.*\.cpp'
restrict_library libpng 'png\.h' 2 '(framework/artifacts|framework/images/decode)/.*\.cpp'
restrict_library zlib 'zlib\.h' 4 'framework/(images/(decode|reader)/.*|pipeline/build/weights_file)\.cpp'
restrict_library c10d 'torch/csrc/distributed/|c10d/' 1000 'framework/(distributed|cuda)/'
restrict_library CUDA '(cuda|cuda_runtime(_api)?|nccl|c10/cuda/.*|ATen/cuda/.*|nvtx3/.*)\.h' 1000 'framework/cuda/'

# A folder with more files is hard to survey. Reference values and fixtures are data; public headers are found by name.
while read -r count folder; do
  case $folder in tests/fixtures* | tests/golden/* | tests/images/reference/* | plugin_api/include/*) continue ;; esac
  [ "$count" -le 40 ] || breach "$folder: has $count files; expected at most 40: make subfolders"
done < <(find framework host plugins plugin_api tests bench examples scripts -name __pycache__ -prune -o -type f -print |
  sed 's#/[^/]*$##' | sort | uniq -c)
# The program is thin, and so are its sources.
while read -r count file; do
  [ "$count" -le 300 ] || breach "$file: has $count lines; expected at most 300"
done < <(find host -name '*.cpp' -exec wc -l {} \; -o -name '*.h' -exec wc -l {} \;)

if [ "$breaches" != 0 ]; then
  printf '%d violations of the module dependencies\n' "$breaches"
  exit 1
fi
