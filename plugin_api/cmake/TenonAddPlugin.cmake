# tenon_add_plugin(NAME [TORCH] SOURCES FILE... [LINKS TARGET...])
#
# Builds the plugin NAME.so from C11 or C++17 (or later) sources. It exports tenon_plugin_open alone, and every symbol
# that it uses must come from what it links.
#   TORCH   a native plugin, written over LibTorch: it loads in hosts with the very same LibTorch build only
#   LINKS   further libraries of the plugin
include_guard(GLOBAL)
set(TENON_ADD_PLUGIN_DIR ${CMAKE_CURRENT_LIST_DIR})

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 PLUGIN "TORCH" "" "SOURCES;LINKS")
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
  target_link_libraries(${name} PRIVATE Tenon::plugin_api ${PLUGIN_LINKS})
  if(PLUGIN_TORCH)
    tenon_use_torch_in_plugin(${name})
  elseif(NOT "${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
    # A missing library shows here, not when a run starts. Sanitizers leave their own symbols to the host.
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
  if(COMMAND tenon_place_bundled_plugin)
    tenon_place_bundled_plugin(${name})
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
  endif()
  target_link_libraries(${name} PRIVATE LibTorch::LibTorch)
endfunction()
