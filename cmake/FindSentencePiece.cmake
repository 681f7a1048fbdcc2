# The sources of SentencePiece, which plugins/text builds: SentencePiece_SOURCES, the folder with src/ and third_party/.
#
# Sources, because a shared library of it cannot live in one process with LibTorch: both have a global variable
# FLAGS_minloglevel, of different types, and the one that is loaded later is constructed over the other's memory.
#
# Looked for in TENON_SENTENCEPIECE (cache or environment), then where scripts/dependencies puts them.
set(TENON_SENTENCEPIECE "" CACHE PATH "The folder of SentencePiece's sources to use in place of the pinned one")
file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/sentencepiece.txt line REGEX "^sentencepiece==")
string(REGEX REPLACE "^sentencepiece==([0-9.]+).*" "\\1" SentencePiece_PINNED "${line}")

tenon_libtorch_cache_folder(cache)
set(folder "${cache}/sentencepiece-${SentencePiece_PINNED}")
foreach(given "$ENV{TENON_SENTENCEPIECE}" "${TENON_SENTENCEPIECE}")
  if(NOT given STREQUAL "")
    set(folder "${given}")
  endif()
endforeach()
set(SentencePiece_SOURCES "")
if(EXISTS ${folder}/src/sentencepiece_processor.h)
  set(SentencePiece_SOURCES ${folder})
  file(STRINGS ${folder}/VERSION.txt SentencePiece_VERSION LIMIT_COUNT 1)
elseif(SentencePiece_FIND_REQUIRED)
  message(FATAL_ERROR "SentencePiece: no src/sentencepiece_processor.h in ${folder}; expected its sources there; run "
                      "scripts/dependencies, or set TENON_SENTENCEPIECE to the folder of your own")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SentencePiece
  REQUIRED_VARS SentencePiece_SOURCES
  VERSION_VAR SentencePiece_VERSION)
