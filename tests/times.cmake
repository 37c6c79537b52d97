# Read by ctest before the tests of a build. With GEIGER_TIMES in the environment, a folder, each test
# runs below timed.sh, which writes its processor time there: ctest itself reports only how long a test
# took. CMake 3.29 has a launcher for tests; older ones have the replaced command as _add_test.
if(NOT DEFINED ENV{GEIGER_TIMES})
  return()
endif()

function(add_test name)
  set(command "_add_test([==[${name}]==] [==[${CMAKE_CURRENT_FUNCTION_LIST_DIR}/timed.sh]==] [==[${name}]==]")
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE 1 ${last})
    string(APPEND command " [==[${ARGV${i}}]==]")  # Each alone: they may be empty or have semicolons.
  endforeach()
  cmake_language(EVAL CODE "${command})")
endfunction()
