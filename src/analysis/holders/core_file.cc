#include "analysis/holders/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/holders/registers.h"
#include "analysis/ingest/files.h"
#include "base/text.h"

namespace geiger::holders {

using observe::Mapping;

namespace {

// Of 64-bit machines alike (struct elf_prstatus, struct elf_prpsinfo).
constexpr std::size_t kStatusPid = 32, kStatusRegisters = 112;
constexpr std::size_t kInfoPid = 24, kInfoName = 40, kInfoNameBytes = 16;

template <class Value>
Value value_at(std::string_view bytes, std::size_t at) {
  Value value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Parts of mappings, each in a file; what lies between them is in none.
class CoreMemory : public Memory {
 public:
  struct Stretch {
    Span span;
    int fd = -1;  ///< None: it is not known what was there.
    std::uint64_t offset = 0;
  };

  CoreMemory(Bytes page_bytes, std::vector<Stretch> stretches, std::vector<base::UniqueFd> files)
      : page_bytes_(page_bytes), stretches_(std::move(stretches)), files_(std::move(files)) {}

  void read(std::span<const Piece> pieces, std::byte* into) override {
    for (const Piece& piece : pieces) {
      std::memset(into, 0, piece.bytes);
      for_each_in({piece.start, piece.start + piece.bytes}, [&](const Stretch& stretch, Span part) {
        if (stretch.fd < 0) return;
        const auto bytes = std::span(into + (part.start - piece.start), part.end - part.start);
        unread_ +=
            bytes.size() -
            ingest::read_at(stretch.fd, stretch.offset + (part.start - stretch.span.start), bytes);
      });
      into += piece.bytes;
    }
  }
  [[nodiscard]] bool is_absent(Address /*address*/) const override { return false; }
  [[nodiscard]] Bytes page_bytes() const override { return page_bytes_; }
  [[nodiscard]] Bytes lacks(Span span) const override {
    Bytes bytes = 0;
    for_each_in(span, [&](const Stretch& stretch, Span part) {
      if (stretch.fd < 0) bytes += part.end - part.start;
    });
    return bytes;
  }

 private:
  template <class Visit>
  void for_each_in(Span span, const Visit& visit) const {
    auto at = std::ranges::upper_bound(stretches_, span.start, {},
                                       [](const Stretch& stretch) { return stretch.span.end; });
    for (; at != stretches_.end() && at->span.start < span.end; ++at) {
      visit(*at, Span{std::max(span.start, at->span.start), std::min(span.end, at->span.end)});
    }
  }

  Bytes page_bytes_;
  std::vector<Stretch> stretches_;  ///< In order of addresses.
  std::vector<base::UniqueFd> files_;
};

bool is_trace(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path.ends_with(".geiger");
}

}  // namespace

/// Reads the headers and notes. They are untrusted: every number is checked before it is used.
class CoreReader {
 public:
  explicit CoreReader(CoreFile& core) : core_(core) {}

  base::Outcome<void> read() {
    Elf64_Ehdr header{};
    GEIGER_TRY(check(header));
    const std::vector<Elf64_Phdr> headers = GEIGER_TRY(program_headers(header));
    for (const Elf64_Phdr& segment : headers) {
      if (segment.p_type == PT_NOTE) GEIGER_TRY(read_notes(segment));
    }
    if (core_.threads_.empty()) return failure("it has no registers of threads");
    for (const Elf64_Phdr& segment : headers) {
      if (segment.p_type == PT_LOAD) GEIGER_TRY(add_segment(segment));
    }
    add_left_out();
    sort_mappings();
    name_program();
    return {};
  }

 private:
  struct MappedFile {
    Span span;
    Bytes offset = 0;
    std::string path;
  };

  [[nodiscard]] base::Failure failure(std::string_view what) const {
    return base::Failure{fmt::format("{}: damaged core file: {}", core_.path_, what)};
  }

  [[nodiscard]] bool get(std::uint64_t offset, void* into, std::size_t bytes) const {
    return ingest::read_at(core_.file_.get(), offset, {static_cast<std::byte*>(into), bytes}) ==
           bytes;
  }

