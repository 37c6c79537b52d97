# One archive that starts on any Linux of this architecture: `cmake --workflow --preset tarball`.
add_executable(geiger_launcher ${CMAKE_CURRENT_LIST_DIR}/tarball/launcher.c)
set_target_properties(geiger_launcher PROPERTIES OUTPUT_NAME geiger-launcher POSITION_INDEPENDENT_CODE OFF)
target_compile_options(geiger_launcher PRIVATE
  -O2 -ffreestanding -fno-pie -fno-stack-protector
  $<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)
target_link_options(geiger_launcher PRIVATE -static -nostdlib -nostartfiles -no-pie -s -Wl,--build-id=none)

find_package(Python3 COMPONENTS Interpreter)
set(archive ${PROJECT_BINARY_DIR}/geiger-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}.tar.gz)
set(GEIGER_ARM64_BUILD "${PROJECT_SOURCE_DIR}/build/arm64" CACHE PATH
  "A build of the preset arm64, whose preload libraries go into the archive too")
set(more)
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND
   EXISTS ${GEIGER_ARM64_BUILD}/lib/geiger/lib/aarch64-linux-gnu/libgeiger-preload.so)
  set(more --arm64 ${GEIGER_ARM64_BUILD})
endif()
add_custom_target(tarball
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/make_tarball.py ${PROJECT_BINARY_DIR}
          ${archive} ${more}
  VERBATIM COMMENT "Packing ${archive}")
get_property(modules GLOBAL PROPERTY GEIGER_MODULES)
add_dependencies(tarball geiger geiger_shared geiger_launcher geiger_manual ${modules})
if(GEIGER_WEB)
  add_dependencies(tarball web)
endif()
