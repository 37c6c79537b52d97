#include "analysis/import/heap_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace geiger::imports {
namespace {

using ingest::Error;

constexpr std::string_view kJemalloc = "heap_v2/";
constexpr std::string_view kGperftools = "heap profile:";
constexpr std::string_view kGo = "heap/";
constexpr std::string_view kSymbols = "--- symbol";
constexpr std::string_view kHeap = "--- heap";
constexpr std::string_view kMapped = "MAPPED_LIBRARIES:";

bool is_header(std::string_view line) {
  return line.starts_with(kJemalloc) || line.starts_with(kGperftools) || line.starts_with(kSymbols);
}

/// "3: 4096 [10: 8192]": live objects and bytes, and in brackets those ever allocated.
struct Numbers {
  std::uint64_t live = 0, allocated = 0;
  Bytes live_bytes = 0, allocated_bytes = 0;
  bool is_negative = false;  ///< One of them is below 0, and here its absolute value.
};

std::optional<Numbers> take_numbers(std::string_view& text) {
  Numbers numbers;
  std::string_view rest = text;
  const auto pair = [&](std::uint64_t& count, Bytes& bytes) {
    numbers.is_negative |= take(rest, "-");
    const auto first = take_decimal(rest);
    if (!first || !take(rest, ":")) return false;
    numbers.is_negative |= take(rest, "-");
    const auto second = take_decimal(rest);
    if (!second) return false;
    count = *first;
    bytes = *second;
    return true;
  };
  if (!pair(numbers.live, numbers.live_bytes) || !take(rest, "[")) return std::nullopt;
  if (!pair(numbers.allocated, numbers.allocated_bytes) || !take(rest, "]")) return std::nullopt;
  text = rest;
  return numbers;
}

struct Row {
  std::vector<Address> addresses;  ///< Leaf first.
  Numbers numbers;
};

struct MappedFile {
  Address start = 0, end = 0;
  std::uint64_t offset = 0;
  std::string path;
};

/// A line of /proc/PID/maps; nothing of what is no file, or does not read like one.
std::optional<MappedFile> mapped_file(std::string_view line) {
  MappedFile file;
  const auto start = take_hexadecimal(line);
  if (!start || !take(line, "-")) return std::nullopt;
  const auto end = take_hexadecimal(line);
  const std::size_t slash = line.find('/');
  if (!end || slash == std::string_view::npos) return std::nullopt;
  line = trimmed(line);
  const std::size_t behind_permissions = line.find(' ');
  if (behind_permissions == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(behind_permissions);
  const auto offset = take_hexadecimal(rest);
  if (!offset) return std::nullopt;
  std::string_view path = rest.substr(std::min(rest.find('/'), rest.size()));
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return MappedFile{*start, *end, *offset, std::string(path)};
}

class HeapTextReader {
 public:
  HeapTextReader(Lines& lines, ForeignProcess& process, Origin& origin)
      : lines_(lines), process_(process), origin_(origin) {}

  ingest::FileOutcome read() {
    auto line = lines_.next();
    while (line && !is_header(*line)) line = lines_.next();
    if (line && line->starts_with(kSymbols)) line = read_symbols();
    if (!error_) read_header(line.value_or(""));
    while (!error_ && (line = lines_.next())) read_line(*line);
    if (!error_) error_ = lines_.error();
    store();
    if (error_) return *error_;
    return {};
  }

 private:
  void fail(std::string_view reason) {
    error_ = Error{"", std::nullopt, fmt::format("line {}: {}", lines_.number(), reason)};
  }

  /// "0x1234 outer--inner" up to "---", after which jeprof writes "--- heap"; returns the header.
  std::optional<std::string_view> read_symbols() {
    while (auto line = lines_.next()) {
      if (line->starts_with(kHeap)) return lines_.next();
      if (line->starts_with(kGperftools)) return line;
      if (line->starts_with("binary=")) process_.process().executable = line->substr(7);
      const auto address = take_hexadecimal(*line);
      if (address) symbols_.try_emplace(*address, trimmed(*line));
    }
    return std::nullopt;
  }

  void read_header(std::string_view line) {
    if (line.starts_with(kJemalloc)) {
      is_jemalloc_ = true;
      line.remove_prefix(kJemalloc.size());
      return set_interval(line, "heap profile of jemalloc", 1);
    }
    if (!take(line, kGperftools)) return fail("not a heap profile");
    const auto totals = take_numbers(line);
    if (!totals || !take(line, "@")) return fail("the header of a heap profile is damaged");
    repeats_live_ =
        totals->live == totals->allocated && totals->live_bytes == totals->allocated_bytes;
    if (take(line, kJemalloc)) return set_interval(line, "heap sample of tcmalloc", 1);
    if (take(line, kGo)) return set_interval(line, "heap profile of Go", 2);
    if (take(line, "heapprofile")) {
      repeats_live_ = false;
      origin_.what = "heap profile of gperftools, every allocation counted";
      return;
    }
    fail(fmt::format("unknown kind of heap profile '{}'", trimmed(line)));
  }

  /// The header of some has `times` the interval.
  void set_interval(std::string_view text, std::string_view what, std::uint64_t times) {
    const std::uint64_t interval = take_decimal(text).value_or(0) / times;
    if (interval == 0) return fail("the sampling interval is missing");
    process_.set_interval(static_cast<double>(interval));
    origin_.what = fmt::format("{}, one byte in {} sampled on average", what, interval);
    if (interval > 1) {
      origin_.notes.emplace_back(
          "rows contain sample counts and bytes only: all objects of a row are assumed to have the "
          "average size");
    }
    if (is_jemalloc_) {
      origin_.notes.emplace_back("sizes are those of its size classes, not the requested ones");
    }
  }

  void read_line(std::string_view line) {
    if (line.starts_with(kMapped)) {
      is_mapped_ = true;
    } else if (is_mapped_) {
      if (auto file = mapped_file(line)) files_.push_back(std::move(*file));
    } else if (is_jemalloc_) {
      read_jemalloc(line);
    } else if (take(line, "#")) {
      read_go_frame(line);
    } else if (!trimmed(line).empty()) {
      read_gperftools(line);
    }
  }

  /// "0x46d0e3 main.main+0x23 /src/x.go:8" of a comment below a row, a line for each frame, inlined
  /// ones first: the call that an address of the row returns from.
  void read_go_frame(std::string_view line) {
    line = trimmed(line);
    if (!line.starts_with("0x")) return;
    const auto address = take_hexadecimal(line);
    line = trimmed(line);
    const std::size_t end = line.find('\t');
    if (!address || end == std::string_view::npos) return;
    profile::Frame frame;
    frame.function = line.substr(0, line.substr(0, end).rfind("+0x"));
    std::string_view place = trimmed(line.substr(end));
    const std::size_t colon = place.rfind(':');
    frame.file = place.substr(0, colon);
    if (colon != std::string_view::npos) place.remove_prefix(colon + 1);
    frame.line = static_cast<std::uint32_t>(take_decimal(place).value_or(0));
    std::vector<profile::Frame>& frames = go_frames_[*address];
    const auto is_same = [&](const profile::Frame& other) {
      return other.function == frame.function && other.line == frame.line;
    };
    if (std::ranges::none_of(frames, is_same)) frames.push_back(std::move(frame));
  }

  /// "@ 0x1 0x2" begins a stack, "  t*: numbers" has its numbers for all threads; the first is for
  /// all stacks. Lines of single threads repeat it.
  void read_jemalloc(std::string_view line) {
    if (take(line, "@")) {
      rows_.push_back({addresses_in(line), {}});
      return;
    }
    if (!take(line, "t*:")) return;
    const auto numbers = take_numbers(line);
    if (!numbers) return fail("the numbers of a row are damaged");
    if (!rows_.empty()) rows_.back().numbers = *numbers;
  }

  void read_gperftools(std::string_view line) {
    const auto numbers = take_numbers(line);
    if (!numbers || !take(line, "@")) return fail("the numbers of a row are damaged");
    if (numbers->is_negative) {
      ++negative_rows_;
    } else {
      rows_.push_back({addresses_in(line), *numbers});
    }
  }

  std::vector<Address> addresses_in(std::string_view line) {
    std::vector<Address> addresses;
    while (const auto address = take_hexadecimal(line)) addresses.push_back(*address);
    if (!trimmed(line).empty()) fail("an address is damaged");
    return addresses;
  }

  void store() {
    for (const MappedFile& file : files_) {
      process_.map_file(file.path, "", file.start, file.end, file.offset);
    }
    name_program();
    bool has_allocated = false;
    for (const Row& row : rows_) has_allocated |= row.numbers.allocated > 0;
    has_allocated = has_allocated && !repeats_live_;
    if (!has_allocated) {
      process_.set_live_only();
      origin_.notes.emplace_back("it contains only the heap that was live when it was written");
    }
    for (const Row& row : rows_) store_row(row, has_allocated);
    if (negative_rows_ > 0) {
      origin_.notes.push_back(fmt::format(
          "{} with negative numbers (more unmapped than mapped) left out, as google-pprof does",
          negative_rows_ == 1 ? "1 row" : fmt::format("{} rows", negative_rows_)));
    }
  }

  void store_row(const Row& row, bool has_allocated) {
    std::vector<std::uint32_t> locations;
    locations.reserve(row.addresses.size());
    for (const Address address : row.addresses) locations.push_back(location_of(address));
    const std::uint32_t stack = process_.stack(std::move(locations));
    const Numbers& numbers = row.numbers;
    add_bytes_alone(stack, numbers, has_allocated);
    process_.add(stack, {numbers.live, numbers.live_bytes, false});
    const bool has_freed = has_allocated && numbers.allocated > numbers.live &&
                           numbers.allocated_bytes >= numbers.live_bytes;
    if (!has_freed) return;
    process_.add(stack, {numbers.allocated - numbers.live,
                         numbers.allocated_bytes - numbers.live_bytes, true});
  }

  /// Bytes of no objects are what geiger knows for certain: readers do not scale them.
  void add_bytes_alone(std::uint32_t stack, const Numbers& numbers, bool has_allocated) {
    const Bytes live = numbers.live == 0 ? numbers.live_bytes : 0;
    const Bytes allocated = numbers.allocated == 0 ? numbers.allocated_bytes : 0;
    if (live > 0) process_.add(stack, {1, live, false, true});
    if (has_allocated && allocated > live) process_.add(stack, {1, allocated - live, true, true});
  }

  /// Callers are looked up one byte before where they return to.
  std::uint32_t location_of(Address address) {
    const std::uint32_t location = process_.location_of_return(address);
    auto known = symbols_.find(address);
    if (known == symbols_.end()) known = symbols_.find(address - 1);
    if (known != symbols_.end()) process_.name(location, frames_of(known->second));
    const auto go = go_frames_.find(address - 1);
    if (go != go_frames_.end() && !process_.has_names(location))
      process_.name(location, go->second);
    return location;
  }

  static std::vector<profile::Frame> frames_of(std::string_view names) {
    std::vector<profile::Frame> frames;
    for (;;) {
      const std::size_t end = names.find("--");
      frames.insert(frames.begin(), profile::Frame{std::string(names.substr(0, end)), "", "", 0});
      if (end == std::string_view::npos) return frames;
      names.remove_prefix(end + 2);
    }
  }

  /// The first file of a map is the program, and the allocator is a library unless it is in it.
  void name_program() {
    profile::Process& process = process_.process();
    if (!files_.empty()) process.executable = process.allocator = files_.front().path;
    for (const MappedFile& file : files_) {
      const bool is_allocator = file.path.find("/libjemalloc") != std::string::npos ||
                                file.path.find("/libtcmalloc") != std::string::npos;
      if (is_allocator) process.allocator = file.path;
    }
  }

  Lines& lines_;
  ForeignProcess& process_;
  Origin& origin_;
  std::optional<Error> error_;
  bool is_jemalloc_ = false, is_mapped_ = false;
  bool repeats_live_ = false;  ///< Values in brackets equal those before them.
  std::vector<Row> rows_;
  std::vector<MappedFile> files_;
  std::map<Address, std::string> symbols_;
  std::map<Address, std::vector<profile::Frame>> go_frames_;
  std::uint64_t negative_rows_ = 0;
};

}  // namespace

// What was printed before a profile, to the same file, is text.
bool is_heap_text(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    if (is_header(line)) return true;
    const auto is_binary = [](char c) { return static_cast<unsigned char>(c) < '\t'; };
    if (std::ranges::any_of(line, is_binary)) return false;
    head.remove_prefix(std::min(head.size(), line.size() + 1));
  }
  return false;
}

ingest::FileOutcome read_heap_text(Lines& lines, ForeignProcess& process, Origin& origin) {
  return HeapTextReader(lines, process, origin).read();
}

}  // namespace geiger::imports