  base::Outcome<void> check(Elf64_Ehdr& header) {
    const std::string& path = core_.path_;
    struct stat status {};
    core_.file_ = base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!core_.file_.is_open() || ::fstat(core_.file_.get(), &status) != 0) {
      return base::Failure{fmt::format("{}: {}", path, std::strerror(errno))};
    }
    bytes_ = static_cast<Bytes>(std::max<off_t>(status.st_size, 0));
    core_.written_ = static_cast<Nanoseconds>(status.st_mtim.tv_sec) * 1'000'000'000 +
                     static_cast<Nanoseconds>(status.st_mtim.tv_nsec);
    const bool is_elf = S_ISREG(status.st_mode) && get(0, &header, EI_NIDENT) &&
                        std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    if (!is_elf) return base::Failure{path + ": not a core file"};
    if (header.e_ident[EI_CLASS] == ELFCLASS32) {
      return base::Failure{
          path + ": a file of a 32-bit process; 'geiger holders' reads core files of 64-bit ones"};
    }
    if (!get(0, &header, sizeof header)) return failure("its header is cut");
    if (header.e_type != ET_CORE) return base::Failure{path + ": an ELF file, but not a core file"};
    registers_ = register_layout(header.e_machine);
    if (registers_ == nullptr || header.e_ident[EI_DATA] != ELFDATA2LSB) {
      return base::Failure{
          fmt::format("{}: a core file of another processor (ELF machine {}); those of x86-64 and "
                      "AArch64 can be read",
                      path, header.e_machine)};
    }
    return {};
  }

  base::Outcome<std::vector<Elf64_Phdr>> program_headers(const Elf64_Ehdr& header) {
    constexpr std::size_t kMost = 1U << 20;
    std::size_t count = header.e_phnum;
    if (count == PN_XNUM) {
      Elf64_Shdr first{};
      if (!get(header.e_shoff, &first, sizeof first))
        return failure("it does not say how many segments it has");
      count = first.sh_info;
    }
    if (header.e_phentsize != sizeof(Elf64_Phdr) || count > kMost)
      return failure("its header makes no sense");
    std::vector<Elf64_Phdr> headers(count);
    if (!get(header.e_phoff, headers.data(), count * sizeof(Elf64_Phdr)))
      return failure("its headers are cut");
    Bytes promised = 0;
    for (const Elf64_Phdr& segment : headers) {
      const Bytes end = segment.p_offset + segment.p_filesz;
      if (end < segment.p_offset || segment.p_vaddr + segment.p_memsz < segment.p_vaddr) {
        return failure("a segment makes no sense");
      }
      if (segment.p_filesz > 0) promised = std::max(promised, end);
    }
    if (promised > bytes_) {
      return base::Failure{fmt::format(
          "{}: the core file is cut: it has {} of {} bytes (see 'ulimit -c', or the disk was full)",
          core_.path_, bytes_, promised)};
    }
    return headers;
  }

  base::Outcome<void> read_notes(const Elf64_Phdr& segment) {
    constexpr Bytes kMostNotes = 256 * kMiB;
    std::string notes(std::min<Bytes>(segment.p_filesz, kMostNotes), '\0');
    if (!get(segment.p_offset, notes.data(), notes.size())) return failure("its notes are cut");
    constexpr auto aligned = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      const auto note = value_at<Elf64_Nhdr>(notes, at);
      const std::size_t text = at + sizeof note + aligned(note.n_namesz);
      if (text > notes.size() || note.n_descsz > notes.size() - text)
        return failure("a note is cut");
      take(note.n_type, std::string_view(notes).substr(text, note.n_descsz));
      at = text + aligned(note.n_descsz);
    }
    return {};
  }

  void take(std::uint32_t type, std::string_view note) {
    if (type == NT_PRSTATUS) {
      add_thread(note);
    } else if (type == NT_PRPSINFO) {
      core_.pid_ = value_at<pid_t>(note, kInfoPid);
      const std::string_view name = note.substr(std::min(kInfoName, note.size()), kInfoNameBytes);
      core_.program_ = name.substr(0, name.find('\0'));
    } else if (type == NT_AUXV) {
      for (std::size_t at = 0; at + 16 <= note.size(); at += 16) {
        const auto key = value_at<std::uint64_t>(note, at),
                   value = value_at<std::uint64_t>(note, at + 8);
        const bool is_page = value >= 4096 && value <= kMiB && (value & (value - 1)) == 0;
        if (key == AT_PAGESZ && is_page) core_.page_bytes_ = value;
        if (key == AT_PHDR) program_headers_at_ = value;
      }
    } else if (type == NT_FILE) {
      add_files(note);
    } else if ((type == NT_FPREGSET || type == NT_X86_XSTATE) && !core_.threads_.empty()) {
      add_words(core_.threads_.back(), note);
    }
  }

