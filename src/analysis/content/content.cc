#include "analysis/content/content.h"

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/content/bytes.h"
#include "analysis/content/contents.h"
#include "analysis/content/python_text.h"
#include "analysis/holders/layout.h"
#include "analysis/holders/memory.h"
#include "analysis/observe/allocator_heaps.h"
#include "analysis/observe/heap_walks.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/seen_types.h"
#include "base/clock.h"

namespace geiger::content {

namespace {

using holders::Piece;
using observe::LiveSample;
using observe::Mapping;
using profile::kAnyCopies;
using profile::SampleContent;

constexpr std::size_t kMostSamples = std::size_t{1} << 16;
/// Of samples, with what is found of them and their contents, and of the map of a heap's blocks.
constexpr Bytes kMostMemory = 56 * kMiB, kPerSample = 640, kHeapPerByte = 40;
constexpr Bytes kLeastCandidate = 16;
constexpr Bytes kAtOnce = 256 * kKiB;

Nanoseconds time_spent() { return base::clock_now(CLOCK_PROCESS_CPUTIME_ID); }

/// A view of memory that goes forward.
class Window {
 public:
  explicit Window(holders::Memory& memory)
      : memory_(memory), bytes_(kAtOnce + memory.page_bytes()) {}

  /// How much it reads from now on where it does not show what is asked for; at most kAtOnce.
  void read_ahead(Bytes bytes) { ahead_ = bytes; }
  [[nodiscard]] Address end() const { return end_; }

  /// Requires bytes <= kAtOnce. What is not there is 0.
  [[nodiscard]] std::span<const std::byte> at(Address address, Bytes bytes) {
    if (address < start_ || address + bytes > end_) {
      const Bytes page = memory_.page_bytes();
      start_ = address / page * page;
      end_ = (address + std::max(bytes, ahead_) + page - 1) / page * page;
      end_ = std::min(end_, start_ + bytes_.size());
      const Piece piece{start_, end_ - start_};
      memory_.read({&piece, 1}, bytes_.data());
    }
    return {bytes_.data() + (address - start_), bytes};
  }

  [[nodiscard]] std::uint64_t word(Address address) {
    std::uint64_t word = 0;
    std::memcpy(&word, at(address, sizeof word).data(), sizeof word);
    return word;
  }

  [[nodiscard]] std::uint64_t hash(Address address, Bytes bytes) {
    Hash hash;
    for (; bytes > kAtOnce; address += kAtOnce, bytes -= kAtOnce) hash.add(at(address, kAtOnce));
    hash.add(at(address, bytes));
    return hash.value();
  }

 private:
  holders::Memory& memory_;
  Bytes ahead_ = kAtOnce;
  Address start_ = 0, end_ = 0;
  std::vector<std::byte> bytes_;
};

/// Bounds the bytes that are hashed. Where blocks are not known, objects full of one word begin at
/// each of their words; and a trace may claim samples of any sizes. Contents of a size that takes
/// too much are given up.
class Effort {
 public:
  /// So many times what was scanned may be hashed, and the `part`-th part of that for one size.
  Effort(Bytes times, Bytes part) : times_(times), part_(part) {}

  Bytes scanned = 0;

  [[nodiscard]] bool allows(Bytes size) {
    constexpr Bytes kMost = 128 * kMiB;
    Bytes& of_size = hashed_[size];
    if (of_size == kGivenUp) return false;
    const Bytes most = kMost + times_ * scanned;
    if (all_ > most || of_size > most / part_) {
      of_size = kGivenUp;
      return false;
    }
    of_size += size;
    all_ += size;
    return true;
  }
  [[nodiscard]] bool has_given_up(Bytes size) const {
    const auto found = hashed_.find(size);
    return found != hashed_.end() && found->second == kGivenUp;
  }

 private:
  static constexpr Bytes kGivenUp = ~Bytes{0};
  Bytes times_, part_, all_ = 0;
  tsl::robin_map<Bytes, Bytes> hashed_;  ///< By size.
};

/// A sample as it was when it was first looked at.
struct Looked {
  LiveSample sample;
  SampleContent found;
  std::uint64_t hash = 0;
  std::uint32_t content = kAnyCopies;  ///< In Contents; kAnyCopies: no candidate.
  std::optional<PythonText> text = {};
};

class Reading {
 public:
  Reading(pid_t pid, const observe::ProcessFiles& files, observe::TraceFollower& follower)
      : pid_(pid), files_(files), follower_(follower) {}

