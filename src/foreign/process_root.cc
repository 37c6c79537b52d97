#include "foreign/process_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/check.h"
#include "base/text.h"
#include "foreign/open.h"

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

namespace {

std::optional<struct stat> status_of(int fd) {
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return std::nullopt;
  return status;
}

bool is_same(const std::optional<struct stat>& one, const std::optional<struct stat>& other) {
  return one && other && one->st_ino == other->st_ino && one->st_dev == other->st_dev;
}

base::UniqueFd find_here(const std::string& path) {
  return base::UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC));
}

/// The device may differ: on overlay and btrfs, stat reports another one than the maps.
bool has_inode(const std::optional<struct stat>& status, const MappedAs& file) {
  return status && status->st_ino == file.inode;
}

bool has_device(const struct stat& status, const MappedAs& file) {
  return fmt::format("{:02x}:{:02x}", major(status.st_dev), minor(status.st_dev)) == file.device;
}

bool is_empty(int directory) {
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : fdopendir(again),
                                                    &closedir);
  if (!entries) return false;
  while (const dirent* entry = readdir(entries.get())) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) return false;
  }
  return true;
}

/// "geiger-" and 12 digits by chance; empty if the kernel has no random numbers yet.
std::string new_name() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) return {};
  return fmt::format("geiger-{:012x}", bits >> 16);
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_in_our_user_namespace(pid_t pid) {
  const auto ours = status_of(find_here("/proc/self/ns/user").get());
  return is_same(ours, status_of(find_here(fmt::format("/proc/{}/ns/user", pid)).get()));
}

}  // namespace

bool is_own_and_empty(int directory, uid_t user) {
  constexpr mode_t kAll = 07777, kOwn = 0700;
  const auto status = status_of(directory);
  return status && S_ISDIR(status->st_mode) && status->st_uid == user &&
         (status->st_mode & kAll) == kOwn && is_empty(directory);
}

bool give_away(int directory, uid_t user, gid_t group) {
  return is_own_and_empty(directory, geteuid()) && fchown(directory, user, group) == 0;
}

