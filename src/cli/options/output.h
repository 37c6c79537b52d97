// Where an export is written: standard output, or a file that appears whole.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/ingest/files.h"
#include "base/outcome.h"

namespace CLI {
class App;
}

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

// --svg FILE: a report as a picture.

struct PictureOptions {
  std::string path;  ///< Empty: no picture.
  bool replaces = false;
};

/// --svg FILE and -f.
void add_picture_options(CLI::App& verb, PictureOptions& options);

/// Whether the file can be written, as far as that can be known before the work is done.
base::Outcome<void> may_write(const PictureOptions& options);

/// Draws and writes the picture, if requested.
base::Outcome<void> write_picture(const PictureOptions& options,
                                  const std::function<std::string()>& draw);

}  // namespace geiger::cli
