# Defines the target LibTorch::Cuda: libtorch_cuda and libc10_cuda of the LibTorch that FindLibTorch found, and the CUDA
# headers that its headers include. No code is compiled for a device, so no CUDA compiler is needed.
#
# Searches the headers in the nvidia packages next to the wheel if they have all of them: scripts/dependencies downloads the
# packages with --cuda, and their headers with --for-tests. Otherwise searches CUDA_HOME, these packages and /usr/local/cuda.
# Other libraries that LibTorch needs, such as cuDNN, are only needed at run time.
#
# Sets LibTorchCuda_MISSING to the list of missing parts.
set(LibTorchCuda_MISSING "")
set(LibTorchCuda_INCLUDE_DIRS "")
foreach(library torch_cuda c10_cuda)
  if(NOT EXISTS ${LibTorch_ROOT_FOUND}/lib/lib${library}.so)
    list(APPEND LibTorchCuda_MISSING "lib${library}.so in ${LibTorch_ROOT_FOUND}/lib")
  endif()
endforeach()
# CUDA's headers include the last two, which are in separate packages.
set(headers cuda_runtime_api.h cublas_v2.h cusparse.h cusolverDn.h nccl.h crt/host_defines.h nv/target)
set(packages ${LibTorch_ROOT_FOUND}/../nvidia)
file(GLOB includes ${packages}/*/include)
set(folders ${includes} $ENV{CUDA_HOME}/include)
foreach(header IN LISTS headers)
  file(GLOB packaged ${packages}/*/include/${header})
  if(NOT packaged)
    set(folders $ENV{CUDA_HOME}/include ${includes})
  endif()
endforeach()
if(EXISTS ${packages})
  # Configures again when a package is added.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packages})
endif()
set(variables "")
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER TENON_CUDA_${header} variable)
  list(APPEND variables ${variable})
  if(DEFINED TENON_CUDA_OF AND NOT TENON_CUDA_OF STREQUAL LibTorch_ROOT_FOUND) # the headers of another LibTorch
    unset(${variable} CACHE)
  endif()
  find_path(${variable} ${header} HINTS ${folders} PATHS /usr/local/cuda/include)
  mark_as_advanced(${variable})
  if(${variable})
    list(APPEND LibTorchCuda_INCLUDE_DIRS ${${variable}})
  else()
    list(APPEND LibTorchCuda_MISSING ${header})
  endif()
endforeach()
list(REMOVE_DUPLICATES LibTorchCuda_INCLUDE_DIRS)
set(TENON_CUDA_OF ${LibTorch_ROOT_FOUND} CACHE INTERNAL "The LibTorch that the headers were searched for")

# The CUDA major version is part of the library names, and of the LibTorch build: "+cu130".
set(LibTorchCuda_VERSION "")
if(TENON_CUDA_cuda_runtime_api_h)
  file(STRINGS ${TENON_CUDA_cuda_runtime_api_h}/cuda_runtime_api.h line REGEX "#define CUDART_VERSION +[0-9]+")
  string(REGEX REPLACE ".* ([0-9]+)[0-9][0-9][0-9]$" "\\1" LibTorchCuda_VERSION "${line}")
endif()
if(LibTorch_BUILD MATCHES "\\+cu([0-9]+)[0-9]," AND LibTorchCuda_VERSION AND NOT CMAKE_MATCH_1 EQUAL LibTorchCuda_VERSION)
  list(APPEND LibTorchCuda_MISSING
       "headers of CUDA ${CMAKE_MATCH_1} (found CUDA ${LibTorchCuda_VERSION} in ${TENON_CUDA_cuda_runtime_api_h})")
endif()

# ProcessGroupNCCL::Options contains an ncclConfig_t, which gets new fields in new minor versions. Tenon allocates
# Options and LibTorch constructs it, so both must be compiled with the same ncclConfig_t. The wheel's metadata has the
# version that LibTorch was compiled with.
set(built_with "")
file(GLOB metadata ${LibTorch_ROOT_FOUND}/../torch-${LibTorch_VERSION}*.dist-info/METADATA)
if(metadata)
  list(GET metadata 0 metadata)
  file(STRINGS ${metadata} line REGEX "^Requires-Dist: nvidia-nccl-cu[0-9]+==")
  if(line MATCHES "==([0-9]+\\.[0-9]+)")
    set(built_with ${CMAKE_MATCH_1})
  endif()
endif()
foreach(folder IN LISTS LibTorchCuda_INCLUDE_DIRS)
  if(built_with AND EXISTS ${folder}/nccl.h)
    file(STRINGS ${folder}/nccl.h lines REGEX "^#define NCCL_(MAJOR|MINOR) +[0-9]+")
    string(REGEX REPLACE "[^;]*MAJOR +([0-9]+);[^;]*MINOR +([0-9]+).*" "\\1.\\2" found "${lines}")
    if(NOT found STREQUAL built_with)
      list(APPEND LibTorchCuda_MISSING "headers of NCCL ${built_with} (found ${found} in ${folder})")
    endif()
  endif()
endforeach()

# Headers of a wrong version are searched again at the next configuration, all of them from the same place.
if(LibTorchCuda_MISSING)
  foreach(variable IN LISTS variables)
    unset(${variable} CACHE)
  endforeach()
endif()

if(NOT LibTorchCuda_MISSING AND NOT TARGET LibTorch::Cuda)
  add_library(LibTorch::c10_cuda SHARED IMPORTED)
  set_target_properties(LibTorch::c10_cuda PROPERTIES IMPORTED_LOCATION ${LibTorch_ROOT_FOUND}/lib/libc10_cuda.so)
  add_library(LibTorch::Cuda SHARED IMPORTED)
  set_target_properties(
    LibTorch::Cuda PROPERTIES IMPORTED_LOCATION ${LibTorch_ROOT_FOUND}/lib/libtorch_cuda.so
                              INTERFACE_INCLUDE_DIRECTORIES "${LibTorchCuda_INCLUDE_DIRS}")
  target_link_libraries(LibTorch::Cuda INTERFACE LibTorch::c10_cuda LibTorch::LibTorch)
endif()
include(FindPackageHandleStandardArgs)
string(REPLACE ";" ", " reason "${LibTorchCuda_MISSING}")
if(TARGET LibTorch::Cuda)
  set(LibTorchCuda_USABLE TRUE)
endif()
find_package_handle_standard_args(
  LibTorchCuda
  REQUIRED_VARS LibTorchCuda_USABLE
  VERSION_VAR LibTorchCuda_VERSION
  REASON_FAILURE_MESSAGE "missing: ${reason}")
