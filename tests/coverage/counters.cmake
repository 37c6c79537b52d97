# What the coverage build counts: the rooms of the runtime and of the readers, and their unit
# tests, which hold instances of what stands in headers. All else is built as ever.
set(GEIGER_COUNTED_ROOMS base trace runtime/unwind runtime/probes runtime/capture
  runtime/interpose api analysis/ingest)

# geiger_count_room(TARGET): counts TARGET if the folder that defines it is such a room.
function(geiger_count_room target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src
             OUTPUT_VARIABLE room)
  if(NOT room IN_LIST GEIGER_COUNTED_ROOMS)
    return()
  endif()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-O0;--coverage;-fprofile-update=atomic>)
endfunction()

# geiger_count_in_file(TARGET): the preload library of the coverage build (counters.c).
function(geiger_count_in_file target)
  set(here ${PROJECT_SOURCE_DIR}/tests/coverage)
  target_sources(${target} PRIVATE ${here}/counters.c)
  set_source_files_properties(${here}/counters.c PROPERTIES
    COMPILE_OPTIONS "-fno-profile-arcs;-fno-test-coverage"
    COMPILE_DEFINITIONS "GEIGER_COUNTERS_FILE=\"${PROJECT_BINARY_DIR}/runtime-counters\"")
  target_link_options(${target} PRIVATE -Wl,-T,${here}/counters.ld)
  target_link_libraries(${target} PRIVATE gcov)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${here}/counters.ld)
endfunction()
