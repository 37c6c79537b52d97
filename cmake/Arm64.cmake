# Toolchain of the preset `arm64`: what tools/arm64_root.py unpacks, and qemu-user to run tests with.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(GEIGER_ARM64_ROOT "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root" CACHE PATH
  "Where tools/arm64_root.py has unpacked the cross compiler and the sysroot")
get_filename_component(GEIGER_ARM64_ROOT "${GEIGER_ARM64_ROOT}" ABSOLUTE)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GEIGER_ARM64_ROOT)

set(CMAKE_C_COMPILER "${GEIGER_ARM64_ROOT}/bin/aarch64-linux-gnu-gcc")
set(CMAKE_CXX_COMPILER "${GEIGER_ARM64_ROOT}/bin/aarch64-linux-gnu-g++")
set(CMAKE_CXX_FLAGS_INIT "-Wno-psabi")  # Notes on what changed with g++ 10, of Boost.
set(CMAKE_SYSROOT "${GEIGER_ARM64_ROOT}/bookworm")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${CMAKE_SYSROOT}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR}
  "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
