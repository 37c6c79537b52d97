# The three zones and their language rules (docs/internals/architecture.md).
#   shared   pure code that both sides use; obeys the runtime's rules
#   runtime  lives inside somebody else's process: libc only
#   analysis offline code and the command line: ordinary C++20
include_guard()

add_library(geiger_warnings INTERFACE)
target_compile_options(geiger_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wcast-align -Wundef
  $<$<BOOL:${GEIGER_WERROR}>:-Werror>)

# Rooms, the public headers, and `heap`, which is a room beside them.
set(GEIGER_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})

set(GEIGER_RUNTIME_FLAGS
  -fPIC -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden
  -fvisibility-inlines-hidden -fasynchronous-unwind-tables
  -ftls-model=initial-exec -fno-plt -fno-math-errno -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND GEIGER_RUNTIME_FLAGS -fconstexpr-steps=16777216)  # The filter is a million atomics.
endif()

# GCC tidies its memory up every time that it has grown by a third, a tenth of its time; up to a
# GiB it need not.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)

# Rooms of the analysis zone that compute. What the others do (they read options, write text, wait for
# programs, look names up through libraries) takes as long at -O1, and compiling them takes a quarter less.
set(GEIGER_ROOMS_THAT_COMPUTE
  geiger_api geiger_compare geiger_content geiger_estimation geiger_fleet geiger_holders geiger_ingest
  geiger_observe geiger_profile)

# geiger_compile_briefly(TARGET): at -O1, in the builds that optimize.
function(geiger_compile_briefly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
endfunction()

# geiger_unite(TARGET): with GEIGER_UNITY, its sources are compiled forty at a time, as most of
# the time goes into headers and what they instantiate. So names in anonymous namespaces must differ
# within a room. Not for what lives in programs: the runtime's code is the same in every build. Debug
# information has lines and functions only, which takes a fifth off and changes no instruction.
function(geiger_unite target)
  if(GEIGER_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 40)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-g1>)
  endif()
endfunction()

# _geiger_headers(NAME FILE HEADERS...): precompiled for targets that reuse them from NAME; FILE is an
# empty source for the compiler to have one.
function(_geiger_headers name file)
  if(NOT EXISTS ${PROJECT_BINARY_DIR}/${file})
    file(WRITE ${PROJECT_BINARY_DIR}/${file} "")
  endif()
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${file})
  target_precompile_headers(${name} PRIVATE ${ARGN})
  target_link_libraries(${name} PRIVATE geiger_warnings)
endfunction()

# The headers that most of the runtime includes, parsed once in builds from scratch: that takes two fifths
# off, and every object is the same. Not where debug information must not depend on where it was made.
set(GEIGER_RUNTIME_HEADERS <algorithm> <array> <atomic> <bit> <cstddef> <cstdint> <cstring> <limits>
  <optional> <span> <string_view> <type_traits> <utility>)
set(GEIGER_PRECOMPILES_RUNTIME OFF)
if(GEIGER_UNITY AND NOT CMAKE_CXX_FLAGS MATCHES "prefix-map")
  set(GEIGER_PRECOMPILES_RUNTIME ON)
endif()

# geiger_precompile_runtime(TARGET HEADERS): HEADERS is a target with the same flags, made here.
function(geiger_precompile_runtime target headers)
  get_target_property(sources ${target} SOURCES)
  if(NOT GEIGER_PRECOMPILES_RUNTIME OR NOT sources MATCHES "\\.cc")
    return()
  endif()
  if(NOT TARGET ${headers})
    _geiger_headers(${headers} runtime_headers.cc ${GEIGER_RUNTIME_HEADERS})
    get_target_property(options ${target} COMPILE_OPTIONS)
    target_compile_options(${headers} PRIVATE ${options})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# geiger_room(NAME ZONE SOURCES... [DEPENDS targets...])
# One static library per folder, compiled once per zone that needs it: rooms of
# the shared zone get a second archive, NAME_rt, with the runtime's flags.
function(geiger_room name zone)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${ARG_UNPARSED_ARGUMENTS})
  endif()
  if(zone STREQUAL "shared" OR zone STREQUAL "runtime")
    _geiger_archive(${name}_rt "${ARG_SOURCES}" "")
    get_target_property(kind ${name}_rt TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")
      set(scope INTERFACE)
    else()
      set(scope PUBLIC)
      target_compile_options(${name}_rt PRIVATE ${GEIGER_RUNTIME_FLAGS})
      target_compile_definitions(${name}_rt PRIVATE GEIGER_IN_RUNTIME)
      geiger_precompile_runtime(${name}_rt geiger_runtime_headers)
    endif()
    foreach(dep IN LISTS ARG_DEPENDS)
      target_link_libraries(${name}_rt ${scope} ${dep}_rt)
    endforeach()
  endif()
  if(zone STREQUAL "shared" OR zone STREQUAL "analysis")
    _geiger_archive(${name} "${ARG_SOURCES}" "${ARG_DEPENDS}")
  endif()
  if(zone STREQUAL "analysis")
    geiger_unite(${name})
    if(NOT name IN_LIST GEIGER_ROOMS_THAT_COMPUTE)
      geiger_compile_briefly(${name})
    endif()
  endif()
endfunction()

function(_geiger_archive target sources depends)
  list(LENGTH sources count)
  if(count EQUAL 0)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${GEIGER_INCLUDE_DIRECTORIES})
    target_link_libraries(${target} INTERFACE ${depends})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${GEIGER_INCLUDE_DIRECTORIES})
  target_link_libraries(${target} PUBLIC ${depends} PRIVATE geiger_warnings)
  if(GEIGER_COVERAGE)
    geiger_count_room(${target})
  endif()
