# Copies the libraries of LibTorch into lib/tenon of an installation, so that it can be moved and used by every user:
# torch/lib, and nvidia/ next to it, where LibTorch's libraries search. install(SCRIPT) runs this file with LIBTORCH (the
# folder of LibTorch) and LIBTORCH_FULL_VERSION.
#
# Copies the libraries for the CPU. If all libraries that libtorch_cuda.so needs are there, copies all, unless
# TENON_CPU_ONLY is set.
cmake_policy(VERSION 3.25)
set(target $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/tenon)
cmake_path(GET LIBTORCH PARENT_PATH packages)
string(REGEX REPLACE "/$" "" packages "${packages}")
# Libraries of an earlier installation do not fit.
file(REMOVE_RECURSE ${target}/torch ${target}/nvidia)
# Only names that are below `packages` matter, so it does not matter which file of the system has another name.
function(find_needed library)
  file(
    GET_RUNTIME_DEPENDENCIES
    LIBRARIES ${library}
    RESOLVED_DEPENDENCIES_VAR found
    UNRESOLVED_DEPENDENCIES_VAR missing
    CONFLICTING_DEPENDENCIES_PREFIX conflicts)
  set(found ${found} PARENT_SCOPE)
  set(missing ${missing} PARENT_SCOPE)
endfunction()

set(files ${LIBTORCH}/lib/libc10.so ${LIBTORCH}/lib/libtorch_cpu.so)
if(EXISTS ${LIBTORCH}/lib/libtorch_cuda.so AND NOT TENON_CPU_ONLY)
  find_needed(${LIBTORCH}/lib/libtorch_cuda.so)
  if(NOT missing)
    # Some libraries are opened by name at run time.
    file(GLOB all ${LIBTORCH}/lib/*.so* ${packages}/nvidia/*/lib/*.so*)
    list(FILTER all EXCLUDE REGEX "/libtorch_python\\.so$")
    list(APPEND files ${all})
  endif()
endif()
find_needed(${LIBTORCH}/lib/libtorch_cpu.so)
list(APPEND files ${found})
list(REMOVE_DUPLICATES files)
foreach(file IN LISTS files)
  string(FIND ${file} ${packages}/ place)
  if(place EQUAL 0)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${LIBTORCH} OUTPUT_VARIABLE name)
    if(name MATCHES "^\\.\\./")
      string(REGEX REPLACE "^\\.\\./" "" name ${name})
    else()
      set(name torch/${name})
    endif()
    cmake_path(GET name PARENT_PATH folder)
    file(INSTALL DESTINATION ${target}/${folder} TYPE SHARED_LIBRARY FILES ${file} MESSAGE_NEVER)
  endif()
endforeach()
if(NOT EXISTS ${target}/torch/lib/libtorch_cpu.so)
  message(FATAL_ERROR "${LIBTORCH}: libtorch_cpu.so cannot be copied to ${target}/torch/lib")
endif()
list(LENGTH files count)
message(STATUS "Installed: ${count} libraries of LibTorch ${LIBTORCH_FULL_VERSION} in ${target}/torch")
file(WRITE ${target}/torch/build-version "${LIBTORCH_FULL_VERSION}\n")