  static void add_words(Thread& thread, std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      thread.registers.push_back(value_at<std::uint64_t>(bytes, at));
    }
  }

  void add_thread(std::string_view status) {
    if (status.size() < kStatusRegisters + registers_->words * 8) return;
    const std::string_view words = status.substr(kStatusRegisters, registers_->words * 8);
    Thread& thread = core_.threads_.emplace_back();
    thread.tid = value_at<pid_t>(status, kStatusPid);
    thread.stack_pointer = value_at<std::uint64_t>(words, registers_->stack_pointer * 8);
    if (registers_->control_block) {
      thread.control_block = value_at<std::uint64_t>(words, *registers_->control_block * 8);
    }
    add_words(thread, words);
    thread.halt = halt_of(*registers_, thread.registers);
  }

  /// Two numbers, of which the second is the unit of offsets, three for each file, and all names.
  void add_files(std::string_view note) {
    const auto count = value_at<std::uint64_t>(note, 0), unit = value_at<std::uint64_t>(note, 8);
    if (count > note.size() / 24) return;
    std::size_t name = 16 + count * 24;
    for (std::size_t i = 0; i < count && name < note.size(); ++i) {
      const std::string_view path = note.substr(name, note.find('\0', name) - name);
      name += path.size() + 1;
      const std::size_t at = 16 + i * 24;
      files_.push_back({{value_at<std::uint64_t>(note, at), value_at<std::uint64_t>(note, at + 8)},
                        value_at<std::uint64_t>(note, at + 16) * unit,
                        std::string(path)});
    }
    std::ranges::sort(files_, {}, [](const MappedFile& file) { return file.span.start; });
  }

  [[nodiscard]] const MappedFile* file_at(Address address) const {
    const auto after = std::ranges::upper_bound(
        files_, address, {}, [](const MappedFile& file) { return file.span.start; });
    const bool is_one = after != files_.begin() && std::prev(after)->span.holds(address);
    return is_one ? &*std::prev(after) : nullptr;
  }

  base::Outcome<void> add_segment(const Elf64_Phdr& segment) {
    const Span span{segment.p_vaddr, segment.p_vaddr + std::max(segment.p_memsz, segment.p_filesz)};
    if (span.start == span.end) return {};
    Mapping mapping;
    mapping.start = span.start;
    mapping.end = span.end;
    mapping.is_readable = (segment.p_flags & PF_R) != 0;
    mapping.is_writable = (segment.p_flags & PF_W) != 0;
    if (const MappedFile* file = file_at(span.start)) {
      mapping.path = file->path;
      mapping.offset = file->offset + (span.start - file->span.start);
    }
    core_.mappings_.push_back(std::move(mapping));
    if (segment.p_filesz > 0) {
      core_.segments_.push_back({{span.start, span.start + segment.p_filesz}, segment.p_offset});
    }
    return {};
  }

  /// gdb writes no segment for unchanged parts of files, nor for shared ones. The parts of a
  /// program or library that have none are code and constants; of others it is not known whether
  /// they were writable.
  void add_left_out() {
    const auto has_segment = [&](const MappedFile& file) {
      return std::ranges::any_of(core_.mappings_, [&](const Mapping& mapping) {
        return mapping.start < file.span.end && file.span.start < mapping.end;
      });
    };
    const auto is_known = [&](const std::string& path) {
      return std::ranges::find(core_.mappings_, path, &Mapping::path) != core_.mappings_.end();
    };
    std::vector<Mapping> added;
    for (const MappedFile& file : files_) {
      if (has_segment(file)) continue;
      Mapping mapping;
      mapping.start = file.span.start;
      mapping.end = file.span.end;
      mapping.is_readable = true;
      mapping.is_writable = !is_known(file.path);
      mapping.path = file.path;
      mapping.offset = file.offset;
      added.push_back(std::move(mapping));
    }
    std::ranges::move(added, std::back_inserter(core_.mappings_));
  }

  void sort_mappings() {
    std::ranges::sort(core_.mappings_, {}, &Mapping::start);
    std::vector<Mapping> apart;
    for (Mapping& mapping : core_.mappings_) {
      const bool is_apart = apart.empty() || mapping.start >= apart.back().end;
      if (is_apart && !is_trace(mapping.path)) apart.push_back(std::move(mapping));
    }
    core_.mappings_ = std::move(apart);
    std::ranges::sort(core_.segments_, {},
                      [](const CoreFile::Segment& segment) { return segment.span.start; });
  }

  void name_program() {
    if (const MappedFile* file = file_at(program_headers_at_)) core_.executable_ = file->path;
    if (core_.pid_ == 0) core_.pid_ = core_.threads_.front().tid;
    for (Thread& thread : core_.threads_) {
      thread.name = thread.tid == core_.pid_ ? core_.program_ : std::to_string(thread.tid);
    }
  }

  CoreFile& core_;
  Bytes bytes_ = 0;
  const RegisterLayout* registers_ = nullptr;
  std::vector<MappedFile> files_;
  Address program_headers_at_ = 0;
};

