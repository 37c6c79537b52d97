#include "analysis/ingest/unbegun.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/numbers.h"
#include "base/parts.h"
#include "base/path.h"

namespace geiger::ingest {
namespace {

/// In place of the number of a trace, and why.
struct AbsenceWords {
  std::string_view name, why;
};
constexpr std::array<AbsenceWords, 3> kAbsences{
    {{"environment",
      "it was started with an environment without LD_PRELOAD (env -i, sudo, a service manager)"},
     {"static", "it is linked statically (docs/guide/static.md)"},
     {"ignored", "its loader ignored LD_PRELOAD (privileged, or of another architecture)"}}};

constexpr char kKilled = 'k';
constexpr char kUntold = '-';

/// Whether there are only zeros, or no bytes.
bool is_blank(const InputFile& file, std::uint64_t offset) {
  std::array<std::byte, 8> word{};
  static_cast<void>(file.read_at(offset, word));  // What is not there is blank.
  return std::ranges::all_of(word, [](std::byte byte) { return byte == std::byte{0}; });
}

/// Cuts what follows the last dot off; nothing if there is no dot.
std::optional<std::string_view> cut_last(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view last = text.substr(dot + 1);
  text = text.substr(0, dot);
  return last;
}

}  // namespace

std::optional<NamedProcess> process_named(std::string_view path) {
  std::string_view program = base::file_name_of(path);
  const auto suffix = cut_last(program);
  const auto number = cut_last(program);
  const auto digits = cut_last(program);
  if (!suffix || !number || !digits) return std::nullopt;
  const auto pid = base::number_in<pid_t>(*digits);
  if (!pid || *pid <= 0) return std::nullopt;
  return NamedProcess{std::string(program), *pid};
}

std::string name_of_absent(std::string_view program, pid_t pid, Absence absence) {
  return fmt::format("{}.{}.{}.geiger", program, pid,
                     kAbsences[static_cast<std::size_t>(absence)].name);
}

std::string Unbegun::text() const {
  const auto named = process_named(name);
  std::string_view rest = name;
  static_cast<void>(cut_last(rest));
  const auto* const absence =
      std::ranges::find(kAbsences, cut_last(rest).value_or(""), &AbsenceWords::name);
  std::string why =
      "the process was killed at start-up, or its trace file could not be created (disk full, "
      "ulimit -f), or was deleted or emptied";
  if (absence != kAbsences.end()) why = absence->why;
  return fmt::format("{}: {}; its allocations are not known",
                     named ? fmt::format("{}, pid {}", named->program, named->pid) : name,
                     is_killed ? "killed before its recording began" : "not recorded: " + why);
}

bool was_never_begun(const InputFile& file) {
  return is_blank(file, 0) && is_blank(file, trace::kRecordsOffset);
}

std::string encode_unbegun(const std::vector<Unbegun>& all) {
  std::string payload;
  for (const Unbegun& unbegun : all) {
    payload += unbegun.is_killed ? kKilled : kUntold;
    payload += unbegun.name;
    payload += '\0';
  }
  return payload;
}

std::vector<Unbegun> decode_unbegun(std::string_view payload) {
  std::vector<Unbegun> all;
  while (!payload.empty()) {
    const std::string_view entry = base::take_part(payload, '\0');
    if (entry.size() > 1) all.push_back({std::string(entry.substr(1)), entry.front() == kKilled});
  }
  return all;
}

}  // namespace geiger::ingest
