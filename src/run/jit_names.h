// Asks virtual machines for the names of the functions that they compile: they write perf maps,
// which the names of a recording are looked up in.
#pragma once

#include <string>
#include <vector>

#include "base/outcome.h"
#include "run/environment.h"

namespace geiger::run {

/// Adds options to NODE_OPTIONS: node writes a map, and keeps a frame of its own for each function
/// that it interprets. False if a map was requested already, there or in the program's words: it is
/// the user's then.
bool ask_node(Environment& environment, const std::vector<std::string>& program);

/// Adds the JVM's options after the program's name, because each variable that it reads options
/// from makes it print a line. Fails if the program is not called java; false if a map was
/// requested for already.
[[nodiscard]] base::Outcome<bool> ask_java(std::vector<std::string>& program);

}  // namespace geiger::run
