#include "cli/options/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace geiger::cli {

Output::Output(std::string path, bool replaces) : path_(std::move(path)), replaces_(replaces) {
  open();
}

Output::~Output() {
  if (descriptor_ > STDERR_FILENO) close(descriptor_);
}

void Output::open() {
  if (path_ == "-") {
    descriptor_ = STDOUT_FILENO;
    path_ = "standard output";
    return;
  }
  struct stat found {};
  const bool exists = stat(path_.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) return fail("is a directory");
  if (exists && !S_ISREG(found.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(std::strerror(errno));
    return;
  }
  if (exists && !replaces_) return fail("exists (-f replaces it)");
  file_ = std::make_unique<ingest::OutputFile>();
  // A file that is replaced keeps its permissions.
  const auto mode = exists ? std::optional<unsigned>(found.st_mode & 0777) : std::nullopt;
  take(file_->create(path_, mode));
}

void Output::take(const ingest::FileOutcome& outcome) {
  if (!outcome.has_value()) outcome_ = base::Failure{outcome.failure().text()};
}

void Output::fail(const std::string& reason) {
  if (outcome_.has_value()) outcome_ = base::Failure{path_ + ": " + reason};
}

void Output::write(std::string_view bytes) {
  if (!outcome_.has_value()) return;
  if (file_) {
    return take(file_->write(std::as_bytes(std::span(bytes))));
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

base::Outcome<void> Output::commit() {
  if (!outcome_.has_value() || !file_) return outcome_;
  take(file_->commit(replaces_));
  return outcome_;
}

void add_picture_options(CLI::App& verb, PictureOptions& options) {
  verb.add_option("--svg", options.path, "Also draw the result as a picture in this file")
      ->type_name("FILE");
  verb.add_flag("-f,--force", options.replaces, "Replace the file if it exists");
}

base::Outcome<void> may_write(const PictureOptions& options) {
  if (options.path.empty()) return {};
  return Output(options.path, options.replaces).outcome();
}

base::Outcome<void> write_picture(const PictureOptions& options,
                                  const std::function<std::string()>& draw) {
  if (options.path.empty()) return {};
  Output output(options.path, options.replaces);
  output.write(draw());
  return output.commit();
}

}  // namespace geiger::cli
