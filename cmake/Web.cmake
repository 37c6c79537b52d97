# The templates of report pages: share/geiger beside the binaries, where geiger looks for them.
# They need npm, clang for WebAssembly and, the first time, the network; all else does not, so they are built on request:
# `cmake --build BUILD --target web`, or with everything where GEIGER_WEB is on.
option(GEIGER_WEB "Also build the templates of report pages (needs npm and clang)" OFF)

set(GEIGER_TEMPLATES_DIR ${PROJECT_BINARY_DIR}/share/geiger)
set(GEIGER_TEMPLATES
  ${GEIGER_TEMPLATES_DIR}/report.html ${GEIGER_TEMPLATES_DIR}/live.html
  ${GEIGER_TEMPLATES_DIR}/REPORT-LICENSES.txt)

file(GLOB_RECURSE GEIGER_WEB_SOURCES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/web/src/* ${PROJECT_SOURCE_DIR}/web/build/*
  ${PROJECT_SOURCE_DIR}/src/estimation/*.cc ${PROJECT_SOURCE_DIR}/src/estimation/*.h
  ${PROJECT_SOURCE_DIR}/src/analysis/present/*.cc ${PROJECT_SOURCE_DIR}/src/analysis/present/*.h
  ${PROJECT_SOURCE_DIR}/src/analysis/arithmetic/*.cc ${PROJECT_SOURCE_DIR}/src/base/check.h)
file(GLOB web_settings CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/web/*.json ${PROJECT_SOURCE_DIR}/web/*.ts ${PROJECT_SOURCE_DIR}/web/*.html)

add_custom_command(OUTPUT ${GEIGER_TEMPLATES}
  COMMAND ${PROJECT_SOURCE_DIR}/tools/build_web.sh ${PROJECT_BINARY_DIR}/web ${GEIGER_TEMPLATES_DIR}
  DEPENDS ${GEIGER_WEB_SOURCES} ${web_settings} ${PROJECT_SOURCE_DIR}/tools/build_web.sh
    ${PROJECT_SOURCE_DIR}/tools/build_arithmetic.sh
  COMMENT "Building the templates of report pages" VERBATIM)
if(GEIGER_WEB)
  add_custom_target(web ALL DEPENDS ${GEIGER_TEMPLATES})
else()
  add_custom_target(web DEPENDS ${GEIGER_TEMPLATES})
endif()

# Installed where they were built; without them `geiger report` says how to get them.
install(FILES ${GEIGER_TEMPLATES} DESTINATION share/geiger OPTIONAL)
