# Defines the target LibTorch::LibTorch: libtorch_cpu and libc10 of one LibTorch build. Does not need the CUDA compiler
# that TorchConfig.cmake requires.
#
# Searches these locations in order. The first match is used:
#   1. TENON_LIBTORCH (cache or environment): an unpacked archive of LibTorch, or the folder of the Python package torch
#   2. Tenon_LIBTORCH, which find_package(Tenon) sets: the package torch next to Tenon's wheel
#   3. the cache of scripts/dependencies: ${TENON_CACHE}, else ${XDG_CACHE_HOME}/tenon, else ~/.cache/tenon
#   4. the package torch of the Python that CMake finds
# Locations 2 to 4 must have the version TENON_LIBTORCH_DEFAULT (major.minor), or for a plugin one of
# Tenon_LIBTORCH_VERSIONS, which find_package(Tenon) sets. TENON_LIBTORCH may name any version from TENON_LIBTORCH_OLDEST
# to TENON_LIBTORCH_NEWEST.
#
# Sets LibTorch_ROOT_FOUND, LibTorch_VERSION ("2.11.0"), LibTorch_MINOR ("2.11") and LibTorch_BUILD
# ("2.11.0+cu130,cxx11abi=1"). Targets that link LibTorch::LibTorch get LibTorch_BUILD as the definition TENON_TORCH_BUILD.
set(TENON_LIBTORCH "" CACHE PATH "A LibTorch to use instead of the pinned one")
set(TENON_LIBTORCH_DEFAULT 2.15) # scripts/dependencies downloads it
set(TENON_LIBTORCH_OLDEST 2.11)
set(TENON_LIBTORCH_NEWEST 2.15)

# Sets `result` to the folder with include/ and lib/: `folder` or a folder in it, or "" if there is none.
function(tenon_libtorch_root folder result)
  foreach(root ${folder} ${folder}/torch ${folder}/libtorch)
    if(EXISTS ${root}/lib/libtorch_cpu.so AND EXISTS ${root}/include/torch/csrc/api/include/torch/torch.h)
      file(REAL_PATH ${root} root)
      set(${result} ${root} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} "" PARENT_SCOPE)
endfunction()

# Sets `version` ("2.11.0") and `full` ("2.11.0+cu130") for the LibTorch at `root`. A wheel stores the full version in
# version.py, an archive in build-version.
function(tenon_libtorch_versions root version full)
  set(header ${root}/include/torch/headeronly/version.h)
  if(NOT EXISTS ${header})
    set(header ${root}/include/torch/csrc/api/include/torch/version.h)
  endif()
  set(found "")
  if(EXISTS ${header})
    file(READ ${header} text)
    string(REGEX MATCH "TORCH_VERSION_MAJOR ([0-9]+)" _ "${text}")
    string(APPEND found "${CMAKE_MATCH_1}")
    string(REGEX MATCH "TORCH_VERSION_MINOR ([0-9]+)" _ "${text}")
    string(APPEND found ".${CMAKE_MATCH_1}")
    string(REGEX MATCH "TORCH_VERSION_PATCH ([0-9]+)" _ "${text}")
    string(APPEND found ".${CMAKE_MATCH_1}")
  endif()
  set(full_found "${found}")
  if(EXISTS ${root}/version.py)
    file(STRINGS ${root}/version.py line REGEX "^__version__ *=")
    string(REGEX REPLACE "^__version__ *= *['\"]([^'\"]*)['\"].*" "\\1" full_found "${line}")
  elseif(EXISTS ${root}/build-version)
    file(STRINGS ${root}/build-version full_found LIMIT_COUNT 1)
  endif()
  set(${version} "${found}" PARENT_SCOPE)
  set(${full} "${full_found}" PARENT_SCOPE)
endfunction()

function(tenon_libtorch_cache_folder result)
  if(NOT "$ENV{TENON_CACHE}" STREQUAL "")
    set(cache $ENV{TENON_CACHE})
  elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(cache $ENV{XDG_CACHE_HOME}/tenon)
  else()
    set(cache $ENV{HOME}/.cache/tenon)
  endif()
  set(${result} ${cache} PARENT_SCOPE)
endfunction()

