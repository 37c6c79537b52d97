#include "inject/process_path.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <optional>

namespace geiger::inject {
namespace {

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// The device may differ: on overlay and btrfs, stat reports another one than the maps.
bool has_inode(const std::optional<struct stat>& status, const MappedAs& file) {
  return status && status->st_ino == file.inode;
}

bool has_device(const struct stat& status, const MappedAs& file) {
  return fmt::format("{:02x}:{:02x}", major(status.st_dev), minor(status.st_dev)) == file.device;
}

bool is_same(const std::optional<struct stat>& one, const std::optional<struct stat>& other) {
  return one && other && one->st_ino == other->st_ino && one->st_dev == other->st_dev;
}

std::string link_of(pid_t pid, const MappedAs& file) {
  return fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, file.begin, file.end);
}

}  // namespace

std::string path_inside(pid_t pid, const std::string& path) {
  std::error_code error;
  const std::string root =
      std::filesystem::read_symlink(fmt::format("/proc/{}/root", pid), error).string();
  const bool is_below = !error && root.size() > 1 && path.starts_with(root + "/");
  return is_below ? path.substr(root.size()) : path;
}

bool sees_same(pid_t pid, const std::string& path) {
  return is_same(status_of(path), status_of(fmt::format("/proc/{}/root{}", pid, path)));
}

bool is_mapping_link(std::string_view path) {
  return path.starts_with("/proc/") && path.find("/map_files/") != std::string_view::npos;
}

std::string path_here(pid_t pid, const MappedAs& file) {
  const std::string there = fmt::format("/proc/{}/root{}", pid, path_inside(pid, file.path));
  const auto its = status_of(there);
  const auto ours = status_of(file.path);
  if (has_inode(its, file)) return is_same(its, ours) ? file.path : there;
  // Mapped before the process changed its root.
  if (has_inode(ours, file) && has_device(*ours, file)) return file.path;
  if (const std::string link = link_of(pid, file); has_inode(status_of(link), file)) return link;
  return has_inode(ours, file) ? file.path : "";
}

}  // namespace geiger::inject
