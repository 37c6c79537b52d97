// Everything that reads a trace is a sink: it handles the structures that it needs and ignores the
// others, so a new type of record needs a function only in the sinks that use it.
#pragma once

#include <type_traits>

#include "trace/reader.h"
#include "trace/record_types.h"

namespace geiger::trace {

/// A sink derives from this, declares `using RecordSink::on;` and overloads `on` for the structures
/// that it needs.
struct RecordSink {
  template <class Layout>
  void on(const Record& /*record*/, const Layout& /*layout*/) {}
};

/// Hands a record to a sink. A void CarriedRecord carries nothing, so no sink sees it.
template <class Sink>
void hand_over(const Record& record, Sink& sink) {
  with_layout(record.header.type, [&](auto layout) {
    using Layout = typename decltype(layout)::type;
    constexpr bool kMayBeVoid = std::is_same_v<Layout, CarriedRecord>;
    if (kMayBeVoid && (record.header.flags & kFlagVoid) != 0) return;
    sink.on(record, record.as<Layout>());
  });
}

}  // namespace geiger::trace
