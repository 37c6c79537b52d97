# Whole-process tests: host programs that run bare and under the runtime, and the
# Python suites that compare what they did.

# geiger_host(NAME SOURCE): an ordinary program or, with SHARED, library. Built as
# a user would build it, without the house flags of the zones.
function(geiger_host name source)
  if("SHARED" IN_LIST ARGN)
    add_library(host_${name} SHARED ${source})
  else()
    add_executable(host_${name} ${source})
    target_link_libraries(host_${name} PRIVATE dl)
  endif()
  find_package(Threads REQUIRED)
  target_link_libraries(host_${name} PRIVATE Threads::Threads)
  # Calls to the allocation functions are the point: none may be folded away.
  target_compile_options(host_${name} PRIVATE -Wall -Wextra -fno-builtin -O2 -g
    $<$<BOOL:${GEIGER_WERROR}>:-Werror>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option -Wno-unknown-attributes>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fsized-deallocation>)
  set_target_properties(host_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hosts
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hosts)
endfunction()

foreach(host acknowledge asleep attached bounded changes content edges empty exits faulty first frames full_cache heap heap_loops holders in_register jumps leaving lifetimes limits list_growing loading loops mappings names news
    outside phases processes registers residency sandboxed signals stacks storms threads traps truth wastes)
  geiger_host(${host} hosts/${host}.cc)