endfunction()

# geiger_module(NAME SOURCES... [DEPENDS targets...]): a shared object for libraries that few verbs
# need; NAME as geiger_http is lib/geiger/libgeiger-http.so. src/modules loads it.
function(geiger_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  string(REPLACE "_" "-" file ${name})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME ${file} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/geiger)
  target_include_directories(${name} PRIVATE ${GEIGER_INCLUDE_DIRECTORIES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} geiger_warnings)
  geiger_unite(${name})
  geiger_compile_briefly(${name})
  install(TARGETS ${name} LIBRARY DESTINATION lib/geiger)
  set_property(GLOBAL APPEND PROPERTY GEIGER_MODULES ${name})
endfunction()

# geiger_compile_as_test(TARGET LEVEL): tests, and programs for them, take longer to compile than to run,
# so they are optimized less, at -O0 or -O1; what they test is compiled as it is released.
function(geiger_compile_as_test target level)
  if(CMAKE_CROSSCOMPILING)
    target_compile_options(${target} PRIVATE -O${level})
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O${level} -g1>)
  endif()
endfunction()

# geiger_checked_room(NAME ROOMS...): the sources of rooms of the runtime once more, with every
# assertion.
function(geiger_checked_room name)
  set(sources)
  foreach(room IN LISTS ARGN)
    get_target_property(folder ${room} SOURCE_DIR)
    get_target_property(files ${room} SOURCES)
    list(TRANSFORM files PREPEND ${folder}/)
    list(APPEND sources ${files})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${GEIGER_INCLUDE_DIRECTORIES})
  target_compile_options(${name} PRIVATE ${GEIGER_RUNTIME_FLAGS})
  target_compile_definitions(${name}
    PUBLIC GEIGER_ASSERTIONS GEIGER_EXPENSIVE_ASSERTIONS GEIGER_SAMPLING_COMPILED
    PRIVATE GEIGER_IN_RUNTIME GEIGER_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE geiger_warnings)
  geiger_compile_as_test(${name} 1)
  geiger_precompile_runtime(${name} geiger_checked_headers)
endfunction()

# The headers of GoogleTest, compiled once for all tests of a build from scratch: most unit tests are
# not optimized; the others calculate.
if(GEIGER_BUILD_TESTS AND GEIGER_UNITY)
  foreach(level 0 1)
    set(headers geiger_test_headers_${level})
    _geiger_headers(${headers} test_headers.cc <gmock/gmock.h> <gtest/gtest.h>)
    target_link_libraries(${headers} PRIVATE GTest::gmock)
    geiger_compile_as_test(${headers} ${level})
  endforeach()
endif()

# Unit tests that calculate as well: the model of the heap takes millions of steps.
set(GEIGER_UNIT_TESTS_THAT_COMPUTE heap_test)
if(CMAKE_CROSSCOMPILING)  # Emulated: ten times as long.
  list(APPEND GEIGER_UNIT_TESTS_THAT_COMPUTE sampling_test)
endif()

# geiger_test(NAME LABEL SOURCES... [DEPENDS targets...]): a GoogleTest program.
function(geiger_test name label)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${ARG_UNPARSED_ARGUMENTS})
  endif()
  if(NOT GEIGER_BUILD_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set(level 1)
  if(label STREQUAL "unit" AND NOT name IN_LIST GEIGER_UNIT_TESTS_THAT_COMPUTE)
    set(level 0)
  endif()
  geiger_compile_as_test(${name} ${level})
  if(TARGET geiger_test_headers_${level})
    target_precompile_headers(${name} REUSE_FROM geiger_test_headers_${level})
  endif()
  list(LENGTH ARG_SOURCES count)
  if(count GREATER 1)
    geiger_unite(${name})
  endif()
  target_include_directories(${name} PRIVATE ${GEIGER_INCLUDE_DIRECTORIES})
  target_compile_definitions(${name} PRIVATE GEIGER_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             GEIGER_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main geiger_warnings)
  if(GEIGER_COVERAGE)
    geiger_count_room(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT 900)
  geiger_tier(${name})
  if(label STREQUAL "statistical")
    # Simulations make large vectors anew in each repetition: the C library keeps their pages, as
    # every first touch of one is a page fault.
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
      "MALLOC_MMAP_THRESHOLD_=33554432;MALLOC_TRIM_THRESHOLD_=1073741824")
  endif()
endfunction()
