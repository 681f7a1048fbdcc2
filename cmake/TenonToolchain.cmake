# Sets the language, the warnings and the tools of all targets.
set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

# All objects are compiled with the same flags, because modules, programs and plugins share one precompiled header.
# Executables therefore also get -fPIC. CMake would use -fPIE, and the compiler would then ignore the header.
add_compile_options(
  -Wall
  -Wextra
  -fPIC
  # Processors with and without fused multiplication and addition compute the same numbers.
  -ffp-contract=off
  # Messages contain file names relative to the repository's root.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  # Unique symbols would keep a plugin in memory and merge its statics with those of other plugins.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)

# GCC collects garbage when its heap has grown by a third, and by at least this many KiB: with the default of 128 MiB it spends a
# tenth of its time on it.
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:--param=ggc-min-heapsize=524288>")

# The loader searches an RPATH before LD_LIBRARY_PATH, and a RUNPATH after it. Another LibTorch in LD_LIBRARY_PATH must
# not replace the one that the host was built with.
add_link_options(-Wl,--disable-new-dtags)

# GCC 12 reports false positives in std::string: overlapping copies and overflows (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()

find_program(TENON_MOLD mold)
mark_as_advanced(TENON_MOLD)
if(TENON_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(TENON_CCACHE ccache)
mark_as_advanced(TENON_CCACHE)
if(TENON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these two settings ccache does not cache files that use a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TENON_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
