#include "analysis/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/import/byte_source.h"
#include "analysis/import/heap_text.h"
#include "analysis/import/heaptrack.h"
#include "analysis/import/pprof.h"
#include "analysis/ingest/decode/interner.h"
#include "analysis/ingest/files.h"

namespace geiger::imports {
namespace {

using ingest::Error;

/// Of a pprof message, unpacked: it is held whole. Go's own reader has no limit, none of its
/// profiles is near.
constexpr std::uint64_t kMostPprof = std::uint64_t{512} << 20;
constexpr std::size_t kHead = 4096;
/// Enough of a pprof message to tell it by; a field may be cut off at its end.
constexpr std::size_t kPprofHead = 64;

/// Files that people try, by their first bytes, unpacked.
struct OtherKind {
  std::string_view start, name;
};
constexpr std::array kOtherKinds{
    OtherKind{"desc:", "a massif file of valgrind"},
    OtherKind{"# callgrind format", "a callgrind file of valgrind"},
    OtherKind{"version: 1\ncreator: callgrind", "a callgrind file of valgrind"},
    OtherKind{"{\"dhatFileVersion\"", "a DHAT file of valgrind"},
    OtherKind{"PERFILE2", "a perf.data file of perf"},
    OtherKind{"\x7f"
              "ELF",
              "a program, library or core dump"},
    OtherKind{"memray", "a recording of Memray"},
    OtherKind{"JAVA PROFILE", "a heap dump of Java (hprof)"},
    OtherKind{"FLR", "a recording of Java Flight Recorder"},
    OtherKind{"{\"snapshot\":{\"meta\"", "a heap snapshot of V8"},
    OtherKind{"SQLite format 3", "an SQLite database"},
    OtherKind{"\xfd"
              "7zXZ",
              "compressed by xz, which geiger does not unpack"},
    OtherKind{"BZh", "compressed by bzip2, which geiger does not unpack"},
    OtherKind{"\x04\x22\x4d\x18", "compressed by lz4, which geiger does not unpack"},
    OtherKind{"PK\x03\x04", "a zip archive"},
};

ReadStored reader_of(const ingest::InputFile& file, std::uint64_t& at) {
  return [&file, &at](std::span<std::byte> buffer) {
    const std::size_t count = file.read_at(at, buffer);
    at += count;
    return count;
  };
}

std::optional<Format> format_in(std::string_view head) {
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  if (is_heap_text(head)) return Format::kHeapText;
  if (is_heaptrack(head)) return Format::kHeaptrack;
  if (is_pprof(head.substr(0, kPprofHead))) return Format::kPprof;
  return std::nullopt;
}

std::string head_of(ByteSource& source) {
  std::string head(kHead, '\0');
  head.resize(source.read(std::as_writable_bytes(std::span(head))));
  return head;
}

class Importer {
 public:
  Importer() : interner_(imported_.recording) {}

  void read(const std::string& path, Format format, ByteSource& source) {
    ForeignProcess process(imported_.recording, interner_, path);
    Origin origin{path, "", {}};
    const auto read = read_as(format, source, process, origin);
    if (!read.has_value()) {
      Error error = read.failure();
      error.path = path;
      fail(std::move(error));
    }
    imported_.origins.push_back(std::move(origin));
  }

  void fail(Error error) {
    imported_.recording.warnings.push_back(error.text());
    imported_.recording.is_damaged = true;
    imported_.errors.push_back(std::move(error));
  }

  Imported finish() {
    profile::Recording& recording = imported_.recording;
    recording.is_symbolized = std::ranges::none_of(
        recording.locations, [](const profile::Location& each) { return each.frames.empty(); });
    return std::move(imported_);
  }

 private:
  ingest::FileOutcome read_as(Format format, ByteSource& source, ForeignProcess& process,
                              Origin& origin) {
    if (format == Format::kPprof) {
      const auto bytes = GEIGER_TRY(read_all(source, kMostPprof));
      return read_pprof(bytes, process, origin);
    }
    Lines lines(source);
    if (format == Format::kHeapText) return read_heap_text(lines, process, origin);
    return read_heaptrack(lines, imported_.recording, process, origin);
  }

  Imported imported_;
  ingest::Interner interner_;
};

}  // namespace

namespace {

/// Empty where it cannot be read.
std::string head_of_file(const std::string& path) {
  ingest::InputFile file;
  if (!file.open(path).has_value()) return "";
  std::uint64_t at = 0;
  ByteSource source(path, reader_of(file, at));
  return head_of(source);
}

}  // namespace

std::optional<Format> format_of(const std::string& path) { return format_in(head_of_file(path)); }

std::string refusal_of(const std::string& path) {
  const std::string head = head_of_file(path);
  const auto kind = std::ranges::find_if(
      kOtherKinds, [&](const OtherKind& other) { return head.starts_with(other.start); });
  if (kind == kOtherKinds.end()) return "";
  return fmt::format(
      "{} is {}; besides its own traces geiger reads pprof, heap profiles of gperftools, tcmalloc, "
      "jemalloc and Go, and heaptrack",
      path, kind->name);
}

Imported read_files(std::span<const std::string> paths, const ImportProgress& progress) {
  Importer importer;
  for (const std::string& path : paths) {
    ingest::InputFile file;
    if (const auto opened = file.open(path); !opened.has_value()) {
      importer.fail(opened.failure());
      continue;
    }
    const auto format = format_of(path);
    if (!format) {
      importer.fail({path, std::nullopt, "not a profile of a known kind"});
      continue;
    }
    std::uint64_t at = 0;
    const ReadStored read = reader_of(file, at);
    ByteSource source(path, [&](std::span<std::byte> buffer) {
      const std::size_t count = read(buffer);
      if (progress) progress(at, file.size());
      return count;
    });
    importer.read(path, *format, source);
  }
  return importer.finish();
}

Imported read_bytes(std::string_view bytes, const std::string& name, std::optional<Format> format) {
  std::size_t at = 0;
  const ReadStored read = [bytes, &at](std::span<std::byte> buffer) {
    const std::size_t count = std::min(buffer.size(), bytes.size() - at);
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()) + at, count, buffer.data());
    at += count;
    return count;
  };
  Importer importer;
  if (!format) {
    ByteSource head(name, read);
    format = format_in(head_of(head));
    at = 0;
  }
  if (!format) {
    importer.fail({name, std::nullopt, "not a profile of a known kind"});
    return importer.finish();
  }
  ByteSource source(name, read);
  importer.read(name, *format, source);
  return importer.finish();
}

}  // namespace geiger::imports
