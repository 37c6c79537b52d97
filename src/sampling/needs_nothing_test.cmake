# The room runs inside the host program's malloc: its archive may need no symbol from outside but
# the two that compilers insert.
execute_process(COMMAND ${NM} --undefined-only --format=posix ${ARCHIVE}
                OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} --defined-only --format=posix ${ARCHIVE}
                OUTPUT_VARIABLE defined COMMAND_ERROR_IS_FATAL ANY)

string(REGEX MATCHALL "[^\n]+ [A-Za-z] [^\n]*" defined "${defined}")
list(TRANSFORM defined REPLACE " .*" "")
if(NOT defined)
  message(FATAL_ERROR "nothing is defined in ${ARCHIVE}")
endif()
string(REGEX MATCHALL "[^\n]+ [Uw][^\n]*" undefined "${undefined}")
list(TRANSFORM undefined REPLACE " .*" "")
list(REMOVE_ITEM undefined ${defined} memcpy memset _GLOBAL_OFFSET_TABLE_)
if(undefined)
  message(FATAL_ERROR "${ARCHIVE} needs ${undefined}")
endif()
