# What is made of the sources has their date, so that two builds are alike: SOURCE_DATE_EPOCH, else
# that of the last commit, else that of the change log.
function(geiger_set_source_date source)
  if(DEFINED ENV{SOURCE_DATE_EPOCH})
    return()
  endif()
  execute_process(COMMAND git -C ${source} log -1 --format=%ct OUTPUT_VARIABLE date
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR date STREQUAL "")
    file(TIMESTAMP ${source}/CHANGELOG.md date "%s" UTC)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${date})
endfunction()
