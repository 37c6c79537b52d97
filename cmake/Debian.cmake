# Debian packages, by CPack: `cmake --workflow --preset deb`.
#   geiger         the command, its manual, completion, guide, page template
#   libgeiger0     what lives in programs: the preloaded runtime, the API
#   geiger-malloc  geiger's own allocator, to be preloaded or linked
#   libgeiger-dev  headers, find_package, pkg-config
#   geiger-lttng   the LTTng-UST provider, which alone needs LTTng
include(GNUInstallDirs)
set(packages geiger libgeiger0 libgeiger-dev)
if(TARGET geiger_malloc)
  list(APPEND packages geiger-malloc)
endif()
if(TARGET geiger_lttng)
  list(APPEND packages geiger-lttng)
endif()
set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
set(made ${PROJECT_BINARY_DIR}/debian)

# The guide; README refers to docs/.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.cc" PATTERN "*.json"
        PATTERN man EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/docs/schema/geiger-report.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/geiger)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/recipes DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/recipes/geiger.tmpfiles.conf DESTINATION lib/tmpfiles.d
        COMPONENT libgeiger0 RENAME geiger.conf)

# What is compiled into our binaries, from the packages that it comes from.
foreach(package IN LISTS GEIGER_COMPILED_IN)
  set(text /usr/share/doc/${package}/copyright)
  if(EXISTS ${text})
    list(APPEND licences ${package})
    install(FILES ${text} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME ${package}.txt)
  endif()
endforeach()

# Each package has a copyright and a changelog of its own.
include(${CMAKE_CURRENT_LIST_DIR}/SourceDate.cmake)
geiger_set_source_date(${PROJECT_SOURCE_DIR})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${debian}/changelog.in ${made}/changelog @ONLY)
execute_process(COMMAND gzip -9nkf ${made}/changelog)
foreach(package IN LISTS packages)
  install(FILES ${debian}/copyright ${made}/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${package})
  if(EXISTS ${debian}/${package}.lintian-overrides)
    install(FILES ${debian}/${package}.lintian-overrides COMPONENT ${package}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${package})
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_VENDOR "the geiger maintainers")
set(CPACK_PACKAGE_CONTACT "geiger maintainers <maintainers@geiger.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "allocation profiler with error bars")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${GEIGER_PRELOAD_DIR} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)  # The only target that there is a toolchain file for.
endif()

set(same_version "(= ${PROJECT_VERSION})")
set(what "geiger samples the allocations of any dynamically linked program, without\n\
recompilation, and gives every number with its confidence interval.")
foreach(package IN LISTS packages)
  string(TOUPPER ${package} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION devel)
endforeach()
set(CPACK_DEBIAN_LIBGEIGER0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBGEIGER-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_GEIGER-MALLOC_PACKAGE_SECTION libs)
# CPack puts the summary in front.
set(CPACK_DEBIAN_GEIGER_DESCRIPTION "${what}")
set(CPACK_DEBIAN_LIBGEIGER0_DESCRIPTION "${what}\n.\nThis is what is preloaded into programs, and the \
library of those\nthat use the API. Without settings it sleeps until it is called.")
set(CPACK_DEBIAN_LIBGEIGER-DEV_DESCRIPTION
    "${what}\n.\nThese are the headers, and the files for CMake and pkg-config.")
set(CPACK_DEBIAN_GEIGER-MALLOC_DESCRIPTION
    "${what}\n.\nThis is an experimental allocator that draws the samples itself:\n\
geiger run --malloc=geiger, or linked as libgeiger-malloc.a.")
set(CPACK_DEBIAN_GEIGER-LTTNG_DESCRIPTION
    "${what}\n.\nThis tells samples to LTTng sessions: geiger run --lttng.")
set(CPACK_DEBIAN_GEIGER_PACKAGE_DEPENDS "libgeiger0 ${same_version}")
set(CPACK_DEBIAN_GEIGER_PACKAGE_SUGGESTS "geiger-lttng, geiger-malloc, libgeiger-dev")
set(CPACK_DEBIAN_LIBGEIGER-DEV_PACKAGE_DEPENDS "libgeiger0 ${same_version}")
set(CPACK_DEBIAN_GEIGER-LTTNG_PACKAGE_DEPENDS "libgeiger0 ${same_version}")
# The loader finds libgeiger.so.0 from now on; /etc/ld.so.preload names none that was removed.
set(CPACK_DEBIAN_LIBGEIGER0_PACKAGE_CONTROL_EXTRA ${debian}/triggers ${debian}/prerm)
# Packages are made of what was built.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
