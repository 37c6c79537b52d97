#include "analysis/import/import.h"

#include <algorithm>
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
constexpr std::size_t kHead = 64;

ReadStored reader_of(const ingest::InputFile& file, std::uint64_t& at) {
  return [&file, &at](std::span<std::byte> buffer) {
    const std::size_t count = file.read_at(at, buffer);
    at += count;
    return count;
  };
}

std::optional<Format> format_in(std::string_view head) {
  if (is_heap_text(head)) return Format::kHeapText;
  if (is_heaptrack(head)) return Format::kHeaptrack;
  if (is_pprof(head)) return Format::kPprof;
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

std::optional<Format> format_of(const std::string& path) {
  ingest::InputFile file;
  if (!file.open(path).has_value()) return std::nullopt;
  std::uint64_t at = 0;
  ByteSource source(path, reader_of(file, at));
  return format_in(head_of(source));
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
