# Finds the sources of SentencePiece, which plugins/text builds. Sets SentencePiece_SOURCES to the folder with src/ and
# third_party/.
#
# A shared library of SentencePiece cannot be loaded into one process with LibTorch: both define a global variable
# FLAGS_minloglevel with different types, and the library that is loaded later constructs it over the other's memory.
#
# Searches TENON_SENTENCEPIECE (cache or environment), then the cache of scripts/dependencies.
set(TENON_SENTENCEPIECE "" CACHE PATH "The folder of SentencePiece's sources to use instead of the pinned one")
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
                      "scripts/dependencies, or set TENON_SENTENCEPIECE to your copy")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SentencePiece
  REQUIRED_VARS SentencePiece_SOURCES
  VERSION_VAR SentencePiece_VERSION)
