# The language, the warnings and the tools of every target in this tree.
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
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

# Every object is compiled with the same flags: one precompiled header serves rooms, programs and plugins alike. That is
# why executables get -fPIC too, which CMake would turn into -fPIE, and the compiler would then set the header aside.
add_compile_options(
  -Wall
  -Wextra
  -fPIC
  # Messages name files from the repository's root.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  # Unique symbols would keep a plugin in memory and merge its statics with those of other plugins.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)

# GCC 12 sees overlapping copies and overflows in std::string where there are none (its bug 105651).
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
  # Without these two ccache passes every file that uses a precompiled header by.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TENON_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
