#include "analysis/ingest/decode/image.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "base/path.h"

namespace geiger::ingest {
namespace {

/// Whether a line of /proc/PID/maps maps the file shared and writable. The inode
/// and the name must agree; devices may not, on overlay and btrfs.
bool maps_file(const std::string& line, std::uint64_t inode, const std::string& name) {
  std::istringstream fields(line);
  std::string range;
  std::string permissions;
  std::string offset;
  std::string device;
  std::string path;
  std::uint64_t mapped = 0;
  fields >> range >> permissions >> offset >> device >> mapped;
  std::getline(fields, path);
  return mapped == inode && permissions.starts_with("rw") && permissions.ends_with("s") &&
         path.ends_with("/" + name);
}

}  // namespace

FileOutcome Image::read(const InputFile& file, std::uint64_t offset, std::uint32_t index) {
  offset_ = offset;
  index_ = index;
  const auto page = std::as_writable_bytes(std::span(page_));
  const std::size_t count = file.read_at(offset, page);
  const std::uint64_t available = file.size() - offset;
  const trace::TraceError fault =
      trace::read_header(page.first(count), std::max<std::uint64_t>(available, count), extent_);
  if (fault.fault == trace::Fault::kNone) return {};
  return trace_fault(file.path(), offset, fault);
}

bool is_being_written(const InputFile& file, const Image& image) {
  const trace::State state = image.header().state.load(std::memory_order_relaxed);
  const bool has_ended = state == trace::State::kExited || state == trace::State::kStopped;
  if (image.extent().is_sealed || has_ended) return false;
  std::ifstream maps(fmt::format("/proc/{}/maps", image.pid()));
  const std::string name(base::file_name_of(file.path()));
  for (std::string line; std::getline(maps, line);) {
    if (maps_file(line, file.inode(), name)) return true;
  }
  return false;
}

}  // namespace geiger::ingest