# Sets `result` to the folder of the Python package torch. Does not import the package.
function(tenon_libtorch_of_python result)
  set(${result} "" PARENT_SCOPE)
  find_program(TENON_PYTHON NAMES python3 python)
  mark_as_advanced(TENON_PYTHON)
  if(NOT TENON_PYTHON)
    return()
  endif()
  execute_process(
    COMMAND ${TENON_PYTHON} -c
            "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Sets LibTorch_ROOT_FOUND, or LibTorch_REASON: the location, the value found, the value expected and the fix.
function(tenon_find_libtorch)
  set(given "${TENON_LIBTORCH}")
  if(given STREQUAL "")
    set(given "$ENV{TENON_LIBTORCH}")
  endif()
  set(LibTorch_ROOT_FOUND "" PARENT_SCOPE)
  if(NOT given STREQUAL "")
    tenon_libtorch_root("${given}" root)
    if(root STREQUAL "")
      string(CONCAT reason "TENON_LIBTORCH=${given}: no lib/libtorch_cpu.so with include/torch there; expected an unpacked "
                    "LibTorch archive or the folder of the Python package torch; fix the path or leave it out")
      set(LibTorch_REASON "${reason}" PARENT_SCOPE)
      return()
    endif()
    tenon_libtorch_versions(${root} version full)
    string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor "${version}")
    if(version STREQUAL "" OR version VERSION_LESS TENON_LIBTORCH_OLDEST OR minor VERSION_GREATER TENON_LIBTORCH_NEWEST)
      string(CONCAT reason "TENON_LIBTORCH=${given}: LibTorch \"${full}\"; expected ${TENON_LIBTORCH_OLDEST} to "
                    "${TENON_LIBTORCH_NEWEST}; set another folder, or leave it out and run scripts/dependencies")
      set(LibTorch_REASON "${reason}" PARENT_SCOPE)
      return()
    endif()
    if(NOT minor VERSION_EQUAL TENON_LIBTORCH_DEFAULT)
      message(STATUS "LibTorch ${full} from TENON_LIBTORCH, instead of ${TENON_LIBTORCH_DEFAULT}")
    endif()
    set(LibTorch_ROOT_FOUND ${root} PARENT_SCOPE)
    return()
  endif()

  set(wanted ${TENON_LIBTORCH_DEFAULT})
  if(Tenon_LIBTORCH_VERSIONS)
    set(wanted ${Tenon_LIBTORCH_VERSIONS})
  endif()
  tenon_libtorch_cache_folder(cache)
  set(folders "")
  foreach(version IN LISTS wanted)
    file(GLOB found ${cache}/libtorch-${version} ${cache}/libtorch-${version}.*)
    list(APPEND folders ${found})
  endforeach()
  tenon_libtorch_of_python(python)
  set(seen "none")
  foreach(folder IN LISTS Tenon_LIBTORCH folders python)
    tenon_libtorch_root("${folder}" root)
    if(NOT root STREQUAL "")
      tenon_libtorch_versions(${root} version full)
      string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor "${version}")
      if(minor IN_LIST wanted)
        set(LibTorch_ROOT_FOUND ${root} PARENT_SCOPE)
        return()
      endif()
      set(seen "${full} in ${root}")
    endif()
  endforeach()
  string(REPLACE ";" " or " wanted "${wanted}")
  if(Tenon_LIBTORCH_VERSIONS) # a plugin, which has no scripts/dependencies
    string(CONCAT reason "LibTorch found: ${seen}; expected ${wanted}, which the installed host runs with: install the Python "
                  "package torch in such a version, or pass -DTENON_LIBTORCH=DIR")
    set(LibTorch_REASON "${reason}" PARENT_SCOPE)
    return()
  endif()
  string(CONCAT reason "LibTorch found: ${seen}; expected ${wanted} in ${cache} or in Python; run "
                "scripts/dependencies or pip install torch, or pass -DTENON_LIBTORCH=DIR for another LibTorch from "
                "${TENON_LIBTORCH_OLDEST} to ${TENON_LIBTORCH_NEWEST}")
  set(LibTorch_REASON "${reason}" PARENT_SCOPE)
endfunction()

tenon_find_libtorch()
if(LibTorch_ROOT_FOUND)
  tenon_libtorch_versions(${LibTorch_ROOT_FOUND} LibTorch_VERSION full)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" LibTorch_MINOR ${LibTorch_VERSION})
  # LibTorch 2.7 and later are built with the C++11 ABI of libstdc++.
  set(LibTorch_BUILD "${full},cxx11abi=1")
  if(NOT TARGET LibTorch::LibTorch)
    set(root ${LibTorch_ROOT_FOUND})
    add_library(LibTorch::c10 SHARED IMPORTED)
    set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION ${root}/lib/libc10.so)
    add_library(LibTorch::LibTorch SHARED IMPORTED)
    set_target_properties(
      LibTorch::LibTorch
      PROPERTIES IMPORTED_LOCATION ${root}/lib/libtorch_cpu.so
                 INTERFACE_INCLUDE_DIRECTORIES "${root}/include;${root}/include/torch/csrc/api/include"
                 INTERFACE_COMPILE_FEATURES cxx_std_20)
    target_compile_definitions(
      LibTorch::LibTorch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO _GLIBCXX_USE_CXX11_ABI=1
                                   "TENON_TORCH_BUILD=\"${LibTorch_BUILD}\"")
    # LibTorch is built with NDEBUG, and without it at::RecordFunction has another member, which LibTorch does not initialize.
    target_compile_definitions(LibTorch::LibTorch
                               INTERFACE $<$<NOT:$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:NDEBUG>)
    target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::c10)
    # libtorch_cpu of a CUDA build references CUDA libraries that a machine without a GPU lacks.
    target_link_options(LibTorch::LibTorch INTERFACE -Wl,--unresolved-symbols=ignore-in-shared-libs)
  endif()
endif()

if(NOT LibTorch_ROOT_FOUND AND LibTorch_FIND_REQUIRED)
  message(FATAL_ERROR "${LibTorch_REASON}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_ROOT_FOUND
  VERSION_VAR LibTorch_VERSION)
