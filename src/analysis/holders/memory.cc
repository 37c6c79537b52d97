#include "analysis/holders/memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "analysis/observe/process_memory.h"

namespace geiger::holders {

using observe::PageState;

ProcessMemory::ProcessMemory(pid_t pid, const observe::ProcessFiles& files,
                             std::span<const observe::Mapping> mappings, Bytes page_bytes)
    : pid_(pid), page_bytes_(page_bytes) {
  const base::UniqueFd pagemap = files.open("pagemap");
  const auto read = observe::Pagemap::reader_of(pagemap.get());
  std::vector<std::uint64_t> entries;
  for (const observe::Mapping& mapping : mappings) {
    if (!mapping.is_readable) continue;
    Known& known = known_.emplace_back(Known{{mapping.start, mapping.end}, {}});
    const std::size_t pages = (mapping.end - mapping.start) / page_bytes;
    entries.assign(pages, 0);
    const std::size_t count =
        pagemap.is_open() ? read(mapping.start / page_bytes, entries.data(), pages) : 0;
    for (std::size_t i = 0; i < pages; ++i) {
      const PageState state =
          i < count ? observe::page_state(entries[i]) : PageState::kSwapped;  // Not known.
      known.pages.push_back(static_cast<std::uint8_t>(state == PageState::kResident ? Page::kPresent
                                                      : state == PageState::kSwapped
                                                          ? Page::kSwapped
                                                          : Page::kAbsent));
    }
  }
}

ProcessMemory::Page ProcessMemory::page_at(Address address) const {
  if (last_ >= known_.size() || !known_[last_].span.holds(address)) {
    const auto after = std::ranges::upper_bound(
        known_, address, {}, [](const Known& known) { return known.span.start; });
    if (after == known_.begin() || !std::prev(after)->span.holds(address)) return Page::kAbsent;
    last_ = static_cast<std::size_t>(std::prev(after) - known_.begin());
  }
  const Known& known = known_[last_];
  return static_cast<Page>(known.pages[(address - known.span.start) / page_bytes_]);
}

bool ProcessMemory::is_absent(Address address) const { return page_at(address) == Page::kAbsent; }

void ProcessMemory::read(std::span<const Piece> pieces, std::byte* into) {
  std::vector<Piece> present;
  std::vector<std::byte*> places;
  for (const Piece& piece : pieces) {
    const Address end = piece.start + piece.bytes;
    for (Address at = piece.start; at < end;) {
      const Page page = page_at(at);
      Address next = at;
      while (next < end && page_at(next) == page) next = (next / page_bytes_ + 1) * page_bytes_;
      next = std::min(next, end);
      if (page == Page::kPresent) {
        present.push_back({at, next - at});
        places.push_back(into);
      } else {
        std::memset(into, 0, next - at);
        if (page == Page::kSwapped) unread_ += next - at;
      }
      into += next - at;
      at = next;
    }
  }
  read_present(present, places);
}

void ProcessMemory::read_present(std::span<const Piece> pieces, std::span<std::byte* const> into) {
  constexpr std::size_t kMostAtOnce = 512;
  std::array<iovec, kMostAtOnce> here{}, there{};
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
    done += whole + 1;
  }
}

void Words::load(Address address, Address end) {
  const Bytes page = memory_.page_bytes();
  start_ = address / page * page;
  // The last word may lie before the end of the page.
  const Address until = std::max(std::min(end, start_ + kWindow), address + 8);
  bytes_.resize(until - start_);
  const Piece piece{start_, until - start_};
  memory_.read({&piece, 1}, bytes_.data());
}

}  // namespace geiger::holders
