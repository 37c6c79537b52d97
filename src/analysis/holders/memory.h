// The memory of a process or of a core file, read in many small pieces.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "analysis/holders/block_map.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/process_memory.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace geiger::holders {

inline constexpr Bytes kWord = 8;  ///< A pointer's.

/// Bytes [start, start + bytes) of the process.
struct Piece {
  Address start = 0;
  Bytes bytes = 0;
};

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  /// Reads the pieces one after the other into `into`, which has room for all of them. What was
  /// never touched, or was unmapped meanwhile, is 0; so is what is in swap, and that counts as
  /// unread(), and what it lacks.
  virtual void read(std::span<const Piece> pieces, std::byte* into) = 0;
  /// Like read(), but nothing that was read before stands for what is there now.
  virtual void read_now(const Piece& piece, std::byte* into) { read({&piece, 1}, into); }
  /// Whether there is nothing but zeros on the page of `address`.
  [[nodiscard]] virtual bool is_absent(Address address) const = 0;
  [[nodiscard]] virtual Bytes page_bytes() const = 0;

  /// Bytes of `span` of which it is not known what they were.
  [[nodiscard]] virtual Bytes lacks(Span /*span*/) const { return 0; }
  /// Bytes that were to be read and are in swap.
  [[nodiscard]] Bytes unread() const { return unread_; }
  /// Bytes that were to be read and were not there any more, or may not be read any more.
  [[nodiscard]] Bytes gone() const { return gone_; }

 protected:
  Bytes unread_ = 0, gone_ = 0;
};

/// The memory of a running process. Brings nothing into it: only pages are read that are in memory.
class ProcessMemory : public Memory {
 public:
  /// `mappings` in order of addresses. Which pages are in memory, `files` say; of shared mappings,
  /// and of what was not changed of files, those of `sharer`, as a copy of a process knows of none.
  ProcessMemory(pid_t pid, const observe::ProcessFiles& files, const observe::ProcessFiles& sharer,
                std::span<const observe::Mapping> mappings, Bytes page_bytes);

  void read(std::span<const Piece> pieces, std::byte* into) override;
  [[nodiscard]] bool is_absent(Address address) const override;
  [[nodiscard]] Bytes page_bytes() const override { return page_bytes_; }

 private:
  enum class Page : std::uint8_t { kAbsent, kPresent, kSwapped };
  /// The pages of a mapping when it was opened, two bits each.
  struct Known {
    Span span;
    bool is_shared = false;
    std::vector<std::uint8_t> pages;
  };
  /// Bytes that are in memory, and where they go.
  struct Present {
    std::vector<Piece> pieces;
    std::vector<std::byte*> places;
  };

  [[nodiscard]] static Page page_of(observe::PageState state);
  [[nodiscard]] const Known* known_at(Address address) const;
  [[nodiscard]] int pagemap_of(Address address) const;
  [[nodiscard]] Page page_at(Address address) const;
  void add(const Piece& piece, Page page, std::byte* into, Present& present);
  void add_absent(const Piece& piece, std::byte* into, Present& present);
  void read_present(std::span<const Piece> pieces, std::span<std::byte* const> into);
  void read_alone(const Piece& piece, std::byte* into);

  pid_t pid_;
  base::UniqueFd file_, pagemap_, shared_pagemap_;
  Bytes page_bytes_;
  std::vector<Known> known_;
  mutable std::size_t last_ = 0;
  /// Some pages in order, as they were a little ago: is_absent() is asked of one after the other.
  mutable std::uint64_t first_recent_ = 0;
  mutable std::vector<std::uint64_t> recent_;
};

/// Reads another memory in larger parts. Of few pieces, as those of a long list, it keeps the
/// pages as long as that helps: blocks that are read one after the other often share them. What
/// changes meanwhile may be seen as it was. Of many pieces it joins neighbours, so they should be
/// in order of addresses.
class PageCache : public Memory {
 public:
  /// Of so many pages at most.
  PageCache(Memory& memory, std::size_t pages);

  void read(std::span<const Piece> pieces, std::byte* into) override;
  [[nodiscard]] bool is_absent(Address address) const override {
    return memory_.is_absent(address);
  }
  [[nodiscard]] Bytes page_bytes() const override { return memory_.page_bytes(); }
  void read_now(const Piece& piece, std::byte* into) override { memory_.read_now(piece, into); }

 private:
  void read_joined(std::span<const Piece> pieces, std::byte* into);
  [[nodiscard]] bool keeps_pages();
  void load(std::span<const Piece> pieces);
  void add_ahead(std::uint64_t page, std::vector<Piece>& wanted);
  void serve(const Piece& piece, std::byte* into);

  Memory& memory_;
  Bytes page_;
  /// By slot: which page it has, and the round that it came in.
  std::vector<std::uint64_t> pages_, rounds_;
  std::uint64_t round_ = 0;
  std::uint64_t tried_ = 0, helped_ = 0;  ///< Pieces since keeps_pages() began to try.
  std::vector<std::byte> kept_, loaded_;
};

/// Words of a stretch of memory in order, through a window.
class Words {
 public:
  explicit Words(Memory& memory) : memory_(memory) {}

  /// The word at `address`; 0 where nothing is mapped. `end` bounds what is read ahead.
  [[nodiscard]] std::uint64_t at(Address address, Address end) {
    if (address < start_ || address + 8 > start_ + bytes_.size()) load(address, end);
    std::uint64_t word = 0;
    if (address + 8 <= start_ + bytes_.size())
      std::memcpy(&word, bytes_.data() + (address - start_), 8);
    return word;
  }

  /// Reads what follows `address` now, `most` bytes or up to `end`; returns up to where words in
  /// order are as they were then.
  Address load(Address address, Address end, Bytes most = kWindow);

 private:
  static constexpr Bytes kWindow = 256 * kKiB;

  Memory& memory_;
  Address start_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace geiger::holders
