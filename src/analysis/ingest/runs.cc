#include "analysis/ingest/runs.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <tuple>
#include <utility>

#include "trace/format.h"

namespace geiger::ingest {
namespace {

namespace fs = std::filesystem;

bool is_trace_name(const fs::path& path) { return path.extension() == ".geiger"; }

/// geiger-NAME.PID
bool is_run_name(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (!name.starts_with("geiger-") || dot == std::string::npos || dot + 1 == name.size()) {
    return false;
  }
  return name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
}

bool is_run(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_directory(ignored)) return is_run_name(entry.path().filename());
  return entry.is_regular_file(ignored) && is_trace_name(entry.path());
}

/// When the image began to sample; the largest number if the file does not contain it.
Nanoseconds began_at(const std::string& path) {
  constexpr auto kNever = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds began = 0;
  std::ifstream file(path, std::ios::binary);
  file.seekg(offsetof(trace::FileHeader, start_realtime));
  file.read(reinterpret_cast<char*>(&began), sizeof began);
  return file && began != 0 ? began : kNever;
}

void sort_by_beginning(std::vector<std::string>& paths) {
  std::vector<std::pair<Nanoseconds, std::string>> dated;
  dated.reserve(paths.size());
  for (std::string& path : paths) dated.emplace_back(began_at(path), std::move(path));
  std::ranges::sort(dated);
  std::ranges::transform(dated, paths.begin(), [](auto& each) { return std::move(each.second); });
}

Error directory_error(const std::string& path, const std::error_code& code) {
  return {path, std::nullopt, "cannot be read: " + code.message()};
}

}  // namespace

TraceFiles traces_in(const std::string& path) {
  TraceFiles files;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    files.paths.push_back(path);
    return files;
  }
  for (fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (is_trace_name(entry->path()) && entry->is_regular_file(ignored)) {
      files.paths.push_back(entry->path());
    }
  }
  if (code) files.error = directory_error(path, code);
  if (!code && files.paths.empty()) files.error = Error{path, std::nullopt, "contains no traces"};
  sort_by_beginning(files.paths);
  return files;
}

std::optional<std::string> newest_run(const std::string& directory) {
  std::optional<std::tuple<fs::file_time_type, std::string>> newest;
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code gone;
    const fs::file_time_type time = entry->last_write_time(gone);
    if (gone || !is_run(*entry)) continue;
    const std::tuple candidate(time, entry->path().string());
    if (!newest || *newest < candidate) newest = candidate;
  }
  if (!newest) return std::nullopt;
  return std::get<1>(*newest);
}

}  // namespace geiger::ingest