endforeach()
# A fixed address lets the analysis tell sites from the addresses that truth prints.
target_compile_options(host_truth PRIVATE -fno-pie)
target_link_options(host_truth PRIVATE -no-pie)
target_compile_options(host_faulty PRIVATE -Wno-use-after-free -Wno-array-bounds -Wno-stringop-overflow)
# One source, without the API and with it. Linked as C, so that no library of C++ allocates in it.
geiger_host(coverage hosts/coverage.cc)
set_target_properties(host_coverage PROPERTIES LINKER_LANGUAGE C)
target_compile_definitions(host_coverage PRIVATE GEIGER_ABSENT)
geiger_host(coverage_api hosts/coverage.cc)
target_link_libraries(host_coverage_api PRIVATE geiger_shared)
foreach(host coverage coverage_api)
  target_include_directories(host_${host} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(host_${host} PRIVATE m)
endforeach()
geiger_host(python_oracle hosts/python_oracle.cc SHARED)
target_link_libraries(host_python_oracle PRIVATE geiger_shared)
target_include_directories(host_python_oracle PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_features(host_python_oracle PRIVATE cxx_std_20)
geiger_host(python_loops hosts/python_loops.cc SHARED)
geiger_host(told hosts/told.cc)
target_include_directories(host_told PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(host_residency PRIVATE -fno-pie)
target_link_options(host_residency PRIVATE -no-pie)
# It talks to the runtime that it finds.
target_include_directories(host_phases PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_features(host_phases PRIVATE cxx_std_20)
# The search for a function at its first call would leave words below the stack pointer.
target_link_options(host_frames PRIVATE -Wl,-z,now)
# Each call is on the stack.
target_compile_options(host_names PRIVATE -fno-optimize-sibling-calls)
geiger_host(titles hosts/titles.cc)
geiger_host(attached_static hosts/attached.cc)
target_link_options(host_attached_static PRIVATE -static)
target_compile_definitions(host_attached_static PRIVATE ATTACHED_STATIC)
geiger_host(plugin hosts/plugin.cc SHARED)
target_compile_options(host_plugin PRIVATE -Wno-psabi)  # vectors by value, on purpose
geiger_host(audit hosts/audit.cc SHARED)
geiger_host(forms hosts/forms.c)
geiger_host(deadly_ptrace hosts/deadly_ptrace.c SHARED)
geiger_host(hostile hosts/hostile.c)
target_compile_options(host_forms PRIVATE -Wno-use-after-free)  # of what realloc refused
geiger_host(own_new hosts/own_new.cc SHARED)
geiger_host(plain_malloc hosts/plain_malloc.c SHARED)
geiger_host(layered hosts/layered.c SHARED)
geiger_host(same_block hosts/same_block.c SHARED)
geiger_host(exact_count hosts/exact_count.cc SHARED)
target_compile_options(host_exact_count PRIVATE -Wno-ignored-attributes)  # of function types

# hosts/foreign.c for musl and for 32 bits, where the toolchains are installed.
function(geiger_foreign_host name)
  set(output ${PROJECT_BINARY_DIR}/hosts/${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${ARGN} -O1 -o ${output} ${CMAKE_CURRENT_SOURCE_DIR}/hosts/foreign.c
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/hosts/foreign.c)
  add_custom_target(host_${name} ALL DEPENDS ${output})
endfunction()
find_program(GEIGER_MUSL_GCC musl-gcc)
if(GEIGER_MUSL_GCC)
  geiger_foreign_host(foreign_musl ${GEIGER_MUSL_GCC})
endif()
if(EXISTS /usr/lib32/crt1.o)
  geiger_foreign_host(foreign_32 gcc -m32)
endif()
geiger_foreign_host(foreign_static gcc -static)

# geiger_process_test(NAME LABEL SCRIPT ARGUMENTS...): a Python suite.
function(geiger_process_test name label script)
  add_test(NAME ${name}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 900 SKIP_REGULAR_EXPRESSION "nothing ran"
                       ENVIRONMENT "GEIGER_BUILD_DIR=${PROJECT_BINARY_DIR}")
  geiger_tier(${name})
endfunction()

# geiger_small_case(NAME LABEL SCRIPT ARGUMENTS...): some of what the slow test NAME does, in the first tier.
# ARGUMENTS name its tests that are worth it; harness.IS_SMALL has scripts repeat less.
function(geiger_small_case name label script)
  geiger_process_test(${name}_small ${label} ${script} ${ARGN})
  set_property(TEST ${name}_small APPEND PROPERTY ENVIRONMENT GEIGER_SMALL_CASE=1)
endfunction()

# geiger_must_fail(NAME): a Python suite passes if assertions fail in it, and nothing else does.
function(geiger_must_fail name)
  set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "FAILED \\(failures=[0-9]+(, skipped=[0-9]+)?\\)")
endfunction()

if(TARGET geiger_preload)
  geiger_process_test(binary_checks golden binary_checks.py)
  geiger_process_test(heap e2e heap.py)
  geiger_small_case(heap e2e heap.py Programs.test_perl Programs.test_git)
  geiger_process_test(heap_recorded e2e heap_recorded.py)
  geiger_small_case(heap_recorded e2e heap_recorded.py Recorded.test_totals_and_calls_are_those_over_the_c_library)
  geiger_process_test(invariants invariants invariants.py)
  geiger_process_test(terminal e2e terminal.py $<TARGET_FILE:geiger>)
  geiger_process_test(names e2e names.py $<TARGET_FILE:geiger>)
  geiger_process_test(tutorial e2e tutorial.py $<TARGET_FILE:geiger>)
  geiger_process_test(report_texts golden report_texts.py $<TARGET_FILE:geiger>)
  geiger_process_test(json_schema e2e json_schema.py $<TARGET_FILE:geiger>
    ${PROJECT_SOURCE_DIR}/docs/schema/geiger-report.schema.json ${PROJECT_SOURCE_DIR}/fuzz/corpus/trace)
  # What ./test builds, with all of its tests: in other builds some of those in tests/slow do not exist.
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT GEIGER_COVERAGE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    geiger_process_test(tiers layers tiers.py)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT GEIGER_COVERAGE)  # what the golden table was counted with
    geiger_process_test(instruction_table golden instruction_table.py)
    geiger_small_case(instruction_table golden instruction_table.py EntryPoints)
    geiger_process_test(heap_instructions golden heap_instructions.py)
  endif()
  geiger_process_test(system_calls e2e syscalls.py)
  geiger_process_test(allocators e2e allocators.py)
  geiger_process_test(providers e2e providers.py)
  geiger_process_test(killed e2e killed.py)
  geiger_process_test(full_disk e2e full_disk.py)
  geiger_process_test(cleaners e2e cleaners.py)
  geiger_process_test(refused_calls e2e refused_calls.py)
  geiger_process_test(long_runs e2e long_runs.py)
  geiger_small_case(long_runs e2e long_runs.py Segments.test_one_thread Aggregated.test_counts_are_exact)
  geiger_process_test(regulated e2e regulated.py)
  geiger_process_test(supervisor_cost golden supervisor_cost.py)
  geiger_process_test(process_cost golden process_cost.py)
  geiger_process_test(titles e2e titles.py)
  geiger_process_test(new_types e2e new_types.py)
  geiger_small_case(new_types e2e new_types.py NewTypes.test_only_reports_about_types_infer)
  geiger_process_test(battery e2e battery.py)
  geiger_small_case(battery e2e battery.py Battery.test_edges Battery.test_exits Battery.test_first
    Battery.test_limits Battery.test_loading Battery.test_mappings Battery.test_processes Battery.test_registers
    Battery.test_sandboxed Battery.test_stacks Battery.test_threads Battery.test_traps Foreign Environment)
  geiger_process_test(old_glibc e2e old_glibc.py)
  geiger_process_test(musl e2e musl.py $<TARGET_FILE:geiger>)
  geiger_process_test(static_programs e2e static_programs.py $<TARGET_FILE:geiger>)
  geiger_process_test(guard e2e guard.py $<TARGET_FILE:geiger>)
  geiger_process_test(content e2e content.py $<TARGET_FILE:geiger>)
  geiger_small_case(content e2e content.py Exact Stored.test_only_if_it_was_asked_for)
  geiger_process_test(holders e2e holders.py $<TARGET_FILE:geiger>)
  geiger_process_test(holders_core e2e holders_core.py $<TARGET_FILE:geiger>)
  geiger_process_test(holders_snapshot e2e holders_snapshot.py $<TARGET_FILE:geiger>)
  geiger_small_case(holders e2e holders.py KnownBlocks Stored AtExit CPython Registers Frames Growing Outside Refusals)
  geiger_process_test(advice e2e advice.py)
  geiger_small_case(advice e2e advice.py)
  geiger_process_test(processor_time e2e processor_time.py)
  geiger_process_test(python_battery e2e python_battery.py)
  geiger_small_case(python_battery e2e python_battery.py)
  geiger_process_test(python_frames e2e python_frames.py)
  geiger_small_case(python_frames e2e python_frames.py PythonFrames.test_each_interpreter)
  geiger_process_test(python_objects e2e python_objects.py)
  geiger_small_case(python_objects e2e python_objects.py PythonObjects.test_each_small_object_is_counted_once)
  geiger_process_test(python_labels e2e python_labels.py)
  geiger_small_case(python_labels e2e python_labels.py PythonLabels.test_each_block_has_its_label)
  geiger_process_test(python_ending e2e python_ending.py)
  geiger_process_test(python_tracker e2e python_tracker.py)
  geiger_process_test(jit_names e2e jit_names.py)
  geiger_process_test(children e2e children.py)
  geiger_process_test(storms e2e storms.py)
  geiger_small_case(storms e2e storms.py Quick.test_threads)
  geiger_process_test(surroundings e2e surroundings.py)
  geiger_small_case(surroundings e2e surroundings.py FileSystems.test_read_only Limits.test_descriptors)
  geiger_process_test(real_programs e2e real_programs.py)
  geiger_small_case(real_programs e2e real_programs.py RealPrograms.test_sqlite RealPrograms.test_git)
  geiger_process_test(mappings e2e mappings.py)
  geiger_process_test(events e2e events.py)
  geiger_small_case(events e2e events.py Notes)
  geiger_process_test(security e2e security.py $<TARGET_FILE:geiger>)
  geiger_process_test(zero_bytes e2e zero_bytes.py)
endif()

if(TARGET geiger_preload AND TARGET geiger)
  foreach(part Hosts Programs Surroundings Refusals)
    string(TOLOWER ${part} name)
    geiger_process_test(attach_${name} e2e attach.py ${part})
  endforeach()
  geiger_small_case(attach_hosts e2e attach.py Hosts.test_totals_against_the_program)
  geiger_process_test(python_attach e2e python_attach.py)
  geiger_process_test(hostile_process e2e hostile_process.py Hostile)
  geiger_process_test(hostile_process_agents e2e hostile_process.py Agents)
  geiger_small_case(hostile_process e2e hostile_process.py Hostile.test_attach_makes_no_call_by_a_path_there
    Hostile.test_a_call_makes_no_call_by_a_path_there Hostile.test_a_link_in_the_place_of_its_tmp
    Hostile.test_a_call_with_links Hostile.test_a_trace_that_is_truncated)
  geiger_process_test(package e2e package.py)
  geiger_small_case(package e2e package.py Package.test_installs_headers_and_nothing_of_ours
    Package.test_installs_what_users_read_and_type Package.test_find_package)
  add_test(NAME tarball CONFIGURATIONS Suites
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tarball.py)
  set_tests_properties(tarball PROPERTIES LABELS suites TIMEOUT 1200
                       ENVIRONMENT "GEIGER_BUILD_DIR=${PROJECT_BINARY_DIR}")
  geiger_process_test(doctor_machine e2e doctor_machine.py $<TARGET_FILE:geiger>)
  geiger_process_test(control e2e control.py)
  geiger_process_test(services e2e services.py)
  geiger_small_case(services e2e services.py Services.test_a_worker_of_another_user_goes_on_in_segments
    Jails CleanedUp)
  geiger_process_test(production e2e production.py)
  geiger_process_test(systemd e2e systemd.py)
  geiger_process_test(live e2e live.py)
  geiger_small_case(live e2e live.py Terminal.test_shows_what_the_summary_says)
  geiger_process_test(packages e2e packages.py)
  geiger_process_test(recipes e2e recipes.py)
  geiger_small_case(recipes e2e recipes.py Recipes.test_systemd_unit Recipes.test_pod)
  geiger_process_test(fleet_push e2e fleet_push.py)
  geiger_small_case(fleet_push e2e fleet_push.py FleetPush.test_a_spool_sent_twice)
  geiger_process_test(slow_connections e2e slow_connections.py)
  geiger_small_case(slow_connections e2e slow_connections.py Collecting.test_without_a_token Serving.test_pages)
  geiger_process_test(unrecorded e2e unrecorded.py)
  geiger_process_test(fleet_turns e2e fleet_turns.py)
  # Its agents wake what sleeps on this machine, other tests' programs too.
  set_tests_properties(fleet_turns hostile_process_agents PROPERTIES RUN_SERIAL TRUE)
  geiger_process_test(push_profiles e2e push_profiles.py)
  geiger_process_test(otlp e2e otlp.py)
  geiger_small_case(otlp e2e otlp.py Exports Pushes.test_a_run Pushes.test_partial_success Pushes.test_agent Contexts)
  geiger_process_test(recipes_in_images e2e recipes_in_images.py)
  geiger_process_test(containers e2e containers.py)
  geiger_small_case(containers e2e containers.py AttachBelowAnotherRoot)
  geiger_process_test(contained e2e contained.py)
  geiger_small_case(contained e2e contained.py Contained.test_docker Contained.test_podman_without_root
    Contained.test_an_empty_jail_of_another_user Contained.test_recorded_twice)
  set_tests_properties(recipes_in_images containers containers_small contained contained_small
                       PROPERTIES SKIP_RETURN_CODE 77)
endif()

# Public headers only: no library of ours takes part.
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT GEIGER_COVERAGE)
  geiger_process_test(arena_instructions golden arena_instructions.py)
  geiger_process_test(list_instructions golden list_instructions.py)
endif()

# Estimates against a program's own truth; the second test shows that the first can
# fail: the analysis is told to be wrong.
if(TARGET geiger_preload AND TARGET geiger_ingest AND TARGET geiger_estimation)
  find_package(nlohmann_json REQUIRED)
  add_executable(truth_analysis truth_analysis.cc)
  geiger_compile_as_test(truth_analysis 1)
  target_link_libraries(truth_analysis PRIVATE geiger_ingest geiger_profile geiger_research
                        geiger_warnings nlohmann_json::nlohmann_json)
  geiger_process_test(truth statistical truth.py)
  geiger_small_case(truth statistical truth.py --seeds 5)
  geiger_process_test(truth_can_fail statistical truth.py --break --seeds 20)
  geiger_process_test(truth_over_geiger statistical truth.py)
  set_property(TEST truth_over_geiger APPEND PROPERTY ENVIRONMENT GEIGER_TEST_MALLOC=geiger)
  geiger_small_case(truth_over_geiger statistical truth.py --seeds 5)
  set_property(TEST truth_over_geiger_small APPEND PROPERTY ENVIRONMENT GEIGER_TEST_MALLOC=geiger)
  geiger_must_fail(truth_can_fail)
endif()

# Coverage of what reports say of recordings, by theme.
if(TARGET geiger_preload AND TARGET geiger AND TARGET geiger_shared)
  foreach(theme programs intervals questions peaks)
    geiger_process_test(coverage_${theme} statistical coverage_study.py ${theme})
  endforeach()
  geiger_small_case(coverage_programs statistical coverage_study.py programs)
endif()

# What lies where, against a program that asks mincore and knows its own heap.
if(TARGET geiger_preload AND TARGET geiger_ingest AND TARGET geiger)
  add_executable(residency_analysis residency_analysis.cc)
  geiger_compile_as_test(residency_analysis 2)  # It draws 140 million objects for each kind.
  target_link_libraries(residency_analysis PRIVATE geiger_ingest geiger_profile geiger_estimation
                        geiger_warnings nlohmann_json::nlohmann_json)
  geiger_process_test(residency statistical residency.py)
  geiger_small_case(residency statistical residency.py --seeds 2)
  geiger_process_test(residency_can_fail statistical residency.py --break --seeds 5)
  geiger_must_fail(residency_can_fail)
  geiger_process_test(rss e2e rss.py)
  geiger_process_test(compare_malloc e2e compare_malloc.py)
  geiger_process_test(python_types e2e python_types.py)
  geiger_process_test(python_tracemalloc statistical python_tracemalloc.py)
endif()

# One value from four places: library, command line, SQLite, PostgreSQL.
if(TARGET geiger_preload AND TARGET geiger_estimation)
  add_executable(statistics_library statistics_library.cc)
  target_link_libraries(statistics_library PRIVATE geiger_estimation geiger_warnings
                        nlohmann_json::nlohmann_json)
  geiger_process_test(statistics_agree e2e statistics_agree.py)
endif()

# Builds programs from Debian's sources, so it needs the network: ctest -C Suites -L suites.
if(TARGET geiger_preload)
  foreach(name changed_programs known_bug)
    add_test(NAME ${name} CONFIGURATIONS Suites
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py)
    set_tests_properties(${name} PROPERTIES LABELS suites TIMEOUT 1200
      ENVIRONMENT "GEIGER_BUILD_DIR=${PROJECT_BINARY_DIR}")
  endforeach()
endif()

# Minutes under an emulator: ctest -C Suites -L valgrind.
if(TARGET geiger_preload)
  foreach(tool memcheck helgrind drd)
    add_test(NAME valgrind_${tool} CONFIGURATIONS Suites
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/valgrind/under_valgrind.py ${tool})
    set_tests_properties(valgrind_${tool} PROPERTIES LABELS valgrind TIMEOUT 1800
      ENVIRONMENT "GEIGER_BUILD_DIR=${PROJECT_BINARY_DIR}")
  endforeach()
endif()

# A bare Debian with the packages in it, so it needs the network and root.
add_test(NAME debian_packages CONFIGURATIONS Suites COMMAND ${PROJECT_SOURCE_DIR}/tools/try_package.sh)
set_tests_properties(debian_packages PROPERTIES LABELS suites TIMEOUT 3600)
