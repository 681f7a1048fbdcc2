# tenon_add_plugin(NAME [TORCH] [NO_NOTE] SOURCES FILE... [LINKS TARGET...])
#
# Builds the plugin NAME.so from C11 or C++17 (or later) sources, and from CUDA C++ sources after enable_language(CUDA).
# It exports only tenon_plugin_open, and must link every library that it uses. After linking, the host loads the plugin,
# checks its description, and writes it into the file as a note. Hosts can then list the plugin without running its code.
#   TORCH     a native plugin, which uses LibTorch: it loads only in hosts with the same minor version of LibTorch
#   NO_NOTE   adds no note: for a plugin that cannot be loaded on the build machine
#   LINKS     additional libraries of the plugin
include_guard(GLOBAL)
set(TENON_ADD_PLUGIN_DIR ${CMAKE_CURRENT_LIST_DIR})

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 PLUGIN "TORCH;NO_NOTE" "" "SOURCES;LINKS")
  if(PLUGIN_UNPARSED_ARGUMENTS AND NOT PLUGIN_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): found ${PLUGIN_UNPARSED_ARGUMENTS}; expected SOURCES before the files")
  endif()
  if(PLUGIN_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${name}): unknown argument ${PLUGIN_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT PLUGIN_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): SOURCES is empty; expected the plugin's source files")
  endif()
  add_library(${name} MODULE ${PLUGIN_SOURCES})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               DEFINE_SYMBOL ""
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               CUDA_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               LINK_DEPENDS ${TENON_ADD_PLUGIN_DIR}/plugin_symbols.map)
  # Plugins with the same inline variables would share unique symbols.
  target_compile_options(
    ${name} PRIVATE -fPIC $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
  target_link_options(${name} PRIVATE -Wl,--version-script=${TENON_ADD_PLUGIN_DIR}/plugin_symbols.map)
  # C++ links libm by default; C does not.
  target_link_libraries(${name} PRIVATE Tenon::plugin_api ${PLUGIN_LINKS} m)
  if(PLUGIN_TORCH)
    tenon_use_torch_in_plugin(${name})
  elseif(NOT "${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
    # Reports a missing library at build time. With sanitizers, the host provides their symbols.
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
  if(COMMAND tenon_place_bundled_plugin)
    tenon_place_bundled_plugin(${name})
  endif()
  if(NOT PLUGIN_NO_NOTE)
    tenon_add_note(${name})
  endif()
endfunction()

function(tenon_add_note name)
  tenon_find_reason_against_notes(reason)
  if(reason)
    message(STATUS "no note is added to plugin ${name}: ${reason}; run `host note FILE` on a machine with a host")
    return()
  endif()
  set(launcher "")
  if(CMAKE_C_FLAGS MATCHES "-fsanitize" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # Ignores leaks in the libraries of the host.
    set(launcher ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0)
  endif()
  if(PLUGIN_TORCH AND NOT COMMAND tenon_use_torch)
    # The host takes the engine for the LibTorch of the plugin.
    set(launcher ${CMAKE_COMMAND} -E env TENON_LIBTORCH=${LibTorch_ROOT_FOUND} ${CMAKE_CROSSCOMPILING_EMULATOR})
  endif()
  set(objcopy "")
  if(CMAKE_OBJCOPY)
    set(objcopy --objcopy ${CMAKE_OBJCOPY})
  endif()
  if(COMMAND tenon_link_after_host)
    tenon_link_after_host(${name} host)
    list(PREPEND host ${CMAKE_CROSSCOMPILING_EMULATOR})
  elseif(launcher)
    set(host $<TARGET_FILE:Tenon::host>)
  else()
    set(host Tenon::host) # with CMAKE_CROSSCOMPILING_EMULATOR before it
  endif()
  add_custom_command(
    TARGET ${name}
    POST_BUILD
    COMMAND ${launcher} ${host} note $<TARGET_FILE:${name}> ${objcopy}
    VERBATIM)
endfunction()

# Sets `result` to the reason why the host cannot write notes, or to an empty string.
function(tenon_find_reason_against_notes result)
  set(${result} "" PARENT_SCOPE)
  if(NOT TARGET Tenon::host)
    set(${result} "this package contains no host" PARENT_SCOPE)
    return()
  endif()
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(${result} "it is cross-compiled" PARENT_SCOPE)
    return()
  endif()
  get_target_property(is_installed Tenon::host IMPORTED)
  if(NOT is_installed)
    return()
  endif()
  if(CMAKE_C_FLAGS MATCHES "-fsanitize" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(${result} "a host without the sanitizers cannot load it" PARENT_SCOPE)
    return()
  endif()
  get_target_property(host Tenon::host LOCATION)
  get_property(is_known GLOBAL PROPERTY TENON_HOST_EXIT_CODE SET)
  if(NOT is_known)
    execute_process(
      COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${host} --version
      RESULT_VARIABLE code
      OUTPUT_QUIET ERROR_QUIET)
    set_property(GLOBAL PROPERTY TENON_HOST_EXIT_CODE "${code}")
  endif()
  get_property(code GLOBAL PROPERTY TENON_HOST_EXIT_CODE)
  if(NOT code STREQUAL 0)
    set(${result} "${host} does not run here (${code})" PARENT_SCOPE)
  endif()
endfunction()

# In Tenon's build, modules and plugins share a precompiled header. In other builds, this finds LibTorch.
function(tenon_use_torch_in_plugin name)
  if(COMMAND tenon_use_torch)
    tenon_use_torch(${name})
    return()
  endif()
  list(PREPEND CMAKE_MODULE_PATH ${TENON_ADD_PLUGIN_DIR})
  find_package(LibTorch REQUIRED)
  set(LibTorch_ROOT_FOUND ${LibTorch_ROOT_FOUND} PARENT_SCOPE)
  if(NOT LibTorch_MINOR IN_LIST Tenon_LIBTORCH_VERSIONS)
    string(REPLACE ";" ", " versions "${Tenon_LIBTORCH_VERSIONS}")
    message(WARNING "plugin ${name} is built with LibTorch ${LibTorch_VERSION}; the installed host runs with "
                    "${versions} and will reject the plugin; set -DTENON_LIBTORCH=DIR to such a version")
    set(PLUGIN_NO_NOTE TRUE PARENT_SCOPE) # the host writes no notes for plugins that it rejects
  endif()
  target_link_libraries(${name} PRIVATE LibTorch::LibTorch)
endfunction()
