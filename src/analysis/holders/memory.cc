#include "analysis/holders/memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace geiger::holders {

using observe::PageState;

ProcessMemory::Page ProcessMemory::page_of(PageState state) {
  if (state == PageState::kResident) return Page::kPresent;
  return state == PageState::kSwapped ? Page::kSwapped : Page::kAbsent;
}

ProcessMemory::ProcessMemory(pid_t pid, const observe::ProcessFiles& files,
                             const observe::ProcessFiles& sharer,
                             std::span<const observe::Mapping> mappings, Bytes page_bytes)
    : pid_(pid),
      file_(files.open("mem")),
      pagemap_(files.open("pagemap")),
      shared_pagemap_(sharer.open("pagemap")),
      page_bytes_(page_bytes) {
  constexpr std::size_t kAtOnce = 65536;
  std::vector<std::uint64_t> entries(kAtOnce);
  for (const observe::Mapping& mapping : mappings) {
    if (!mapping.is_readable) continue;
    Known& known = known_.emplace_back(Known{{mapping.start, mapping.end}, mapping.is_shared, {}});
    const std::size_t pages = (mapping.end - mapping.start) / page_bytes;
    known.pages.resize(pages, static_cast<std::uint8_t>(Page::kAbsent));
    const auto take = [&](const base::UniqueFd& pagemap, Page unknown) {
      const auto read = observe::Pagemap::reader_of(pagemap.get());
      for (std::size_t first = 0; first < pages; first += kAtOnce) {
        const std::size_t part = std::min(pages - first, kAtOnce);
        const std::size_t count =
            pagemap.is_open() ? read(mapping.start / page_bytes + first, entries.data(), part) : 0;
        for (std::size_t i = 0; i < part; ++i) {
          const Page page = i < count ? page_of(observe::page_state(entries[i])) : unknown;
          std::uint8_t& found = known.pages[first + i];
          if (page != Page::kAbsent) found = static_cast<std::uint8_t>(page);
        }
      }
    };
    take(mapping.is_shared ? shared_pagemap_ : pagemap_, Page::kSwapped);
    // A copy has only what was changed of a file, until it reads the rest.
    const bool is_of_file = mapping.inode != 0 && !mapping.is_shared;
    if (is_of_file) take(shared_pagemap_, Page::kAbsent);
  }
}

const ProcessMemory::Known* ProcessMemory::known_at(Address address) const {
  if (last_ < known_.size() && known_[last_].span.holds(address)) return &known_[last_];
  const auto after = std::ranges::upper_bound(known_, address, {},
                                              [](const Known& known) { return known.span.start; });
  if (after == known_.begin() || !std::prev(after)->span.holds(address)) return nullptr;
  last_ = static_cast<std::size_t>(std::prev(after) - known_.begin());
  return &known_[last_];
}

ProcessMemory::Page ProcessMemory::page_at(Address address) const {
  const Known* known = known_at(address);
  if (known == nullptr) return Page::kAbsent;
  return static_cast<Page>(known->pages[(address - known->span.start) / page_bytes_]);
}

int ProcessMemory::pagemap_of(Address address) const {
  const Known* known = known_at(address);
  return known != nullptr && known->is_shared ? shared_pagemap_.get() : pagemap_.get();
}

bool ProcessMemory::is_absent(Address address) const {
  constexpr std::size_t kAtOnce = 512;
  if (page_at(address) != Page::kAbsent) return false;
  const std::uint64_t page = address / page_bytes_;
  if (page < first_recent_ || page - first_recent_ >= recent_.size()) {
    const auto read = observe::Pagemap::reader_of(pagemap_of(address));
    recent_.resize(kAtOnce);
    first_recent_ = page;
    recent_.resize(read(page, recent_.data(), kAtOnce));
  }
  return page - first_recent_ >= recent_.size() ||
         page_of(observe::page_state(recent_[page - first_recent_])) == Page::kAbsent;
}

void ProcessMemory::read(std::span<const Piece> pieces, std::byte* into) {
  Present present;
  for (const Piece& piece : pieces) {
    const Address end = piece.start + piece.bytes;
    for (Address at = piece.start; at < end;) {
      const Page page = page_at(at);
      Address next = at;
      while (next < end && page_at(next) == page) next = (next / page_bytes_ + 1) * page_bytes_;
      next = std::min(next, end);
      if (page == Page::kAbsent) {
        add_absent({at, next - at}, into, present);
      } else {
        add({at, next - at}, page, into, present);
      }
      into += next - at;
      at = next;
    }
  }
  read_present(present.pieces, present.places);
}