base::Outcome<CoreFile> CoreFile::open(const std::string& path) {
  CoreFile core;
  core.path_ = path;
  GEIGER_TRY(CoreReader(core).read());
  return core;
}

base::UniqueFd CoreFile::open_file(const Mapping& mapping) const {
  base::UniqueFd file(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  // Its first page has the build id; most core files have that.
  const auto first = std::ranges::find_if(mappings_, [&](const Mapping& each) {
    return each.path == mapping.path && each.offset == 0;
  });
  std::array<std::byte, 4096> mapped{}, read{};
  if (first != mappings_.end()) {
    const auto segment = std::ranges::find_if(
        segments_, [&](const Segment& each) { return each.span.start == first->start; });
    const bool is_there = segment != segments_.end() &&
                          segment->span.end - segment->span.start >= mapped.size() &&
                          ingest::read_at(file_.get(), segment->offset, mapped) == mapped.size();
    if (is_there && std::memcmp(mapped.data(), ELFMAG, SELFMAG) == 0) {
      const bool is_same = ingest::read_at(file.get(), 0, read) == read.size() && mapped == read;
      return is_same ? std::move(file) : base::UniqueFd();
    }
  }
  const auto changed = static_cast<Nanoseconds>(status.st_mtim.tv_sec) * 1'000'000'000 +
                       static_cast<Nanoseconds>(status.st_mtim.tv_nsec);
  return changed <= written_ ? std::move(file) : base::UniqueFd();
}

std::unique_ptr<Memory> CoreFile::memory() const {
  std::vector<CoreMemory::Stretch> stretches;
  std::vector<base::UniqueFd> files;
  auto segment = segments_.begin();
  for (const Mapping& mapping : mappings_) {
    Address at = mapping.start;
    for (; segment != segments_.end() && segment->span.end <= at;) ++segment;
    if (segment != segments_.end() && segment->span.start == at) {
      stretches.push_back({segment->span, file_.get(), segment->offset});
      at = segment->span.end;
    }
    // What is not writable holds nothing of the heap.
    if (at >= mapping.end || !mapping.is_writable) continue;
    base::UniqueFd file = mapping.path.empty() ? base::UniqueFd() : open_file(mapping);
    const Bytes offset = mapping.offset + (at - mapping.start);
    Address end = mapping.end;
    if (file.is_open()) {  // Bytes past the end of the file read as 0.
      const auto size = static_cast<Bytes>(std::max<off_t>(::lseek(file.get(), 0, SEEK_END), 0));
      end = std::min(end, at + (size - std::min(size, offset)));
    }
    stretches.push_back({{at, end}, file.get(), offset});
    if (file.is_open()) files.push_back(std::move(file));
  }
  return std::make_unique<CoreMemory>(page_bytes_, std::move(stretches), std::move(files));
}

}  // namespace geiger::holders
