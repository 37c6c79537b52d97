#include "analysis/symbolize/symbol_set.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "base/index_of.h"

namespace geiger::symbolize {

// The encoding. Everything is a LEB128 varint except the bytes of strings:
//
//   version
//   strings   count, then each: bytes, text
//   frames    count, then each: function, system name, file, line
//   modules   count, then each: path, build id (bytes, text), addresses
//   outside   addresses
//   addresses = count, then each: delta to the one before, frame count, frames

namespace {

constexpr std::uint64_t kPayloadVersion = 1;

/// What a payload may take in memory: a byte of it can stand for an empty string or an
/// address, and frames repeat strings by index while in a recording each holds its own.
/// Real ones stay below 1 KiB per frame and some 100,000 frames.
constexpr std::uint64_t kMaxDecodedBytes = std::uint64_t{256} << 20;

/// Inlined frames of one address; compilers nest a few dozen.
constexpr std::size_t kMaxFramesPerAddress = 1024;

class Writer {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }

  void text(std::string_view text) {
    number(text.size());
    out_ += text;
  }

  void addresses(std::span<const NamedAddress> list) {
    number(list.size());
    Address last = 0;
    for (const NamedAddress& named : list) {
      number(named.address - last);
      last = named.address;
      number(named.frames.size());
      for (const std::uint32_t frame : named.frames) number(frame);
    }
  }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads with one sticky error: after it every number is 0 and every text empty.
class Reader {
 public:
  explicit Reader(std::string_view payload) : payload_(payload) {}

  [[nodiscard]] bool failed() const { return !error_.reason.empty(); }
  [[nodiscard]] bool at_end() const { return position_ == payload_.size(); }
  [[nodiscard]] const base::Failure& error() const { return error_; }

  void fail(std::string message) {
    if (!failed()) error_ = {std::move(message)};
  }

  /// Accounts for memory before it is taken.
  void charge(std::uint64_t bytes) {
    charged_ += bytes;
    if (charged_ > kMaxDecodedBytes) fail("names too large");
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (failed() || at_end()) break;
      const auto byte = static_cast<unsigned char>(payload_[position_]);
      if (shift == 63 && byte > 1) break;
      ++position_;
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    fail("bad number");
    return 0;
  }

  /// A number of items that each take at least `item_bytes` of what is left, and
  /// `memory` when decoded.
  std::size_t count(std::size_t item_bytes, std::size_t memory) {
    const std::uint64_t value = number();
    if (value <= (payload_.size() - position_) / item_bytes) {
      charge(value * memory);
      return failed() ? 0 : value;
    }
    fail("count larger than the payload");
    return 0;
  }

  std::uint32_t index(std::size_t size, const char* what) {
    const std::uint64_t value = number();
    if (value < size) return static_cast<std::uint32_t>(value);
    fail(what);
    return 0;
  }

  std::string_view text() {
    const std::size_t bytes = count(1, 1);
    const std::string_view text = payload_.substr(position_, bytes);
    position_ += bytes;
    return text;
  }

 private:
  std::string_view payload_;
  std::size_t position_ = 0;
  std::uint64_t charged_ = 0;
  base::Failure error_;
};

void read_strings(Reader& reader, SymbolSet& set) {
  const std::size_t count = reader.count(1, sizeof(std::string));
  set.strings.reserve(count);
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    set.strings.emplace_back(reader.text());
  }
}

void read_frames(Reader& reader, SymbolSet& set) {
  const std::size_t count = reader.count(4, sizeof(NamedFrame));
  const std::size_t strings = set.strings.size();
  set.frames.reserve(count);
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    NamedFrame frame;
    frame.function = reader.index(strings, "frame names an unknown string");
    frame.system_name = reader.index(strings, "frame names an unknown string");
    frame.file = reader.index(strings, "frame names an unknown string");
    frame.line = reader.index(std::numeric_limits<std::uint32_t>::max(), "line out of range");
    if (reader.failed()) return;
    for (const std::uint32_t text : {frame.function, frame.system_name, frame.file}) {
      reader.charge(set.strings[text].size());
    }
    set.frames.push_back(frame);
  }
}

NamedAddress read_address(Reader& reader, Address last, bool is_first, std::size_t frames) {
  NamedAddress named;
  const std::uint64_t delta = reader.number();
  named.address = last + delta;
  const bool is_ascending = named.address > last || (is_first && delta == 0);
  if (!is_ascending) reader.fail("addresses do not ascend");
  const std::size_t count = reader.count(1, sizeof(std::uint32_t));
  if (count > kMaxFramesPerAddress) reader.fail("too many frames at one address");
  if (reader.failed()) return named;
  named.frames.reserve(count);
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    named.frames.push_back(reader.index(frames, "address names an unknown frame"));
  }
  return named;
}

