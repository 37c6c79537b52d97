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