  base::Outcome<profile::Content> read() {
    profile::Content content;
    const Nanoseconds began = time_spent();
    const auto maps = files_.read("maps");
    if (!maps) return base::Failure{fmt::format("maps: {}", std::strerror(errno))};
    if (maps->empty()) return base::Failure{"the process has ended"};
    layout_.mappings = observe::parse_smaps(*maps);
    if (!follower_.follow_to_end()) return base::Failure{"its trace grows faster than it is read"};
    content.time = base::monotonic_now();
    if (!follower_.is_shown_by(layout_.mappings)) {
      return base::Failure{"it does not write this trace any more"};
    }
    const auto status = files_.status();
    if (status) content.resident = status->counts.resident;
    const std::vector<LiveSample> samples = follower_.live().by_address();
    if (samples.size() > kMostSamples) {
      return base::Failure{
          fmt::format("{} live samples are more than the {} that are looked up; a "
                      "larger --interval takes fewer",
                      samples.size(), kMostSamples)};
    }
    memory_.emplace(pid_, files_, files_, layout_.mappings, follower_.header().page_size);
    GEIGER_TRY(look_at(samples));
    drop_freed();
    count_copies();
    if (!follower_.follow_to_end()) return base::Failure{"its trace grows faster than it is read"};
    confirm();
    const auto after = files_.status() ? files_.read("maps") : std::nullopt;
    if (!after || !follower_.is_shown_by(observe::parse_smaps(*after))) {
      return base::Failure{"the process ended while its memory was read"};
    }
    for (Looked& looked : looked_) content.samples.push_back(looked.found);
    std::ranges::sort(content.samples, {}, &SampleContent::sample);
    content.cost = time_spent() - began;
    return content;
  }

 private:
  [[nodiscard]] const Mapping* mapping_of(Address address) const {
    const auto after = std::ranges::upper_bound(layout_.mappings, address, {}, &Mapping::start);
    if (after == layout_.mappings.begin() || !std::prev(after)->holds(address)) return nullptr;
    return &*std::prev(after);
  }

  /// Of such memory what was never touched is 0.
  static bool is_anonymous(const Mapping& mapping) {
    return mapping.is_readable && !mapping.is_shared && mapping.inode == 0;
  }

  [[nodiscard]] bool is_fixed(Address address) const {
    const Mapping* mapping = mapping_of(address);
    return mapping != nullptr && mapping->is_readable && !mapping->is_writable &&
           mapping->inode != 0;
  }

  /// Of what could not be read so far.
  [[nodiscard]] Bytes unread() const { return memory_->unread() + memory_->gone(); }

  /// Fails where samples cannot be those of this process.
  base::Outcome<void> look_at(std::span<const LiveSample> all) {
    find_python(all);
    looked_.reserve(all.size());
    std::vector<LiveSample> samples;
    Bytes claimed = 0, mapped = 0;
    for (const Mapping& mapping : layout_.mappings) {
      if (is_anonymous(mapping)) mapped += mapping.end - mapping.start;
    }
    for (const LiveSample& sample : all) {
      if (!is_readable(sample)) {
        add(sample, 0, sample.requested);
        continue;
      }
      samples.push_back(sample);
      claimed += sample.requested;
    }
    // Objects of Python lie in blocks that may be samples too.
    if (claimed > 2 * mapped) return base::Failure{"its samples overlap"};
    std::vector<std::byte> bytes(kAtOnce), own;
    std::vector<Piece> pieces;
    // Many small ones by one system call. Where some of it cannot be read, one by one.
    for (std::size_t i = 0; i < samples.size();) {
      pieces.clear();
      Bytes total = 0;
      std::size_t end = i;
      for (; end < samples.size() && samples[end].requested <= kAtOnce - total; ++end) {
        pieces.push_back({samples[end].address, samples[end].requested});
        total += samples[end].requested;
      }
      if (end == i) {
        look_at_large(samples[i++], bytes);
        continue;
      }
      const Bytes before = unread();
      memory_->read(pieces, bytes.data());
      const bool is_whole = unread() == before;
      const std::byte* at = bytes.data();
      for (; i < end; at += samples[i].requested, ++i) {
        if (is_whole) {
          look_at_small(samples[i], {at, samples[i].requested}, 0);
        } else {
          own.resize(samples[i].requested);
          const Piece piece{samples[i].address, own.size()};
          const Bytes until_here = unread();
          memory_->read({&piece, 1}, own.data());
          look_at_small(samples[i], own, unread() - until_here);
        }
      }
    }
    return {};
  }

