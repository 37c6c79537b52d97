// INSERT statements, some rows at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/export/streams/sink.h"

namespace geiger::exports {

/// Writes rows into one table; the columns come in the table's order. finish()
/// writes the rest. Each call of the sink is one whole statement.
class InsertWriter {
 public:
  InsertWriter(std::string_view table, const Sink& sink);

  InsertWriter& begin_row();
  InsertWriter& integer(std::uint64_t value);  ///< At most 2^63 - 1 is written.
  InsertWriter& signed_integer(std::int64_t value);
  InsertWriter& number(double value);  ///< NULL unless finite; shortest text that reads back.
  InsertWriter& boolean(bool value);   ///< 0 or 1.
  /// Quoted; invalid UTF-8 and NUL, which no database takes, become U+FFFD. A script is also shown
  /// on terminals: characters that they act on are escaped, and the database reads them back.
  InsertWriter& text(std::string_view value);
  void end_row();
  void finish();

 private:
  void separate();

  std::string_view table_;
  const Sink& sink_;
  std::string statement_;
  bool needs_comma_ = false;
};

}  // namespace geiger::exports
