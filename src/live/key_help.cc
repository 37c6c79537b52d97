#include "live/key_help.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace geiger::live {
namespace {

using KeyHelp = std::pair<std::string_view, std::string_view>;

constexpr std::array kKeys{
    KeyHelp{"q, ^C", "leave (a program that live started is asked to end)"},
    KeyHelp{"space", "pause and resume the view; the program runs on"},
    KeyHelp{"tab g", "by function, line, stack, thread, module, size, type, label"},
    KeyHelp{"k", "what is live, or all that was allocated"},
    KeyHelp{"s", "sort by self, total, samples, name"},
    KeyHelp{"r", "rows that grew most first; again: as before"},
    KeyHelp{"w", "growth since watching began, or over the recent time"},
    KeyHelp{"z", "measure growth from now on"},
    KeyHelp{"/", "only rows with this in their name; empty shows all"},
    KeyHelp{"f", "focus: only stacks with a frame that matches; totals are of these"},
    KeyHelp{"i", "ignore: only stacks without such a frame"},
    KeyHelp{"x", "hide frames that match; their callers are blamed"},
    KeyHelp{"o", "own code first, or all frames with their plumbing"},
    KeyHelp{"m", "set a mark with a name in the trace"},
    KeyHelp{"p", "the next process of the run, or all together"},
    KeyHelp{"up down", "choose a row"},
    KeyHelp{"pgup pgdn", "a page; home and end go all the way"},
    KeyHelp{"enter", "the row in full: name, numbers, stack"},
    KeyHelp{"esc", "back"},
    KeyHelp{"± [ ]", "every number is an estimate with its 95 % interval unless it"},
    KeyHelp{"", "says exact; < is the upper limit of what left no sample;"},
    KeyHelp{"▲", "grew: at this look its interval is above 0"},
    KeyHelp{"~", "may belong below the next row: their intervals overlap"},
};

}  // namespace

void add_help(terminal::Screen& screen) {
  for (const auto& [key, text] : kKeys) {
    screen.push_back({{terminal::Ink::kStrong, fmt::format(" {:<10} ", key)},
                      {terminal::Ink::kPlain, std::string(text)}});
  }
}

}  // namespace geiger::live
