#include "heap/statistics.h"

#include "base/raw_syscall.h"
#include "base/text_builder.h"
#include "heap/census.h"

namespace geiger::heap {
namespace {

/// A line to stderr, with numbers between words.
class Line {
 public:
  Line() : text_(characters_, sizeof characters_) { text_.append("geiger-malloc:"); }
  ~Line() {
    text_.append('\n');
    base::raw_syscall(SYS_write, 2, reinterpret_cast<long>(characters_),
                      static_cast<long>(__builtin_strlen(characters_)));
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& add(std::uint64_t number, const char* words) {
    text_.append(' ').append(number).append(' ').append(words);
    return *this;
  }

 private:
  char characters_[512];
  base::TextBuilder text_;
};

}  // namespace

void write_statistics() {
  const Census census = take_census();
  for (unsigned i = 0; i < kClasses; ++i) {
    const std::uint64_t calls = handed_out(i);
    if (calls == 0) continue;
    Line()
        .add(block_size(i), "bytes:")
        .add(calls, "blocks handed out,")
        .add(census.live_blocks[i], "live");
  }
  Line()
      .add(census.mapped, "bytes mapped:")
      .add(census.live, "in live blocks,")
      .add(census.listed, "in lists of threads,")
      .add(census.free, "free in pages,")
      .add(census.inboxes, "sent to other threads,")
      .add(census.uncarved, "never used,")
      .add(census.tails, "ends of pages,")
      .add(census.samples, "pages of samples,")
      .add(census.large + census.huge, "in large objects,")
      .add(census.huge_around, "around them,")
      .add(census.cached + census.empty_dirty + census.empty_clean, "empty,")
      .add(census.heads, "headers");
}

}  // namespace geiger::heap