void ProcessMemory::add(const Piece& piece, Page page, std::byte* into, Present& present) {
  if (page == Page::kPresent) {
    present.pieces.push_back(piece);
    present.places.push_back(into);
  } else {
    std::memset(into, 0, piece.bytes);
    if (page == Page::kSwapped) unread_ += piece.bytes;
  }
}

/// Asks again: what the program allocates meanwhile is often on pages that it had not touched.
void ProcessMemory::add_absent(const Piece& piece, std::byte* into, Present& present) {
  constexpr std::size_t kAtOnce = 512;
  std::array<std::uint64_t, kAtOnce> entries{};
  const auto read = observe::Pagemap::reader_of(pagemap_of(piece.start));
  const Address end = piece.start + piece.bytes;
  for (Address at = piece.start; at < end;) {
    const std::uint64_t first = at / page_bytes_;
    const std::size_t pages = std::min<std::size_t>((end - 1) / page_bytes_ - first + 1, kAtOnce);
    const std::size_t count = read(first, entries.data(), pages);
    for (std::size_t i = 0; i < pages; ++i) {
      const Address next = std::min(end, (first + i + 1) * page_bytes_);
      const Page page = i < count ? page_of(observe::page_state(entries[i])) : Page::kAbsent;
      add({at, next - at}, page, into, present);
      into += next - at;
      at = next;
    }
  }
}

void ProcessMemory::read_present(std::span<const Piece> pieces, std::span<std::byte* const> into) {
  constexpr std::size_t kMostAtOnce = 512;
  std::array<iovec, kMostAtOnce> here{}, there{};
  const bool is_short = pieces.size() == 1 && pieces.front().bytes <= page_bytes_;
  if (is_short && file_.is_open()) return read_alone(pieces.front(), into.front());
  for (std::size_t done = 0; done < pieces.size();) {
    const std::size_t count = std::min(kMostAtOnce, pieces.size() - done);
    Bytes total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[done + i];
      here[i] = {into[done + i], piece.bytes};
      there[i] = {reinterpret_cast<void*>(piece.start), piece.bytes};
      total += piece.bytes;
    }
    const ssize_t read = ::process_vm_readv(pid_, here.data(), count, there.data(), count, 0);
    auto left = read < 0 ? Bytes{0} : static_cast<Bytes>(read);
    if (left == total) {
      done += count;
      continue;
    }
    // It stopped at a piece that is not there any more, so that nothing in it holds anything.
    std::size_t whole = 0;
    for (; left >= pieces[done + whole].bytes; ++whole) left -= pieces[done + whole].bytes;
    std::memset(into[done + whole], 0, pieces[done + whole].bytes);
    gone_ += pieces[done + whole].bytes;
    done += whole + 1;
  }
}

/// By the file, which asks for permission once, when it is opened: that takes longer than to read a
/// few bytes.
void ProcessMemory::read_alone(const Piece& piece, std::byte* into) {
  Bytes done = 0;
  while (done < piece.bytes) {
    const ssize_t got = ::pread(file_.get(), into + done, piece.bytes - done,
                                static_cast<off_t>(piece.start + done));
    if (got <= 0) break;
    done += static_cast<Bytes>(got);
  }
  if (done == piece.bytes) return;
  std::memset(into, 0, piece.bytes);
  gone_ += piece.bytes;
}

PageCache::PageCache(Memory& memory, std::size_t pages)
    : memory_(memory),
      page_(memory.page_bytes()),
      pages_(pages, ~std::uint64_t{0}),
      rounds_(pages, 0),
      kept_(pages * page_) {}

void PageCache::read(std::span<const Piece> pieces, std::byte* into) {
  constexpr std::size_t kFew = 16;
  if (pieces.size() > kFew) return read_joined(pieces, into);
  if (!keeps_pages()) return memory_.read(pieces, into);
  load(pieces);
  for (const Piece& piece : pieces) {
    serve(piece, into);
    into += piece.bytes;
  }
}

/// Tries it now and then where few pieces were on pages that were kept: of a list that is linked at
/// random a page takes longer than a piece, and the next piece is on another one.
bool PageCache::keeps_pages() {
  constexpr std::uint64_t kTries = 256, kUntilNextTry = 4096, kLeastHelped = kTries / 8;
  if (round_ % kUntilNextTry == 0) tried_ = helped_ = 0;
  if (tried_ < kTries || helped_ >= kLeastHelped) return true;
  ++round_;
  return false;
}

