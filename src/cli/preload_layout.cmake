# <prefix>/lib/geiger/$LIB/libgeiger-preload.so for every reading of $LIB: the
# runtime for 64-bit programs, an empty library for 32-bit ones, which would
# otherwise print a complaint of the loader on the target's stderr. musl takes the name as it is.
set(GEIGER_PRELOAD_ROOT ${PROJECT_BINARY_DIR}/lib/geiger)
set(GEIGER_PRELOAD_DIR ${GEIGER_PRELOAD_ROOT}/${GEIGER_LIB_TOKEN})

# What every program gets that `geiger run` starts; --malloc and --lttng add other libraries.
add_custom_target(geiger_loaded)
add_dependencies(geiger geiger_loaded)
add_dependencies(geiger-starter geiger_loaded)

# The empty library needs no 32-bit compiler: the assembler and the linker do.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(stub ${CMAKE_CURRENT_BINARY_DIR}/stub/libgeiger-preload.so)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/stub)
  add_custom_command(OUTPUT ${stub}
    COMMAND ${CMAKE_COMMAND} -E touch stub/empty.s
    COMMAND as --32 -o stub/empty.o stub/empty.s
    COMMAND ${CMAKE_LINKER} -m elf_i386 -shared -s -z noexecstack -o ${stub} stub/empty.o
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "Linking the empty 32-bit library")
  # Debian calls the 32-bit directory lib32 on amd64 and lib/i386-linux-gnu on i386.
  set(empty_in_libgeiger0 libgeiger-preload.so)
  set(empty_in_geiger-malloc libgeiger-malloc.so)
  set(empty_in_geiger-lttng)
  if(TARGET geiger_lttng)
    set(empty_in_geiger-lttng libgeiger-lttng.so)
  endif()
  foreach(token lib32 lib/i386-linux-gnu)
    foreach(package libgeiger0 geiger-malloc geiger-lttng)
      foreach(library IN LISTS empty_in_${package})
        set(placed ${GEIGER_PRELOAD_ROOT}/${token}/${library})
        add_custom_command(OUTPUT ${placed}
          COMMAND ${CMAKE_COMMAND} -E make_directory ${GEIGER_PRELOAD_ROOT}/${token}
          COMMAND ${CMAKE_COMMAND} -E copy ${stub} ${placed}
          DEPENDS ${stub} VERBATIM)
        list(APPEND placed_stubs ${placed})
        install(FILES ${stub} DESTINATION lib/geiger/${token} RENAME ${library}
                COMPONENT ${package})
      endforeach()
    endforeach()
  endforeach()
  add_custom_target(geiger_empty_preload DEPENDS ${placed_stubs})
  add_dependencies(geiger_loaded geiger_empty_preload)
endif()

if(TARGET geiger_preload)
  set_target_properties(geiger_preload PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${GEIGER_PRELOAD_DIR} OUTPUT_NAME geiger-preload EXPORT_NAME preload)
  add_dependencies(geiger_loaded geiger_preload)
  install(TARGETS geiger_preload EXPORT geiger_targets
          LIBRARY DESTINATION lib/geiger/${GEIGER_LIB_TOKEN} COMPONENT libgeiger0)
  file(MAKE_DIRECTORY ${GEIGER_PRELOAD_ROOT})
  file(CREATE_LINK ${GEIGER_LIB_TOKEN} "${GEIGER_PRELOAD_ROOT}/\$LIB" SYMBOLIC)
  install(CODE "file(CREATE_LINK ${GEIGER_LIB_TOKEN}
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/geiger/\\\$LIB\" SYMBOLIC)"
    COMPONENT libgeiger0)
endif()
if(TARGET geiger_malloc)
  set_target_properties(geiger_malloc PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${GEIGER_PRELOAD_DIR})
  add_dependencies(geiger geiger_malloc)
  install(TARGETS geiger_malloc LIBRARY DESTINATION lib/geiger/${GEIGER_LIB_TOKEN}
          COMPONENT geiger-malloc)
  # Not among the exported targets: geiger-config.cmake works without this package.
  install(TARGETS geiger_malloc_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT geiger-malloc)
endif()
if(TARGET geiger_lttng)
  set_target_properties(geiger_lttng PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${GEIGER_PRELOAD_DIR})
  add_dependencies(geiger geiger_lttng)
  install(TARGETS geiger_lttng LIBRARY DESTINATION lib/geiger/${GEIGER_LIB_TOKEN}
          COMPONENT geiger-lttng)
endif()
install(TARGETS geiger RUNTIME DESTINATION bin)
