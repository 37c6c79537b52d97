// Where an export is written: standard output, or a file that appears whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/ingest/output_file.h"
#include "base/outcome.h"

namespace geiger::cli {

/// A regular file is written beside its name and renamed by commit(). Devices
/// and pipes (-o /dev/stderr) are written as they are. Remembers the first error.
class Output {
 public:
  /// `path` "-" is standard output. An existing file is an error unless `replaces`.
  Output(std::string path, bool replaces);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  /// Finishes the output; call it once.
  base::Outcome<void> commit();

  /// Of all so far.
  [[nodiscard]] const base::Outcome<void>& outcome() const { return outcome_; }

 private:
  void open();
  void fail(const std::string& reason);  ///< Of the path.
  void take(const ingest::FileOutcome& outcome);

  std::string path_;
  bool replaces_;
  int descriptor_ = -1;  ///< Of what is written as it is.
  std::unique_ptr<ingest::OutputFile> file_;
  base::Outcome<void> outcome_;
};

}  // namespace geiger::cli
