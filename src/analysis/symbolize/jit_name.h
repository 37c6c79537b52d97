// What the names in perf maps say: V8 puts the place of a function after its name, the JVM the
// type of its result before it.
#pragma once

#include <string_view>

#include "analysis/profile/recording.h"

namespace geiger::symbolize {

/// The frame of a line's name:
///
///   JS:*handler /srv/app.js:12:17        V8: handler, at line 12 of /srv/app.js, where it begins
///   void app.Leak.remember(int)          HotSpot: app.Leak.remember(int)
///
/// V8's marks for how it compiled a function (~ + ^ *) are left out, so that each is one function.
/// Other names are functions as they are.
[[nodiscard]] profile::Frame jit_frame(std::string_view name);

}  // namespace geiger::symbolize
