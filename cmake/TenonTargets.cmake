# How rooms and tests are declared. Plugins: plugin_api/cmake/TenonAddPlugin.cmake.

# Makes the precompiled LibTorch headers that all of this tree shares: tensors, operators and their gradients. Not
# <torch/torch.h>: GCC instantiates the templates that a precompiled header is left with anew in each file, and those of
# torch::nn cost every one of them 8 s.
function(tenon_precompile_torch)
  add_library(tenon_torch_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/torch_pch.cpp)
  target_link_libraries(tenon_torch_pch PRIVATE LibTorch::LibTorch)
  target_precompile_headers(tenon_torch_pch PRIVATE <torch/types.h> <torch/utils.h>)
  tenon_cache_precompiled(tenon_torch_pch)
endfunction()

# tenon_use_torch(TARGET): links LibTorch and compiles through the precompiled headers.
function(tenon_use_torch target)
  target_link_libraries(${target} PUBLIC LibTorch::LibTorch)
  target_precompile_headers(${target} REUSE_FROM tenon_torch_pch)
  tenon_cache_precompiled(${target})
endfunction()

# ccache keeps what goes through a precompiled header only with these.
function(tenon_cache_precompiled target)
  target_compile_options(
    ${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>
                      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

# The compiler reads the same headers for every file, which takes longer than most files themselves: sixteen at a time, a
# clean build takes a quarter of the time. Names that two files of a target have in their anonymous namespaces then
# collide, which the compiler reports. ONE_BY_ONE is for targets in which that is the rule.
option(TENON_COMPILE_TOGETHER "Compile several files of a target at a time" ON)
function(tenon_compile_together target)
  if(TENON_COMPILE_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# tenon_add_room(NAME [TORCH] [ONE_BY_ONE] SOURCES FILE... [LINKS TARGET...]): the static library tenon_NAME.
function(tenon_add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ROOM "TORCH;ONE_BY_ONE" "" "SOURCES;LINKS")
  tenon_refuse_leftovers(tenon_add_room ROOM)
  add_library(tenon_${name} STATIC ${ROOM_SOURCES})
  if(NOT ROOM_ONE_BY_ONE)
    tenon_compile_together(tenon_${name})
  endif()
  target_include_directories(tenon_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(tenon_${name} PUBLIC tenon_plugin_api ${ROOM_LINKS})
  if(ROOM_TORCH)
    tenon_use_torch(tenon_${name})
  endif()
endfunction()

# tenon_add_test(NAME [TORCH] [ONE_BY_ONE] [BY_FILE] [SLOW] [SOAK] SOURCES FILE... [LINKS TARGET...] [NEEDS TARGET...]
#                [DEFINES NAME=VALUE...] [LABELS LABEL...]): the program test_NAME and its tests.
#
# CTest knows each test case as NAME.CASE. With BY_FILE or TORCH it knows each source file FILE_test.cpp as NAME.FILE:
# BY_FILE is for files whose cases share an expensive object, and a program that loads LibTorch needs 0.3 s to start.
# SOAK: the cases of the test suite "soak", which are skipped otherwise, run as soak.NAME.
# NEEDS: targets that are built before, such as the plugins that the program loads. Tests have the label `quick`, except
# those that need the host and those that are SLOW.
# The program sees TENON_SOURCE_DIR and TENON_BINARY_DIR as text; tests/test_folder.h has the folder to write to.
function(tenon_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "TORCH;ONE_BY_ONE;BY_FILE;SLOW;SOAK" "" "SOURCES;LINKS;NEEDS;DEFINES;LABELS")
  tenon_refuse_leftovers(tenon_add_test TEST)
  if(NOT TARGET tenon_test_main)
    add_library(tenon_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/doctest_main.cpp
                                       ${PROJECT_SOURCE_DIR}/tests/test_folder.cpp)
    target_include_directories(tenon_test_main PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(tenon_test_main PRIVATE TENON_BINARY_DIR="${PROJECT_BINARY_DIR}")
    target_link_libraries(tenon_test_main PUBLIC doctest::doctest)
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
    set_tests_properties(soak.${name} PROPERTIES LABELS soak TIMEOUT 14400)
  endif()
endfunction()

# A test for each source file with test cases. The filter of a file that has none would match nothing and pass.
macro(tenon_register_files name)
  foreach(source IN LISTS TEST_SOURCES)
    cmake_path(GET source STEM file)
    if(file MATCHES "^(.*)_test$")
      set(test ${name}.${CMAKE_MATCH_1})
      add_test(NAME ${test} COMMAND test_${name} --source-file=*/${file}.cpp)
      set_tests_properties(${test} PROPERTIES TIMEOUT 600 LABELS "${TEST_LABELS}"
                                              FAIL_REGULAR_EXPRESSION "test cases: +0 ")
    endif()
  endforeach()
endmacro()

# A test for each case, which doctest lists after each build of the program.
macro(tenon_register_cases name)
  include(doctest)
  doctest_discover_tests(test_${name} TEST_PREFIX ${name}. PROPERTIES TIMEOUT 600)
  # More than one label does not pass through doctest's function, which lists the tests in test_NAME_TESTS.
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
    message(FATAL_ERROR "${function}: SOURCES is empty; name the files")
  endif()
endfunction()

# Sets `host` to the program that writes the note of the plugin, and has the plugin linked after it. Named by its target,
# the host would be linked before the plugin's sources are compiled.
function(tenon_link_after_host name host)
  if(NOT CMAKE_GENERATOR MATCHES "Ninja" OR CMAKE_CROSSCOMPILING)
    set(${host} $<TARGET_FILE:Tenon::host> PARENT_SCOPE)
    return()
  endif()
  set(${host} ${PROJECT_BINARY_DIR}/bin/host PARENT_SCOPE)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/host/linked)
endfunction()

# Bundled plugins go where the host looks, plugins/ of the build tree; those of tests stay in their own folders.
function(tenon_place_bundled_plugin name)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE place)
  if(place MATCHES "^plugins/")
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins)
    set_property(GLOBAL APPEND PROPERTY TENON_BUNDLED_PLUGINS ${name})
    install(TARGETS ${name} LIBRARY DESTINATION lib/tenon/plugins)
  else()
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()
endfunction()