std::vector<NamedAddress> read_addresses(Reader& reader, std::size_t frames) {
  std::vector<NamedAddress> list;
  const std::size_t count = reader.count(2, sizeof(NamedAddress));
  list.reserve(count);
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    const Address last = list.empty() ? 0 : list.back().address;
    list.push_back(read_address(reader, last, i == 0, frames));
  }
  return list;
}

void read_modules(Reader& reader, SymbolSet& set) {
  const std::size_t count = reader.count(3, sizeof(ModuleNames));
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    ModuleNames module;
    module.path = reader.text();
    module.build_id = reader.text();
    module.addresses = read_addresses(reader, set.frames.size());
    set.modules.push_back(std::move(module));
  }
}

}  // namespace

std::size_t SymbolSetBuilder::FrameHash::operator()(const NamedFrame& frame) const {
  std::uint64_t hash = frame.function;
  for (const std::uint32_t part : {frame.system_name, frame.file, frame.line}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

std::uint32_t SymbolSetBuilder::string(std::string_view text) {
  const auto found = strings_.find(text);
  if (found != strings_.end()) return found->second;
  const auto index = static_cast<std::uint32_t>(set_.strings.size());
  set_.strings.emplace_back(text);
  strings_.emplace(text, index);
  return index;
}

std::uint32_t SymbolSetBuilder::frame(const NamedFrame& frame) {
  return base::index_of(frames_, frame, set_.frames);
}

const NamedAddress* find_address(const std::vector<NamedAddress>& addresses, Address address) {
  const auto before = [](const NamedAddress& named, Address value) {
    return named.address < value;
  };
  const auto at = std::lower_bound(addresses.begin(), addresses.end(), address, before);
  return at != addresses.end() && at->address == address ? &*at : nullptr;
}

std::string encode(const SymbolSet& set) {
  Writer writer;
  writer.number(kPayloadVersion);
  writer.number(set.strings.size());
  for (const std::string& text : set.strings) writer.text(text);
  writer.number(set.frames.size());
  for (const NamedFrame& frame : set.frames) {
    writer.number(frame.function);
    writer.number(frame.system_name);
    writer.number(frame.file);
    writer.number(frame.line);
  }
  writer.number(set.modules.size());
  for (const ModuleNames& module : set.modules) {
    writer.text(module.path);
    writer.text(module.build_id);
    writer.addresses(module.addresses);
  }
  writer.addresses(set.outside);
  return std::move(writer).take();
}

base::Outcome<SymbolSet> decode(std::string_view payload) {
  Reader reader(payload);
  SymbolSet set;
  if (reader.number() != kPayloadVersion) reader.fail("unknown version of the symbols");
  if (!reader.failed()) read_strings(reader, set);
  if (!reader.failed()) read_frames(reader, set);
  if (!reader.failed()) read_modules(reader, set);
  if (!reader.failed()) set.outside = read_addresses(reader, set.frames.size());
  if (!reader.failed() && !reader.at_end()) reader.fail("bytes after the symbols");
  if (reader.failed()) return reader.error();
  return set;
}

std::size_t FrameTable::Hash::operator()(std::uint32_t index) const {
  const profile::Frame& frame = (*frames)[index];
  std::uint64_t hash = frame.line;
  for (const std::string* text : {&frame.function, &frame.system_name, &frame.file}) {
    hash = (hash ^ std::hash<std::string>{}(*text)) * 0x9E3779B97F4A7C15U;
  }
  return hash;
}

bool FrameTable::Equal::operator()(std::uint32_t a, std::uint32_t b) const {
  const auto parts = [](const profile::Frame& frame) {
    return std::tie(frame.line, frame.function, frame.file, frame.system_name);
  };
  return parts((*frames)[a]) == parts((*frames)[b]);
}

FrameTable::FrameTable(profile::Recording& recording)
    : frames_(recording.frames),
      indexes_(recording.frames.size() + 64, Hash{&recording.frames}, Equal{&recording.frames}) {
  for (std::uint32_t i = 0; i < frames_.size(); ++i) indexes_.insert(i);
}

std::uint32_t FrameTable::add(profile::Frame frame) {
  frames_.push_back(std::move(frame));
  const auto [at, is_new] = indexes_.insert(static_cast<std::uint32_t>(frames_.size() - 1));
  if (!is_new) frames_.pop_back();
  return *at;
}

FrameImport::FrameImport(const SymbolSet& set, FrameTable& table)
    : set_(set), table_(table), imported_(set.frames.size(), profile::kNone) {}

std::vector<std::uint32_t> FrameImport::import(const NamedAddress& named) {
  std::vector<std::uint32_t> indexes;
  indexes.reserve(named.frames.size());
  for (const std::uint32_t i : named.frames) {
    if (imported_[i] == profile::kNone) {
      const NamedFrame& frame = set_.frames[i];
      imported_[i] = table_.add({set_.strings[frame.function], set_.strings[frame.system_name],
                                 set_.strings[frame.file], frame.line});
    }
    indexes.push_back(imported_[i]);
  }
  return indexes;
}

}  // namespace geiger::symbolize
