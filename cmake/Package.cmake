# What `cmake --install` leaves for other projects: headers, find_package and pkg-config.
# Every target installed with EXPORT geiger_targets becomes geiger::ITS_EXPORT_NAME.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The public headers alone: sampler, BernoulliTrial and Arena need no library.
add_library(geiger_headers INTERFACE)
add_library(geiger::headers ALIAS geiger_headers)
target_include_directories(geiger_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(geiger_headers INTERFACE cxx_std_17)
set_target_properties(geiger_headers PROPERTIES EXPORT_NAME headers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/geiger DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT libgeiger-dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.inl")
install(TARGETS geiger_headers EXPORT geiger_targets COMPONENT libgeiger-dev)

set(GEIGER_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/geiger)
install(EXPORT geiger_targets NAMESPACE geiger:: DESTINATION ${GEIGER_PACKAGE_DIR}
        COMPONENT libgeiger-dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/geiger-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/geiger-config.cmake INSTALL_DESTINATION ${GEIGER_PACKAGE_DIR}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/geiger-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/geiger-config.cmake
              ${PROJECT_BINARY_DIR}/package/geiger-config-version.cmake
        DESTINATION ${GEIGER_PACKAGE_DIR} COMPONENT libgeiger-dev)

# The prefix is found from where the file lies, so that the installed tree can be moved.
file(RELATIVE_PATH GEIGER_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(GEIGER_PC_FILES geiger)
if(TARGET geiger_static)
  list(APPEND GEIGER_PC_FILES geiger-static)
  get_target_property(options geiger_static INTERFACE_LINK_OPTIONS)
  list(JOIN options " " GEIGER_STATIC_WORDS)
endif()
foreach(name IN LISTS GEIGER_PC_FILES)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT libgeiger-dev)
endforeach()
