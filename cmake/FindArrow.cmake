# Defines the target Arrow::parquet: libarrow and libparquet of the package pyarrow, which only the plugin parquet links.
#
# Searches these locations in order. The first match is used:
#   1. TENON_ARROW (cache or environment): the folder of the Python package pyarrow
#   2. the cache of scripts/dependencies, which has a package for x86-64
# The package must have the major version of scripts/arrow.txt, which is part of the names of the libraries.
#
# Sets Arrow_ROOT_FOUND and Arrow_VERSION ("26.0.1").
set(TENON_ARROW "" CACHE PATH "The folder of the Python package pyarrow to use instead of the pinned one")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/arrow.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/arrow.txt line REGEX "^pyarrow==")
string(REGEX REPLACE "^pyarrow==([0-9.]+).*" "\\1" Arrow_PINNED "${line}")

tenon_libtorch_cache_folder(cache)
set(folder "${cache}/arrow-${Arrow_PINNED}/pyarrow")
set(given "")
foreach(place "$ENV{TENON_ARROW}" "${TENON_ARROW}")
  if(NOT place STREQUAL "")
    set(folder "${place}")
    set(given "TENON_ARROW=${place}: ")
  endif()
endforeach()

set(Arrow_ROOT_FOUND "")
set(Arrow_VERSION "")
set(header ${folder}/include/arrow/util/config.h)
if(EXISTS ${header} AND (given OR CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64))
  file(STRINGS ${header} line REGEX "#define ARROW_VERSION_STRING ")
  string(REGEX REPLACE ".*\"([0-9.]+)\".*" "\\1" Arrow_VERSION "${line}")
  file(STRINGS ${header} line REGEX "#define ARROW_SO_VERSION ")
  string(REGEX REPLACE ".*\"([0-9]+)\".*" "\\1" so "${line}")
  string(REGEX MATCH "^[0-9]+" major "${Arrow_VERSION}")
  string(REGEX MATCH "^[0-9]+" pinned "${Arrow_PINNED}")
  if(major STREQUAL pinned
     AND EXISTS ${folder}/libarrow.so.${so}
     AND EXISTS ${folder}/libparquet.so.${so})
    file(REAL_PATH ${folder} Arrow_ROOT_FOUND)
  endif()
endif()
set(Arrow_FOLDER "${Arrow_ROOT_FOUND}" CACHE INTERNAL "The folder of pyarrow, for packaging/make_packages.py")
if(Arrow_ROOT_FOUND AND NOT TARGET Arrow::parquet)
  add_library(Arrow::arrow SHARED IMPORTED)
  set_target_properties(Arrow::arrow PROPERTIES IMPORTED_LOCATION ${Arrow_ROOT_FOUND}/libarrow.so.${so}
                                                INTERFACE_INCLUDE_DIRECTORIES ${Arrow_ROOT_FOUND}/include)
  add_library(Arrow::parquet SHARED IMPORTED)
  set_target_properties(Arrow::parquet PROPERTIES IMPORTED_LOCATION ${Arrow_ROOT_FOUND}/libparquet.so.${so}
                                                  INTERFACE_LINK_LIBRARIES Arrow::arrow)
endif()

if(NOT Arrow_ROOT_FOUND)
  string(CONCAT reason "${given}Apache Arrow found: \"${Arrow_VERSION}\" in ${folder}; expected pyarrow ${Arrow_PINNED} "
                "with its headers and libraries; run scripts/dependencies, or set TENON_ARROW")
  if(given OR Arrow_FIND_REQUIRED)
    message(FATAL_ERROR "${reason}")
  endif()
  message(STATUS "the plugin parquet will read no files: ${reason}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Arrow
  REQUIRED_VARS Arrow_ROOT_FOUND
  VERSION_VAR Arrow_VERSION)