std::optional<ProcessRoot> ProcessRoot::open(pid_t pid) {
  ProcessRoot root;
  root.pid_ = pid;
  const std::string link = fmt::format("/proc/{}/root", pid);
  root.root_ = base::UniqueFd(::open(link.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto rights = parse_rights(text_of(fmt::format("/proc/{}/status", pid)));
  std::array<char, PATH_MAX> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size() - 1);
  if (!root.root_.is_open() || !rights || length <= 0) return std::nullopt;
  // Capabilities of another user namespace do not apply to our files.
  if (!is_in_our_user_namespace(pid)) rights->capabilities = 0;
  root.rights_ = std::move(*rights);
  root.root_path_.assign(target.data(), static_cast<std::size_t>(length));
  return root;
}

std::pair<dev_t, ino_t> ProcessRoot::identity() const {
  const auto status = status_of(root_.get());
  return status ? std::pair(status->st_dev, status->st_ino) : std::pair<dev_t, ino_t>();
}

base::UniqueFd ProcessRoot::open_path(const std::string& path, int flags) const {
  const ActingWith acting(rights_);
  return acting.is_in_force() ? open_below(root_.get(), path, flags, Links::kBelow)
                              : base::UniqueFd();
}

// Opening a device could have consequences, so what is there is known before; what replaces it
// meanwhile is opened with the process's rights, too.
base::UniqueFd ProcessRoot::open_readable(const std::string& path) const {
  const auto is_regular = [](const base::UniqueFd& file) {
    const auto status = status_of(file.get());
    return status && S_ISREG(status->st_mode);
  };
  if (!is_regular(open_path(path, O_PATH))) return {};
  base::UniqueFd file = open_path(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  return is_regular(file) ? std::move(file) : base::UniqueFd();
}

bool ProcessRoot::sees_same(const std::string& path) const {
  const base::UniqueFd its = open_path(path, O_PATH);
  return is_same(status_of(find_here(path).get()), status_of(its.get()));
}

bool ProcessRoot::has_proc() const {
  const base::UniqueFd proc = open_path("/proc", O_PATH | O_DIRECTORY);
  struct statfs system {};
  return proc.is_open() && fstatfs(proc.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

bool ProcessRoot::can_write_to(const std::string& directory) const {
  const base::UniqueFd its = open_path(directory, O_RDONLY | O_DIRECTORY);
  struct statvfs system {};
  return is_same(status_of(find_here(directory).get()), status_of(its.get())) &&
         fstatvfs(its.get(), &system) == 0 && (system.f_flag & ST_RDONLY) == 0;
}

std::string ProcessRoot::path_inside(const std::string& path) const {
  const bool is_below = root_path_.size() > 1 && path.starts_with(root_path_ + "/");
  return is_below ? path.substr(root_path_.size()) : path;
}

std::string ProcessRoot::shown_path(const MappedAs& file) const {
  const std::string inside = path_inside(file.path);
  const auto its = status_of(open_path(inside, O_PATH).get());
  const auto ours = status_of(find_here(file.path).get());
  if (has_inode(its, file)) {
    return is_same(its, ours) ? file.path : fmt::format("/proc/{}/root{}", pid_, inside);
  }
  // Mapped before the process changed its root.
  if (has_inode(ours, file) && has_device(*ours, file)) return file.path;
  const std::string link = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid_, file.begin, file.end);
  if (has_inode(status_of(find_here(link).get()), file)) return link;
  return has_inode(ours, file) ? file.path : "";
}

/// The file as an O_PATH descriptor. The mapping first, as it cannot be another file.
base::UniqueFd ProcessRoot::find_mapped(const MappedAs& file) const {
  base::UniqueFd mapping =
      find_here(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid_, file.begin, file.end));
  if (has_inode(status_of(mapping.get()), file)) return mapping;
  base::UniqueFd its = open_path(path_inside(file.path), O_PATH);
  if (has_inode(status_of(its.get()), file)) return its;
  base::UniqueFd ours = find_here(file.path);
  return has_inode(status_of(ours.get()), file) ? std::move(ours) : base::UniqueFd();
}

base::UniqueFd ProcessRoot::open_mapped(const MappedAs& file, int flags) const {
  return reopen_regular(find_mapped(file), flags);
}

void ProcessRoot::remove(const std::string& path, int flags) const {
  const std::string prefix = fmt::format("/proc/{}/root", pid_);
  const std::string inside = path.starts_with(prefix + "/") ? path.substr(prefix.size()) : path;
  const auto slash = inside.rfind('/') + 1;
  const ActingWith acting(rights_);
  if (!acting.is_in_force()) return;
  const base::UniqueFd parent =
      open_below(root_.get(), inside.substr(0, slash), O_PATH | O_DIRECTORY, Links::kBelow);
  unlinkat(parent.get(), inside.substr(slash).c_str(), flags);
}

std::optional<NewDirectory> ProcessRoot::make_directory(const std::string& parent) const {
  const ActingWith acting(rights_);
  if (!acting.is_in_force()) return std::nullopt;
  NewDirectory made;
  made.parent = open_below(root_.get(), parent, O_PATH | O_DIRECTORY, Links::kNone);
  made.name = new_name();
  if (!made.parent.is_open() || made.name.empty()) return std::nullopt;
  if (mkdirat(made.parent.get(), made.name.c_str(), 0700) != 0) return std::nullopt;
  made.directory = open_entry(made.parent.get(), made.name, O_RDONLY | O_DIRECTORY);
  if (is_own_and_empty(made.directory.get(), rights_.user)) return made;
  unlinkat(made.parent.get(), made.name.c_str(), AT_REMOVEDIR);
  return std::nullopt;
}

}  // namespace geiger::foreign
