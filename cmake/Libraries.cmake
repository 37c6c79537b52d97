# The libraries of the command line, as archives where the system has them, C++'s own too: `geiger
# run` starts before every program that it profiles, and loading them as shared libraries takes half
# of the time of a start. Not for sanitized builds.
include_guard()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(zstd REQUIRED)
pkg_check_modules(ELFUTILS REQUIRED IMPORTED_TARGET libdw>=0.188 libelf)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)

set(are_archives_found ON)
foreach(name dw elf zstd z lzma bz2 re2)
  find_library(GEIGER_ARCHIVE_${name} lib${name}.a)
  mark_as_advanced(GEIGER_ARCHIVE_${name})
  if(NOT GEIGER_ARCHIVE_${name} OR GEIGER_SANITIZED OR GEIGER_FUZZ)
    set(are_archives_found OFF)
  endif()
endforeach()
# Debian has {fmt} as a shared library and as headers (fmt.cc).
get_target_property(kind_of_fmt fmt::fmt TYPE)
if(NOT kind_of_fmt STREQUAL "STATIC_LIBRARY" AND NOT fmt_VERSION MATCHES "^9\\.")
  set(are_archives_found OFF)
endif()
option(GEIGER_ARCHIVES "Link geiger with archives of libraries: it starts in half the time" ${are_archives_found})

# geiger_library(NAME SHARED ARCHIVES...): geiger::NAME is either.
function(geiger_library name shared)
  add_library(geiger_library_${name} INTERFACE)
  add_library(geiger::${name} ALIAS geiger_library_${name})
  if(NOT GEIGER_ARCHIVES)
    target_link_libraries(geiger_library_${name} INTERFACE ${shared})
    return()
  endif()
  foreach(archive IN LISTS ARGN)
    target_link_libraries(geiger_library_${name} INTERFACE ${GEIGER_ARCHIVE_${archive}})
  endforeach()
endfunction()

geiger_library(zlib ZLIB::ZLIB z)
geiger_library(zstd zstd::libzstd_shared zstd)
geiger_library(elfutils PkgConfig::ELFUTILS dw elf zstd z lzma bz2)
target_link_libraries(geiger_library_elfutils INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
if(RE2_LIBRARIES MATCHES "absl_")
  # Its versions since 2023 need dozens of Abseil's libraries, in an order that only pkg-config knows.
  add_library(geiger::re2 ALIAS PkgConfig::RE2)
else()
  geiger_library(re2 PkgConfig::RE2 re2)
  target_link_libraries(geiger_library_re2 INTERFACE Threads::Threads)
endif()

if(GEIGER_ARCHIVES AND NOT kind_of_fmt STREQUAL "STATIC_LIBRARY")
  add_library(geiger_library_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
  target_include_directories(geiger_library_fmt SYSTEM INTERFACE
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  add_library(geiger::fmt ALIAS geiger_library_fmt)
else()
  add_library(geiger::fmt ALIAS fmt::fmt)
endif()

# Debian's packages of what is compiled in, whose licences come with geiger.
set(GEIGER_COMPILED_IN libcli11-dev libprotozero-dev robin-map-dev libboost1.74-dev libsimdjson-dev
  llvm-14-dev libcpp-httplib-dev)
if(GEIGER_ARCHIVES)
  string(REGEX MATCH "^[0-9]+" gcc "${CMAKE_CXX_COMPILER_VERSION}")
  list(APPEND GEIGER_COMPILED_IN libdw-dev libelf-dev libzstd-dev zlib1g-dev liblzma-dev libbz2-dev
    libre2-dev libfmt-dev libstdc++-${gcc}-dev)
endif()

# geiger_link_alone(TARGET): its C++ library comes with it.
function(geiger_link_alone target)
  if(GEIGER_ARCHIVES)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
