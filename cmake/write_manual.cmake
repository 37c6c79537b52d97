# cmake -D GEIGER= -D VERBS= -D SCDOC= -D SOURCE= -D VERSION= -D OUTPUT= -P write_manual.cmake
# A page is what `geiger help --scdoc` says, what docs/man says beyond it, and where to read on.
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/SourceDate.cmake)
geiger_set_source_date(${SOURCE})

function(write_page name text)
  file(WRITE ${OUTPUT}/source/${name}.scd "${text}")
  execute_process(COMMAND ${SCDOC} INPUT_FILE ${OUTPUT}/source/${name}.scd
                  OUTPUT_VARIABLE page COMMAND_ERROR_IS_FATAL ANY)
  # scdoc opens paragraphs where none can begin, which mandoc warns of.
  string(REPLACE "\n.P\n.RE\n" "\n.RE\n.P\n" page "${page}")
  string(REPLACE "\n.P\n.P\n" "\n.P\n" page "${page}")
  string(REGEX REPLACE "\n\\.P\n(\\.(SH|SS))" "\n\\1" page "${page}")
  string(REGEX REPLACE "(\n\\.(SH|SS) [^\n]*)\n\\.P\n" "\\1\n" page "${page}")
  string(REGEX REPLACE "\n\\.P\n$" "\n" page "${page}")
  # A quote at the start of a line opens a request.
  string(REPLACE "\n'" "\n\\&'" page "${page}")
  file(WRITE ${OUTPUT}/${name} "${page}")
  execute_process(COMMAND gzip -9nkf ${OUTPUT}/${name} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(read_prose name variable)
  set(text "")
  if(EXISTS ${SOURCE}/docs/man/${name}.scd)
    file(READ ${SOURCE}/docs/man/${name}.scd text)
  endif()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

function(write_verb verb)
  set(name geiger)
  if(NOT verb STREQUAL "")
    set(name geiger-${verb})
  endif()
  execute_process(COMMAND ${GEIGER} help --scdoc ${verb} OUTPUT_VARIABLE page
                  COMMAND_ERROR_IS_FATAL ANY)
  read_prose(${name} prose)
  read_prose(see-also further)
  write_page(${name}.1 "${page}${prose}\n${further}")
endfunction()

file(MAKE_DIRECTORY ${OUTPUT}/source)
write_verb("")
foreach(verb IN LISTS VERBS)
  write_verb(${verb})
endforeach()
foreach(page geiger.5 geiger.7 geiger-malloc.7)
  read_prose(${page} text)
  string(REPLACE "@VERSION@" "${VERSION}" text "${text}")
  write_page(${page} "${text}")
endforeach()
