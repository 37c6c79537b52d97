#include "trace/rendezvous.h"

#include <string.h>

#include "base/text_builder.h"

namespace geiger::trace {

using base::TextBuilder;

bool is_bell(const Bell& bell) {
  return memcmp(bell.magic, kBellMagic, sizeof bell.magic) == 0 &&
         bell.version == kRendezvousVersion;
}

void begin_bell(Bell& bell) {
  memcpy(bell.magic, kBellMagic, sizeof bell.magic);
  bell.version = kRendezvousVersion;
}

bool is_rendezvous_of(const Rendezvous& page, std::uint32_t pid, std::uint64_t start_ticks) {
  return memcmp(page.magic, kRendezvousMagic, sizeof page.magic) == 0 &&
         page.version == kRendezvousVersion && page.pid == pid && page.start_ticks == start_ticks;
}

void begin_rendezvous(Rendezvous& page, std::uint32_t pid, std::uint64_t start_ticks) {
  memcpy(page.magic, kRendezvousMagic, sizeof page.magic);
  page.version = kRendezvousVersion;
  page.pid = pid;
  page.start_ticks = start_ticks;
}

bool rendezvous_place(int index, const char* runtime_directory, std::uint32_t uid,
                      RendezvousPlace& place) {
  place.parent_is_shared = index == kRendezvousPlaces - 1;
  TextBuilder parent(place.parent, sizeof place.parent);
  TextBuilder name(place.name, sizeof place.name);
  if (place.parent_is_shared) {
    parent.append("/tmp");
    name.append("geiger-").append(std::uint64_t{uid});
    return true;
  }
  name.append("geiger");
  if (index == 1) {
    parent.append("/run/user/").append(std::uint64_t{uid});
    return true;
  }
  if (index != 0 || runtime_directory == nullptr || runtime_directory[0] != '/') return false;
  return parent.append(runtime_directory).fits();
}

void rendezvous_name(std::uint32_t pid, std::uint64_t start_ticks, char (&name)[32]) {
  TextBuilder(name, sizeof name).append(std::uint64_t{pid}).append(".").append(start_ticks);
}

bool is_rendezvous_name(const char* name) {
  constexpr char kDigits[] = "0123456789";
  const std::size_t pid = strspn(name, kDigits);
  if (pid == 0 || name[pid] != '.') return false;
  const char* start = name + pid + 1;
  const std::size_t digits = strspn(start, kDigits);
  return digits != 0 && start[digits] == '\0';
}

std::uint64_t start_ticks_in(const char* stat, std::size_t bytes) {
  constexpr int kFieldsBehindName = 20;  // State is field 3; the start is field 22.
  const char* end = stat + bytes;
  const char* at = end;
  while (at != stat && *(at - 1) != ')') --at;
  if (at == stat) return 0;
  for (int field = 0; field < kFieldsBehindName; ++field) {
    if (field != 0) {
      while (at != end && *at != ' ') ++at;
    }
    while (at != end && *at == ' ') ++at;
  }
  std::uint64_t ticks = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return at != end && *at == ' ' ? ticks : 0;
}

}  // namespace geiger::trace
