// Code that node's and the JVM's compilers made while the program ran, which perf maps name: whose
// it is. Its frames have no module. Tables only; frame_roles.h decides.
#pragma once

#include <string_view>

namespace geiger::profile {

/// A function of a script: its source file, as a name in a perf map has it.
[[nodiscard]] bool is_script(std::string_view file);

/// A script of node itself, or of an installed package.
[[nodiscard]] bool is_script_library(std::string_view file);

/// A method by its name: "app.Leak.remember(int)".
[[nodiscard]] bool is_java_method(std::string_view function);

/// A method of the JDK.
[[nodiscard]] bool is_java_library(std::string_view function);

/// Code that the runtime generates for itself: adapters, stubs, the interpreter.
[[nodiscard]] bool is_jit_stub(std::string_view function);

/// The executable or a shared object of a virtual machine: node, libjvm.so.
[[nodiscard]] bool is_virtual_machine(std::string_view path);

}  // namespace geiger::profile
