// What distinguishes plumbing from the code of programs: tables of names only; frame_roles.h
// decides.
#pragma once

#include <string_view>

namespace geiger::profile {

// Which functions allocate memory themselves, by their names: what the entry points are called in
// C, C++, Rust and the usual allocators. Wrappers that programs write are not among them;
// frame_roles.h handles those.

/// Whether a function of this name allocates memory itself: malloc and its kin,
/// operator new, Rust's global allocator and `Global`, and what jemalloc, tcmalloc and
/// mimalloc call theirs.
[[nodiscard]] bool is_allocation_function(std::string_view name);

/// Whether the function only passes an allocation on, so that its caller determines
/// the type: what lies between an allocator of typed objects and one of bytes.
[[nodiscard]] bool passes_allocation_on(std::string_view function);

// Code that node's and the JVM's compilers made while the program ran, which perf maps name: whose
// it is. Its frames have no module. Tables only; frame_roles.h decides.

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

// What distinguishes plumbing from the code of programs: names of functions, paths of modules and
// of source files. Tables only; frame_roles.h decides.

/// Whether a function's name is only an address, "module+0x1234": what frames are called whose
/// symbol is unknown.
[[nodiscard]] bool is_address_name(std::string_view function);

/// The name without the return type of a function template: "std::move<int>(int&)" of
/// "int&& std::move<int>(int&)".
[[nodiscard]] std::string_view without_return_type(std::string_view function);

/// Wrappers of malloc under the names that programs give them: xmalloc, g_malloc0, palloc,
/// sqlite3DbMallocRaw, an operator new of a class.
[[nodiscard]] bool is_allocation_wrapper(std::string_view function);

/// Standard libraries, and containers that other libraries instantiate in their users.
[[nodiscard]] bool is_of_standard_library(std::string_view function);

/// What runs before main, and below the function of a thread.
[[nodiscard]] bool is_start_up(std::string_view function);

/// Loops and calls of interpreters: the script decides what they run.
[[nodiscard]] bool is_dispatch(std::string_view function);

/// libc, the loader, libstdc++ and what belongs to them; allocators that are libraries.
[[nodiscard]] bool is_standard_module(std::string_view path);

/// A shared object that the system, and not the project, installed.
[[nodiscard]] bool is_system_path(std::string_view path);

/// A source file of a standard library: a template or an inlined function.
[[nodiscard]] bool is_standard_source(std::string_view file);

/// A source file that a package manager fetched, or a header that the system installed.
[[nodiscard]] bool is_package_source(std::string_view file);

/// An executable or shared object of the Python interpreter: python3.11, libpython3.11.so.1.0.
[[nodiscard]] bool is_python_module(std::string_view path);

/// A function of the Python interpreter by its name, wherever it is linked into.
[[nodiscard]] bool is_python_function(std::string_view function);

/// A source file or a shared object of Python's own library, or of an installed package.
[[nodiscard]] bool is_python_library(std::string_view path);

/// Code without a file, which a library made: methods of dataclasses, of attrs and of named tuples,
/// numpy's dispatchers ("<__array_function__ internals>"), the interpreter's frozen modules. Also a
/// program that is given as text ("<string>" of python -c).
[[nodiscard]] bool is_generated_python(std::string_view file);

/// Code that Python runs between functions of programs: imports, generated methods.
[[nodiscard]] bool is_python_dispatch(std::string_view function, std::string_view file);

/// Code of Python below the functions of threads, and the scripts that packages install.
[[nodiscard]] bool is_python_start_up(std::string_view function, std::string_view file);

}  // namespace geiger::profile
