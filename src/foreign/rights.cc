#include "foreign/rights.h"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/check.h"
#include "base/parts.h"

namespace geiger::foreign {
namespace {

/// Takes a number and the blanks before it off the front; nothing if there is none.
template <typename T>
std::optional<T> take_number(std::string_view& text, int base = 10) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The last of the four ids of a line: the one for access to files.
template <typename T>
std::optional<T> last_of_four(std::string_view numbers) {
  std::optional<T> last;
  for (int i = 0; i < 4; ++i) last = take_number<T>(numbers);
  return last;
}

std::vector<gid_t> groups_in(std::string_view numbers) {
  std::vector<gid_t> groups;
  while (const auto group = take_number<gid_t>(numbers)) groups.push_back(*group);
  return groups;
}

/// The two halves of the kernel's capability sets.
using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

bool get_sets(Sets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capget, &header, sets.data()) == 0;
}

std::uint64_t effective(const Sets& sets) {
  return sets[0].effective | std::uint64_t{sets[1].effective} << 32;
}

/// Those of `wanted` that this thread may have.
bool set_effective(std::uint64_t wanted) {
  Sets sets{};
  if (!get_sets(sets)) return false;
  sets[0].effective = static_cast<std::uint32_t>(wanted) & sets[0].permitted;
  sets[1].effective = static_cast<std::uint32_t>(wanted >> 32) & sets[1].permitted;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capset, &header, sets.data()) == 0;
}

Rights own_rights() {
  Rights rights;
  rights.user = static_cast<uid_t>(setfsuid(static_cast<uid_t>(-1)));
  rights.group = static_cast<gid_t>(setfsgid(static_cast<gid_t>(-1)));
  const int count = getgroups(0, nullptr);
  rights.groups.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (getgroups(count, rights.groups.data()) != count) rights.groups.clear();
  Sets sets{};
  if (get_sets(sets)) rights.capabilities = effective(sets);
  return rights;
}

}  // namespace

std::optional<Rights> parse_rights(std::string_view status) {
  std::optional<uid_t> user;
  std::optional<gid_t> group;
  std::optional<std::uint64_t> capabilities;
  Rights rights;
  while (!status.empty()) {
    const std::string_view line = base::take_part(status);
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view key = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    if (key == "Uid") user = last_of_four<uid_t>(value);
    if (key == "Gid") group = last_of_four<gid_t>(value);
    if (key == "Groups") rights.groups = groups_in(value);
    if (key == "CapEff") capabilities = take_number<std::uint64_t>(value, 16);
  }
  if (!user || !group || !capabilities) return std::nullopt;
  rights.user = *user;
  rights.group = *group;
  rights.capabilities = *capabilities;
  return rights;
}

// The C library's setgroups() would change all threads. Some user namespaces forbid it, but then
// their processes usually have the same groups.
bool ActingWith::set(const Rights& rights) {
  const bool has_groups = own_rights().groups == rights.groups;
  if (!has_groups && syscall(SYS_setgroups, rights.groups.size(), rights.groups.data()) != 0) {
    return false;
  }
  setfsgid(rights.group);
  setfsuid(rights.user);
  return static_cast<gid_t>(setfsgid(static_cast<gid_t>(-1))) == rights.group &&
         static_cast<uid_t>(setfsuid(static_cast<uid_t>(-1))) == rights.user &&
         set_effective(rights.capabilities);
}

ActingWith::ActingWith(const Rights& rights) {
  if (geteuid() != 0) return;
  before_ = own_rights();
  is_in_force_ = set(rights);
}

// Capabilities first: the others need some of them.
ActingWith::~ActingWith() {
  if (!before_) return;
  const bool is_restored = set_effective(before_->capabilities) && set(*before_);
  GEIGER_ASSERT(is_restored || !is_in_force_);
  static_cast<void>(is_restored);
}

}  // namespace geiger::foreign
