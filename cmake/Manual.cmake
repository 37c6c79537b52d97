# Manual pages and completion scripts, made by the geiger that was just built, so that they
# cannot say anything else than its parser does. Hand-written sections stand in docs/man.
include(GNUInstallDirs)
set(made ${PROJECT_BINARY_DIR}/share)

set(completions ${made}/geiger.bash ${made}/_geiger ${made}/geiger.fish)
add_custom_command(OUTPUT ${completions}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${made}
  COMMAND geiger completion bash > ${made}/geiger.bash
  COMMAND geiger completion zsh > ${made}/_geiger
  COMMAND geiger completion fish > ${made}/geiger.fish
  DEPENDS geiger VERBATIM COMMENT "Writing the completion scripts")
set(made_files ${completions})
install(FILES ${made}/geiger.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME geiger)
install(FILES ${made}/_geiger DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${made}/geiger.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

find_program(GEIGER_SCDOC scdoc)
if(NOT GEIGER_SCDOC)
  message(STATUS "scdoc is missing: no manual pages")
else()
  # The verbs, as main.cc lists them.
  set(list ${PROJECT_SOURCE_DIR}/src/cli/verbs/commands.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} verbs REGEX "^void register_")
  list(TRANSFORM verbs REPLACE "^void register_([a-z_]+).*" "\\1")
  list(TRANSFORM verbs REPLACE "_" "-")
  set(pages ${made}/man/geiger.1.gz)
  foreach(verb IN LISTS verbs)
    list(APPEND pages ${made}/man/geiger-${verb}.1.gz)
  endforeach()
  file(GLOB prose CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.scd)
  set(further ${made}/man/geiger.5.gz ${made}/man/geiger.7.gz ${made}/man/geiger-malloc.7.gz)
  add_custom_command(OUTPUT ${pages} ${further}
    COMMAND ${CMAKE_COMMAND} "-DGEIGER=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:geiger>"
            "-DVERBS=${verbs}" -D SCDOC=${GEIGER_SCDOC} -D SOURCE=${PROJECT_SOURCE_DIR}
            -D VERSION=${PROJECT_VERSION} -D OUTPUT=${made}/man
            -P ${CMAKE_CURRENT_LIST_DIR}/write_manual.cmake
    DEPENDS geiger ${prose} ${CMAKE_CURRENT_LIST_DIR}/write_manual.cmake
    VERBATIM COMMENT "Writing the manual pages")
  list(APPEND made_files ${pages} ${further})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${made}/man/geiger.5.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
  install(FILES ${made}/man/geiger.7.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
  if(TARGET geiger_malloc)
    install(FILES ${made}/man/geiger-malloc.7.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man7
            COMPONENT geiger-malloc)
  endif()
endif()
add_custom_target(geiger_manual ALL DEPENDS ${made_files})