/// Many at once: neighbours by one read, past what lies between them.
void PageCache::read_joined(std::span<const Piece> pieces, std::byte* into) {
  constexpr Bytes kMostBetween = 2 * kKiB, kMostJoined = 64 * kKiB;
  std::vector<Piece> joined;
  Bytes total = 0;
  const auto is_near = [&](const Piece& piece) {
    if (joined.empty()) return false;
    const Address end = joined.back().start + joined.back().bytes;
    return piece.start >= end && piece.start - end <= kMostBetween &&
           piece.start + piece.bytes - joined.back().start <= kMostJoined;
  };
  for (const Piece& piece : pieces) {
    if (is_near(piece)) {
      const Bytes bytes = piece.start + piece.bytes - joined.back().start;
      total += bytes - joined.back().bytes;
      joined.back().bytes = bytes;
    } else {
      joined.push_back(piece);
      total += piece.bytes;
    }
  }
  if (joined.size() == pieces.size()) return memory_.read(pieces, into);
  loaded_.resize(std::max<std::size_t>(loaded_.size(), total));
  memory_.read(joined, loaded_.data());
  auto from = joined.begin();
  const std::byte* loaded = loaded_.data();
  for (const Piece& piece : pieces) {
    while (piece.start < from->start || piece.start >= from->start + from->bytes) {
      loaded += from->bytes;
      ++from;
    }
    std::memcpy(into, loaded + (piece.start - from->start), piece.bytes);
    into += piece.bytes;
  }
}

/// What they need and is not here, as far as no other of them needs the same slot.
void PageCache::load(std::span<const Piece> pieces) {
  ++round_;
  std::vector<Piece> wanted;
  for (const Piece& piece : pieces) {
    if (piece.bytes > page_) continue;
    for (std::uint64_t page = piece.start / page_; page * page_ < piece.start + piece.bytes;
         ++page) {
      const std::size_t slot = page % pages_.size();
      const bool is_here = pages_[slot] == page;
      ++tried_;
      helped_ += is_here ? 1 : 0;
      if (!is_here && rounds_[slot] == round_) continue;
      rounds_[slot] = round_;
      if (is_here) continue;
      pages_[slot] = page;
      wanted.push_back({page * page_, page_});
      add_ahead(page, wanted);
    }
  }
  loaded_.resize(std::max<std::size_t>(loaded_.size(), wanted.size() * page_));
  memory_.read(wanted, loaded_.data());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t slot = wanted[i].start / page_ % pages_.size();
    std::memcpy(kept_.data() + slot * page_, loaded_.data() + i * page_, page_);
  }
}

/// Of lists that go through pages in order, also the next ones.
void PageCache::add_ahead(std::uint64_t page, std::vector<Piece>& wanted) {
  constexpr std::uint64_t kAhead = 7;
  const auto has = [&](std::uint64_t other) { return pages_[other % pages_.size()] == other; };
  const bool is_down = has(page + 1);
  if (!is_down && !has(page - 1)) return;
  for (std::uint64_t i = 1; i <= kAhead && page > kAhead; ++i) {
    const std::uint64_t next = is_down ? page - i : page + i;
    const std::size_t slot = next % pages_.size();
    if (rounds_[slot] == round_ || pages_[slot] == next) return;
    rounds_[slot] = round_;
    pages_[slot] = next;
    wanted.push_back({next * page_, page_});
  }
}

void PageCache::serve(const Piece& piece, std::byte* into) {
  const Address end = piece.start + piece.bytes;
  for (Address at = piece.start; at < end;) {
    const std::uint64_t page = at / page_;
    const std::size_t slot = page % pages_.size();
    const Bytes bytes = std::min(end, (page + 1) * page_) - at;
    if (piece.bytes <= page_ && pages_[slot] == page) {
      std::memcpy(into, kept_.data() + slot * page_ + at % page_, bytes);
    } else {
      const Piece part{at, piece.bytes <= page_ ? bytes : end - at};
      memory_.read({&part, 1}, into);
      if (part.bytes == end - at) return;
    }
    into += bytes;
    at += bytes;
  }
}

Address Words::load(Address address, Address end, Bytes most) {
  const Bytes page = memory_.page_bytes();
  // Where it goes on, the last page stays: what follows a block is often looked at before the
  // block.
  const bool goes_on = !bytes_.empty() && address / page * page == start_ + bytes_.size();
  start_ = address / page * page - (goes_on ? page : 0);
  // The last word may lie before the end of the page.
  const Address until = std::max(std::min(end, start_ + most), address + 8);
  bytes_.resize(until - start_);
  const Piece piece{start_, until - start_};
  memory_.read({&piece, 1}, bytes_.data());
  return until;
}

}  // namespace geiger::holders
