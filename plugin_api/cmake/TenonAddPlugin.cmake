# tenon_add_plugin(NAME [TORCH] [NO_NOTE] SOURCES FILE... [LINKS TARGET...])
#
# Builds the plugin NAME.so from C11 or C++17 (or later) sources. It exports tenon_plugin_open alone, and every symbol
# that it uses must come from what it links. Once it is linked, the host loads it, checks what it says of itself, and
# writes that into the file as a note, so that listing plugins runs no code of theirs.
#   TORCH     a native plugin, written over LibTorch: it loads in hosts with the very same LibTorch build only
#   NO_NOTE   without the note: for a plugin that cannot be loaded on the machine which builds it
#   LINKS     further libraries of the plugin
include_guard(GLOBAL)
set(TENON_ADD_PLUGIN_DIR ${CMAKE_CURRENT_LIST_DIR})

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 PLUGIN "TORCH;NO_NOTE" "" "SOURCES;LINKS")
  if(PLUGIN_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${name}): unknown argument ${PLUGIN_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT PLUGIN_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): SOURCES is empty; name the plugin's files")
  endif()
  add_library(${name} MODULE ${PLUGIN_SOURCES})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               DEFINE_SYMBOL ""
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               LINK_DEPENDS ${TENON_ADD_PLUGIN_DIR}/plugin_symbols.map)
  # Unique symbols would be shared with every other plugin that has the same inline variables.
  target_compile_options(
    ${name} PRIVATE -fPIC $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
  target_link_options(${name} PRIVATE -Wl,--version-script=${TENON_ADD_PLUGIN_DIR}/plugin_symbols.map)
  # libm: C++ has it anyway, and the first dataset in C wants a sine.
  target_link_libraries(${name} PRIVATE Tenon::plugin_api ${PLUGIN_LINKS} m)
  if(PLUGIN_TORCH)
    tenon_use_torch_in_plugin(${name})
  elseif(NOT "${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
    # A missing library shows here, not when a run starts. Sanitizers leave their own symbols to the host.
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
    message(STATUS "plugin ${name} gets no note: ${reason}; where a host runs, `host note FILE` adds it")
    return()
  endif()
  set(launcher "")
  if(CMAKE_C_FLAGS MATCHES "-fsanitize" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # What the host's own libraries do not give back is not the plugin's fault.
    set(launcher ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0)
  endif()
  set(objcopy "")
  if(CMAKE_OBJCOPY)
    set(objcopy --objcopy ${CMAKE_OBJCOPY})
  endif()
  if(COMMAND tenon_link_after_host)
    tenon_link_after_host(${name} host)
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

# Sets `result` to why the host cannot be asked to write notes, or to nothing.
function(tenon_find_reason_against_notes result)
  set(${result} "" PARENT_SCOPE)
  if(NOT TARGET Tenon::host)
    set(${result} "there is no host beside this package" PARENT_SCOPE)
    return()
  endif()
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(${result} "it is built for another machine" PARENT_SCOPE)
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

# Within Tenon's own tree rooms and plugins share one precompiled header; elsewhere LibTorch is looked for.
function(tenon_use_torch_in_plugin name)
  if(COMMAND tenon_use_torch)
    tenon_use_torch(${name})
    return()
  endif()
  list(PREPEND CMAKE_MODULE_PATH ${TENON_ADD_PLUGIN_DIR})
  find_package(LibTorch REQUIRED)
  if(NOT LibTorch_BUILD STREQUAL Tenon_TORCH_BUILD)
    message(WARNING "plugin ${name} is built with LibTorch ${LibTorch_BUILD}; the host installed here runs "
                    "${Tenon_TORCH_BUILD} and will refuse it; pass -DTENON_LIBTORCH=DIR of that one")
    set(PLUGIN_NO_NOTE TRUE PARENT_SCOPE) # nor does it write notes for what it refuses
  endif()
  target_link_libraries(${name} PRIVATE LibTorch::LibTorch)
endfunction()
