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
    KeyHelp{"tab g", "group by function, line, stack, thread, module, size, type, label"},
    KeyHelp{"k", "live memory, or all allocations"},
    KeyHelp{"s", "sort by self, total, samples, name"},
    KeyHelp{"r", "sort by growth; press again to undo"},
    KeyHelp{"w", "growth since watching began, or recent growth"},
    KeyHelp{"z", "measure growth from now on"},
    KeyHelp{"/", "only rows whose name contains this; empty shows all"},
    KeyHelp{"f", "focus: only stacks with a frame that matches; totals include only these"},
    KeyHelp{"i", "ignore: only stacks without a frame that matches"},
    KeyHelp{"x", "hide frames that match; their callers are blamed"},
    KeyHelp{"o", "own code first, or all frames including plumbing"},
    KeyHelp{"m", "set a named mark in the trace"},
    KeyHelp{"p", "the next process of the run, or all together"},
    KeyHelp{"up down", "choose a row"},
    KeyHelp{"pgup pgdn", "a page; home and end go all the way"},
    KeyHelp{"enter", "the row in full: name, numbers, stack"},
    KeyHelp{"esc", "back"},
    KeyHelp{"± [ ]", "every number is an estimate with its 95 % interval unless it"},
    KeyHelp{"", "is marked exact; < is an upper limit where there is no sample;"},
    KeyHelp{"▲", "grew: the interval of its growth is above 0"},
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