  void look_at_small(const LiveSample& sample, std::span<const std::byte> bytes, Bytes unread) {
    Looked& looked = add(sample, zero_bytes(bytes), unread);
    if (looked.found.unread > 0) return;
    std::uint64_t first = 0;
    std::memcpy(&first, bytes.data(), std::min(bytes.size(), sizeof first));
    Hash hash;
    hash.add(bytes);
    classify(looked, first, hash.value());
  }

  void look_at_large(const LiveSample& sample, std::span<std::byte> part) {
    const Bytes before = unread();
    Hash hash;
    Bytes zero = 0;
    std::uint64_t first = 0;
    for (Bytes done = 0; done < sample.requested; done += part.size()) {
      const Piece piece{sample.address + done, std::min(part.size(), sample.requested - done)};
      memory_->read({&piece, 1}, part.data());
      zero += zero_bytes(part.first(piece.bytes));
      hash.add(part.first(piece.bytes));
      if (done == 0) std::memcpy(&first, part.data(), sizeof first);
    }
    Looked& looked = add(sample, zero, unread() - before);
    if (looked.found.unread == 0) classify(looked, first, hash.value());
  }

  /// Whether it lies in memory where what was never touched is 0.
  [[nodiscard]] bool is_readable(const LiveSample& sample) const {
    const Mapping* mapping = mapping_of(sample.address);
    return mapping != nullptr && is_anonymous(*mapping) &&
           sample.requested <= mapping->end - sample.address;
  }

  Looked& add(const LiveSample& sample, Bytes zero, Bytes unread) {
    SampleContent found;
    found.sample = sample.ref;
    found.unread = std::min(unread, sample.requested);
    found.zero = zero - std::min(zero, unread);  // What was not read seemed to be 0.
    if (found.unread > 0) found.most_copies = kAnyCopies;
    return looked_.emplace_back(Looked{sample, found});
  }

  /// Small and wholly zero objects are no candidates; nor are those of classes, which are equal but
  /// not redundant; nor other objects of Python than its texts.
  void classify(Looked& looked, std::uint64_t first, std::uint64_t hash) {
    looked.hash = hash;
    const LiveSample& sample = looked.sample;
    if (looked.found.zero == sample.requested || sample.requested < kLeastCandidate) return;
    if (vocabulary::is_python_block(sample.entry_point)) return classify_python(looked);
    if (is_fixed(first)) return;
    others_.push_back(static_cast<std::uint32_t>(looked_.size() - 1));
    firsts_.push_back(first);
  }

  /// Where Python's types of texts are.
  void find_python(std::span<const LiveSample> samples) {
    const auto version = observe::python_version_of(follower_.live());
    if (!version) return;
    version_ = *version;
    observe::PythonTypes types(*version, [this](Address address, void* into, std::size_t size) {
      const Piece piece{address, size};
      memory_->read({&piece, 1}, static_cast<std::byte*>(into));
      return true;
    });
    for (const LiveSample& sample : samples) {
      if (types_.size() == 2) return;
      if (!vocabulary::is_python_object(sample.entry_point)) continue;
      const std::string* name = types.type_of(sample.address, sample.requested);
      if (name == nullptr || (*name != "str" && *name != "bytes")) continue;
      types_[head_at(sample.address)[1]] = *name == "str" ? TextType::kStr : TextType::kBytes;
    }
  }

  [[nodiscard]] TextHead head_at(Address address) {
    TextHead head{};
    const Piece piece{address, sizeof head};
    memory_->read({&piece, 1}, reinterpret_cast<std::byte*>(head.data()));
    return head;
  }

  [[nodiscard]] std::optional<PythonText> text_with(const TextHead& head) const {
    const auto type = types_.find(head[1]);
    return type == types_.end() ? std::nullopt : text_of(type->second, head, version_);
  }

  void classify_python(Looked& looked) {
    const LiveSample& sample = looked.sample;
    if (!vocabulary::is_python_object(sample.entry_point)) return;
    looked.text = text_with(head_at(sample.address));
    if (!looked.text) return;
    if (looked.text->before + looked.text->bytes > sample.requested) return;
    looked.hash = hash_of(looked);
    looked.content = contents_.add(looked.text->face, looked.text->bytes, looked.hash);
  }

  /// Of the sample as it is now.
  [[nodiscard]] std::uint64_t hash_of(const Looked& looked) {
    const Address start = looked.sample.address + (looked.text ? looked.text->before : 0);
    const Bytes bytes = looked.text ? looked.text->bytes : looked.sample.requested;
    Hash hash;
    for (Bytes done = 0; done < bytes; done += kAtOnce) {
      const Piece piece{start + done, std::min(kAtOnce, bytes - done)};
      memory_->read({&piece, 1}, part_.data());
      hash.add(std::span(part_).first(piece.bytes));
    }
    return hash.value();
  }

