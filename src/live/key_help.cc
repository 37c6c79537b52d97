#include "live/key_help.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace geiger::live {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

constexpr std::array kKeys{
    Key{"q, ^C", "leave (a program that live started is asked to end)"},
    Key{"space", "pause and resume the view; the program runs on"},
    Key{"tab g", "by function, line, stack, thread, module, size, type, label"},
    Key{"k", "what is live, or all that was allocated"},
    Key{"s", "sort by self, total, samples, name"},
    Key{"r", "rows that grew most first; again: as before"},
    Key{"w", "growth since watching began, or over the recent time"},
    Key{"z", "measure growth from now on"},
    Key{"/", "only rows with this in their name; empty shows all"},
    Key{"f", "focus: only stacks with a frame that matches; totals are of these"},
    Key{"i", "ignore: only stacks without such a frame"},
    Key{"x", "hide frames that match; their callers are blamed"},
    Key{"o", "own code first, or all frames with their plumbing"},
    Key{"m", "set a mark with a name in the trace"},
    Key{"p", "the next process of the run, or all together"},
    Key{"up down", "choose a row"},
    Key{"pgup pgdn", "a page; home and end go all the way"},
    Key{"enter", "the row in full: name, numbers, stack"},
    Key{"esc", "back"},
    Key{"± [ ]", "every number is an estimate with its 95 % interval unless it"},
    Key{"", "says exact; < is the upper limit of what left no sample;"},
    Key{"▲", "grew: at this look its interval is above 0"},
    Key{"~", "may belong below the next row: their intervals overlap"},
};

}  // namespace

void add_help(terminal::Screen& screen) {
  for (const auto& [key, text] : kKeys) {
    screen.push_back({{terminal::Ink::kStrong, fmt::format(" {:<10} ", key)},
                      {terminal::Ink::kPlain, std::string(text)}});
  }
}

}  // namespace geiger::live
