// A program or debug file on the way to names, as the symbolizing process reads it.
// What is found here in libdw costs that process only (analysis/symbolize/worker.h).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "analysis/symbolize/module_names.h"
#include "foreign/elf_facts.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  static const int file = ::memfd_create("input", MFD_CLOEXEC);
  fuzz::require(::ftruncate(file, 0) == 0, "a file can be cut");
  fuzz::require(::pwrite(file, data, size, 0) == static_cast<ssize_t>(size), "it can be written");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  static_cast<void>(foreign::read_elf_facts(path, {"malloc", "__asan_init"}));
  symbolize::ModuleJob job{path, "", {}};
  for (Address address = 1; address < 0x4000; address += 0x21) job.addresses.push_back(address);
  const auto answer = symbolize::symbolize_module(job, symbolize::SearchOptions{}, {});
  fuzz::require(answer.names.modules.size() <= 1, "one module at most is named");
  return 0;
}