  /// Those that were freed by now may have been freed before they were looked at.
  void drop_freed() {
    static_cast<void>(follower_.follow_to_end());
    for (Looked& looked : looked_) {
      if (follower_.live().contains(looked.sample.ref)) continue;
      looked.found.zero = 0;
      looked.found.unread = looked.sample.requested;
      looked.found.most_copies = kAnyCopies;
      looked.content = kAnyCopies;
    }
  }

  void count_copies() {
    if (!others_.empty()) {
      add_blocks();
      is_inferred_ = layout_.blocks.areas().empty();
      is_inferred_ ? count_anywhere() : count_blocks();
    }
    if (!types_.empty()) count_texts();
  }

  void count_blocks() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
      Looked& looked = looked_[others_[i]];
      if (looked.found.most_copies == kAnyCopies) continue;
      const auto block = layout_.blocks.block_at(looked.sample.address);
      const bool is_block = block && !block->is_free && block->start == looked.sample.address;
      if (!is_block) {
        looked.found.most_copies = kAnyCopies;
        continue;
      }
      const Bytes extent = layout_.blocks.end_of(*block) - block->start;
      looked.content = contents_.add({firsts_[i], extent}, looked.sample.requested, looked.hash);
    }
    Window window(*memory_);
    const Bytes page = memory_->page_bytes();
    Effort effort(4, 1);
    std::uint64_t latest = 0;  // The page of the block before.
    bool is_wanted = false;
    for (const holders::Area& area : layout_.blocks.areas()) {
      const Address end = area.span().end;
      Address start =
          area.is_start(area.span().start) ? area.span().start : area.end_of(area.span().start);
      for (Address next = 0; start < end; start = next) {
        next = area.end_of(start);
        if (start / page != latest) {
          latest = start / page;
          is_wanted = pages_.contains(latest);
          if (is_wanted && start >= window.end()) window.read_ahead(wanted_from(latest));
        }
        if (!is_wanted) next = area.end_of(std::min((latest + 1) * page, end) - holders::kGrain);
        if (!is_wanted || area.is_free(start)) continue;
        effort.scanned += next - start;
        contents_.count({window.word(start), next - start}, [&](Bytes size) {
          return effort.allows(size) ? window.hash(start, size) : 0;
        });
      }
    }
    give_up(effort);
  }

  /// The bytes of wanted pages that follow one another.
  [[nodiscard]] Bytes wanted_from(std::uint64_t page) const {
    const Bytes size = memory_->page_bytes();
    Bytes bytes = size;
    while (bytes < kAtOnce && pages_.contains(page + bytes / size)) bytes += size;
    return bytes;
  }

  /// Of other allocators a live block may begin at any multiple of 16 bytes, or of 8 where a sample
  /// lies so, and what begins there may be free: there are at most so many copies.
  void count_anywhere() {
    Bytes grain = holders::kGrain;
    Effort effort(1, 2);
    for (std::size_t i = 0; i < others_.size(); ++i) {
      Looked& looked = looked_[others_[i]];
      if (looked.sample.address % holders::kGrain != 0) grain = sizeof(std::uint64_t);
      if (looked.found.most_copies == kAnyCopies) continue;
      looked.content = contents_.add({firsts_[i], 0}, looked.sample.requested, looked.hash);
    }
    Window window(*memory_);
    const Bytes page = memory_->page_bytes();
    for_each_writable([&](const Mapping& mapping) {
      for (Address at = mapping.start; at + kLeastCandidate <= mapping.end; at += grain) {
        if (at % page == 0) {
          if (memory_->is_absent(at)) {
            at += page - grain;
            continue;
          }
          effort.scanned += page;
        }
        contents_.count({window.word(at), 0}, [&](Bytes size) {
          return effort.allows(size) ? window.hash(at, size) : 0;
        });
      }
    });
    give_up(effort);
  }

  void give_up(const Effort& effort) {
    for (const std::uint32_t other : others_) {
      if (!effort.has_given_up(looked_[other].sample.requested)) continue;
      looked_[other].content = kAnyCopies;
      looked_[other].found.most_copies = kAnyCopies;
    }
  }

  /// The mappings in which objects may lie.
  template <class Function>
  void for_each_writable(const Function& function) const {
    for (const Mapping& mapping : layout_.mappings) {
      if (is_anonymous(mapping) && mapping.is_writable) function(mapping);
    }
  }

