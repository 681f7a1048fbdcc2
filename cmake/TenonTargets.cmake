# Functions that declare modules and tests. plugin_api/cmake/TenonAddPlugin.cmake declares plugins.

# Builds the precompiled LibTorch headers that all targets share: tensors, operators and their gradients.
# <torch/torch.h> is not among them: GCC instantiates the pending templates of a precompiled header again in each file,
# and those of torch::nn cost 8 s per file.
function(tenon_precompile_torch)
  add_library(tenon_torch_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(tenon_torch_pch PRIVATE LibTorch::LibTorch)
  target_precompile_headers(tenon_torch_pch PRIVATE <torch/types.h> <torch/utils.h>)
  tenon_cache_precompiled(tenon_torch_pch)
  add_library(tenon_torch_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/torch_fmt.cpp)
  target_link_libraries(tenon_torch_fmt PRIVATE LibTorch::LibTorch)
endfunction()

# tenon_use_torch(TARGET): links LibTorch and uses the precompiled headers.
function(tenon_use_torch target)
  target_link_libraries(${target} PUBLIC LibTorch::LibTorch PRIVATE tenon_torch_fmt)
  target_precompile_headers(${target} REUSE_FROM tenon_torch_pch)
  tenon_cache_precompiled(${target})
endfunction()

# ccache only caches files that use a precompiled header with these options.
function(tenon_cache_precompiled target)
  target_compile_options(
    ${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>
                      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

# Reading the headers takes longer than compiling most files. With 16 files per compilation, a clean build takes a
# quarter of the time. Equal names in the anonymous namespaces of two files of a target then collide, which the compiler
# reports. ONE_BY_ONE is for targets with many such names.
option(TENON_COMPILE_TOGETHER "Compile several files of a target together (unity build)" ON)
function(tenon_compile_together target)
  if(TENON_COMPILE_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# tenon_compile_quickly(TARGET): for code without loops over samples or elements. GCC compiles our files with -O1 in 0.65 to 0.75
# of the time that it needs with -O3.
function(tenon_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
endfunction()

# tenon_add_module(NAME [TORCH] [ONE_BY_ONE] SOURCES FILE... [LINKS TARGET...]): adds the module NAME,
# which is the static library tenon_NAME.
function(tenon_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 MODULE "TORCH;ONE_BY_ONE" "" "SOURCES;LINKS")
  tenon_refuse_leftovers(tenon_add_module MODULE)
  add_library(tenon_${name} STATIC ${MODULE_SOURCES})
  if(NOT MODULE_ONE_BY_ONE)
    tenon_compile_together(tenon_${name})
  endif()
  target_include_directories(tenon_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(tenon_${name} PUBLIC tenon_plugin_api ${MODULE_LINKS})
  if(MODULE_TORCH)
    tenon_use_torch(tenon_${name})
  endif()
endfunction()

# tenon_add_test(NAME [TORCH] [ONE_BY_ONE] [BY_FILE] [SLOW] [SOAK] SOURCES FILE... [LINKS TARGET...] [NEEDS TARGET...]
#                [FIXTURE NAME] [DEFINES NAME=VALUE...] [LABELS LABEL...]): adds the program test_NAME and its tests.
#
# Each test case is a CTest test NAME.CASE. With BY_FILE or TORCH each source file FILE_test.cpp is a test NAME.FILE:
# BY_FILE is for files with cases that share an expensive object, and a program with LibTorch takes 0.3 s to start.
# SOAK: also adds the test soak.NAME with the cases of the test suite "soak", which are otherwise skipped.
# NEEDS: targets that are built first, such as the plugins that the program loads. Tests have the label `quick`, except
# those that need the host and those that are SLOW. FIXTURE: a fixture of CTest that is set up first.
# TENON_SOURCE_DIR and TENON_BINARY_DIR are string macros in the program. tests/test_folder.h has the output folder.
function(tenon_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "TORCH;ONE_BY_ONE;BY_FILE;SLOW;SOAK" "FIXTURE" "SOURCES;LINKS;NEEDS;DEFINES;LABELS")
  tenon_refuse_leftovers(tenon_add_test TEST)
  if(NOT TARGET tenon_test_main)
    add_library(tenon_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/doctest_main.cpp
                                       ${PROJECT_SOURCE_DIR}/tests/test_folder.cpp)
    target_include_directories(tenon_test_main PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(tenon_test_main PRIVATE TENON_BINARY_DIR="${PROJECT_BINARY_DIR}")
    target_link_libraries(tenon_test_main PUBLIC doctest::doctest)
    # Each assertion is one call. An exception in it ends the test case, which fails.
    # LibTorch defines the other macro, and GCC uses a precompiled header only with equal macros.
    target_compile_definitions(tenon_test_main PUBLIC DOCTEST_CONFIG_SUPER_FAST_ASSERTS _GLIBCXX_USE_CXX11_ABI=1)
    # The precompiled headers of tests without LibTorch.
    add_library(tenon_test_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
    target_link_libraries(tenon_test_pch PRIVATE tenon_test_main nlohmann_json::nlohmann_json)
    target_precompile_headers(tenon_test_pch PRIVATE <algorithm> <filesystem> <fstream> <functional> <map> <regex> <sstream>
                              <string> <vector> <doctest/doctest.h> <nlohmann/json.hpp>)
    tenon_cache_precompiled(tenon_test_pch)
  endif()
  add_executable(test_${name} ${TEST_SOURCES})
  if(NOT TEST_ONE_BY_ONE)
    tenon_compile_together(test_${name})
  endif()
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(test_${name} PRIVATE tenon_test_main ${TEST_LINKS})
  target_compile_definitions(
    test_${name} PRIVATE TENON_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TENON_BINARY_DIR="${PROJECT_BINARY_DIR}"
                         ${TEST_DEFINES})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
  if(TEST_TORCH)
    tenon_use_torch(test_${name})
  elseif(NOT TEST_SOURCES MATCHES "\\.c(;|$)")
    target_precompile_headers(test_${name} REUSE_FROM tenon_test_pch)
    tenon_cache_precompiled(test_${name})
  endif()
  if(TEST_NEEDS)
    add_dependencies(test_${name} ${TEST_NEEDS})
  endif()
  if(NOT host IN_LIST TEST_NEEDS AND NOT TEST_SLOW)
    list(APPEND TEST_LABELS quick)
  endif()
  if(TEST_TORCH OR TEST_BY_FILE)
    tenon_register_files(${name})
  else()
    tenon_register_cases(${name})
  endif()
  if(TEST_SOAK)
    add_test(NAME soak.${name} COMMAND test_${name} --test-suite=soak --no-skip)
    set_tests_properties(soak.${name} PROPERTIES LABELS soak TIMEOUT 3600 FIXTURES_REQUIRED "${TEST_FIXTURE}")
  endif()
endfunction()

# Adds a test for each source file with test cases. The filter for a file without cases would match nothing and pass.
macro(tenon_register_files name)
  foreach(source IN LISTS TEST_SOURCES)
    cmake_path(GET source STEM file)
    if(file MATCHES "^(.*)_test$")
      set(test ${name}.${CMAKE_MATCH_1})
      add_test(NAME ${test} COMMAND test_${name} --source-file=*/${file}.cpp)
      set_tests_properties(${test} PROPERTIES TIMEOUT 600 LABELS "${TEST_LABELS}"
                                              FIXTURES_REQUIRED "${TEST_FIXTURE}"
                                              FAIL_REGULAR_EXPRESSION "test cases: +0 ")
    endif()
  endforeach()
endmacro()

# Adds a test for each case. doctest lists the cases after each build of the program.
macro(tenon_register_cases name)
  include(doctest)
  set(fixture)
  if(TEST_FIXTURE)
    set(fixture FIXTURES_REQUIRED ${TEST_FIXTURE})
  endif()
  doctest_discover_tests(test_${name} TEST_PREFIX ${name}. PROPERTIES TIMEOUT 600 ${fixture})
  # doctest_discover_tests cannot pass more than one label, but it lists the tests in test_NAME_TESTS.
  if(TEST_LABELS)
    set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/test_${name}_labels.cmake)
    file(WRITE ${labels_file} "set_tests_properties(\${test_${name}_TESTS} PROPERTIES LABELS \"${TEST_LABELS}\")\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
  endif()
endmacro()

function(tenon_refuse_leftovers function prefix)
  if(${prefix}_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}: unknown argument ${${prefix}_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ${prefix}_SOURCES)
    message(FATAL_ERROR "${function}: SOURCES is empty; expected at least one file")
  endif()
endfunction()

# Sets `host` to the program that writes the note of the plugin, and makes the plugin link after it. A dependency on the
# target would link the host before the plugin's sources are compiled.
function(tenon_link_after_host name host)
  if(NOT CMAKE_GENERATOR MATCHES "Ninja" OR CMAKE_CROSSCOMPILING)
    set(${host} $<TARGET_FILE:Tenon::host> PARENT_SCOPE)
    return()
  endif()
  set(${host} ${PROJECT_BINARY_DIR}/bin/host PARENT_SCOPE)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/host/linked)
endfunction()

# tenon_install_library(FILE...): libraries outside the folders of the system. Installs them into lib/tenon, and links them
# where the plugins and the image library of the build tree search.
function(tenon_install_library)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/tenon)
  foreach(file IN LISTS ARGN)
    file(REAL_PATH ${file} real)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${real} OUTPUT_VARIABLE headers OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX MATCH "SONAME +([^ \n]+)" _ "${headers}")
    set(name ${CMAKE_MATCH_1})
    file(CREATE_LINK ${real} ${PROJECT_BINARY_DIR}/${name} SYMBOLIC)
    file(CREATE_LINK ${real} ${PROJECT_BINARY_DIR}/lib/tenon/${name} SYMBOLIC)
    install(FILES ${real} DESTINATION lib/tenon RENAME ${name})
  endforeach()
endfunction()

# Puts bundled plugins into plugins/ in the build tree, where the host searches. Plugins of tests stay in the folder of
# their CMakeLists.txt.
function(tenon_place_bundled_plugin name)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE place)
  if(place MATCHES "^plugins/")
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins)
    tenon_compile_together(${name})
    # The loops of datasets and metrics, and of the interpreter of exported models, are compiled with -O3.
    if(place MATCHES "^plugins/(models|losses|callbacks)/" AND NOT name STREQUAL "exported")
      tenon_compile_quickly(${name})
    endif()
    set_property(GLOBAL APPEND PROPERTY TENON_BUNDLED_PLUGINS ${name})
    # The same in the build tree, which has links to the libraries that an installation has in lib/tenon. CMake would end an
    # RPATH that it replaces later with an empty path, which the loader takes for the current folder.
    set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
    if(PLUGIN_TORCH)
      set_property(GLOBAL APPEND PROPERTY TENON_NATIVE_PLUGINS ${name})
      set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../..")
      install(TARGETS ${name} LIBRARY DESTINATION ${TENON_ENGINE}/plugins COMPONENT engine)
      # Earlier installations had it next to the portable plugins.
      install(CODE "file(REMOVE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/tenon/plugins/${name}.so\")" COMPONENT engine)
    else()
      set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
      install(TARGETS ${name} LIBRARY DESTINATION lib/tenon/plugins)
    endif()
  else()
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()
endfunction()