  /// Where the blocks are, if that is known for certain.
  void add_blocks() {
    Bytes heap = 0;
    for_each_writable([&](const Mapping& mapping) { heap += mapping.end - mapping.start; });
    if (heap / kHeapPerByte + looked_.size() * kPerSample > kMostMemory) return;
    const std::string_view allocator = follower_.header().allocator;
    if (!observe::is_glibc(allocator)) return;
    for (const std::uint64_t first : firsts_) contents_.expect(first);
    const Bytes page = memory_->page_bytes();
    std::uint64_t latest = 0;
    add_glibc_blocks(layout_, *memory_, [&](Address block, std::uint64_t first) {
      if (block / page == latest || !contents_.may_begin(first)) return;
      latest = block / page;
      pages_.insert(latest);
    });
  }

  /// Python's pools are not told from its other memory: an object may begin at any 16 bytes.
  void count_texts() {
    Window window(*memory_);
    const Bytes page = memory_->page_bytes();
    for_each_writable([&](const Mapping& mapping) {
      for (Address at = mapping.start; at + sizeof(TextHead) <= mapping.end;) {
        if (at % page == 0 && memory_->is_absent(at)) {
          at += page;
          continue;
        }
        if (types_.contains(window.word(at + 8))) count_text(at, window);
        at += holders::kGrain;
      }
    });
  }

  void count_text(Address at, Window& window) {
    TextHead head{};
    std::memcpy(head.data(), window.at(at, sizeof head).data(), sizeof head);
    const auto text = text_with(head);
    if (!text) return;
    contents_.count(text->face, [&](Bytes bytes) { return window.hash(at + text->before, bytes); });
  }

  /// Looks again at what has copies: what was freed or changed meanwhile is not known to have any.
  void confirm() {
    const Bytes missed = unread() + layout_.not_understood;
    for (Looked& looked : looked_) {
      if (looked.content == kAnyCopies) continue;
      SampleContent& found = looked.found;
      const std::uint32_t copies = contents_.copies(looked.content);
      const bool is_alone = copies == 1 && missed == 0;
      if (is_alone) continue;
      const bool is_same = copies > 0 && follower_.live().contains(looked.sample.ref) &&
                           hash_of(looked) == looked.hash;
      const bool is_counted = is_same && (looked.text || !is_inferred_);
      found.copies = is_counted ? copies : 1;
      found.most_copies =
          is_same ? with_missed(copies, looked.sample.requested, missed) : kAnyCopies;
    }
  }

  /// How many there are if all that was not read is full of them: those within it, and two more per
  /// page that only reach into it.
  [[nodiscard]] std::uint32_t with_missed(std::uint32_t copies, Bytes size, Bytes missed) const {
    if (missed == 0) return copies;
    const Bytes more = missed / size + 2 * (missed / memory_->page_bytes() + 1);
    return static_cast<std::uint32_t>(std::min<Bytes>(copies + more, kAnyCopies));
  }

  pid_t pid_;
  const observe::ProcessFiles& files_;
  observe::TraceFollower& follower_;
  holders::Layout layout_;
  std::optional<holders::ProcessMemory> memory_;
  std::vector<std::byte> part_ = std::vector<std::byte>(kAtOnce);
  std::vector<Looked> looked_;
  /// Candidates by the block that they are in: numbers of looked_, and their first words.
  std::vector<std::uint32_t> others_;
  std::vector<std::uint64_t> firsts_;
  Contents contents_;
  tsl::robin_set<std::uint64_t> pages_;  ///< Where blocks begin that begin like a candidate.
  bool is_inferred_ = false;             ///< Where blocks begin is not known.
  std::uint32_t version_ = 0;
  std::map<Address, TextType> types_;
};

base::Outcome<profile::Content> read_once(pid_t pid, const std::string& trace) {
  const observe::ProcessFiles files(pid);
  if (!files.is_open()) return base::Failure{"the process has ended"};
  observe::TraceFollower follower;
  GEIGER_TRY(follower.open(trace));
  return Reading(pid, files, follower).read();
}

}  // namespace

profile::Observations read_content(pid_t pid, const std::string& trace) {
  profile::Observations found;
  auto content = read_once(pid, trace);
  if (!content.has_value()) {
    found.content_fault = content.reason();
    return found;
  }
  found.content_at_maximum = content.value();
  found.last_content = std::move(content.value());
  return found;
}

}  // namespace geiger::content
