#include "analysis/symbolize/elf/test_programs.h"

#include <fcntl.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>

#include "analysis/symbolize/file.h"
#include "foreign/open.h"

namespace geiger::symbolize {
namespace {

constexpr std::string_view kShapes = R"(
#include <cstddef>
#include <cstdlib>
extern "C" void* grab(std::size_t bytes);
namespace zoo {
struct Cage {
  explicit Cage(int n) : data_(static_cast<int*>(grab(sizeof(int) * n))), n_(n) { fill(n); }
  __attribute__((noinline)) void clear();
  inline int sum() const { int s = 0; for (int i = 0; i < n_; ++i) s += twice(data_[i]); return s; }
 private:
  static inline int twice(int x) { return x * 2 + std::atoi(x > 3 ? "1" : "2"); }
  inline void fill(int n) { for (int i = 0; i < n; ++i) data_[i] = std::atoi("7") + i; }
  int* data_;
  int n_;
};
namespace {
template <typename T>
inline T* make(int n) { return new T(n); }
template <typename T>
__attribute__((noinline)) T* make_far(int n) { return make<T>(n + 1); }
}  // namespace
void Cage::clear() { for (int i = 0; i < n_; ++i) data_[i] = std::atoi("0"); }
Cage* breed(int n) {
  struct Local {
    static __attribute__((noinline)) int far(int x) { return std::atoi(x ? "3" : "4") * x; }
    static inline int near(int x) { return std::atoi("5") + x; }
  };
  auto lambda = [n](int x) { return static_cast<Cage*>(make<Cage>(x + n + Local::near(x))); };
  Cage* cage = n > 100 ? make_far<Cage>(Local::far(n)) : lambda(n);
  cage->clear();
  return cage;
}
int weigh(const Cage& cage) { return cage.sum(); }
}  // namespace zoo
)";

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kMain = R"(
#include <cstdlib>
#include <cstdio>
namespace zoo { struct Cage; Cage* breed(int); int weigh(const Cage&); }
extern "C" __attribute__((noinline)) void* grab(std::size_t bytes) { return std::malloc(bytes); }
static inline int again(int n) { return zoo::weigh(*zoo::breed(n)); }
static __attribute__((noinline)) int twice_again(int n) { return again(n) + again(n + 200); }
int main(int argc, char** argv) {
  std::printf("%d\n", twice_again(argc) + again(argc * 2));
  return argv[0] == nullptr;
}
)";

struct CloseElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

/// Calls `visit(section, header)` for each section.
template <typename Visit>
void for_each_section(const std::string& path, const Visit& visit) {
  const base::UniqueFd file = foreign::open_regular(path, O_RDONLY);
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, CloseElf> elf(elf_begin(file.get(), ELF_C_READ, nullptr));
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr) visit(elf.get(), section, header);
  }
}

profile::Frame parse_frame(const std::string& function, std::string position) {
  position.erase(std::min(position.size(), position.find(" (discriminator")));
  const std::size_t colon = position.rfind(':');
  std::string file = position.substr(0, colon);
  if (file == "??") file.clear();
  const unsigned long line = std::strtoul(position.c_str() + colon + 1, nullptr, 10);
  return {function, "", std::filesystem::path(file).lexically_normal().string(),
          static_cast<std::uint32_t>(line)};
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "geiger-test-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// NOLINTBEGIN(cert-env33-c): the commands are these tests' own.
bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, decltype(&::pclose)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string text;
  std::array<char, 4096> piece{};
  while (pipe && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr) {
    text += piece.data();
  }
  return text;
}
// NOLINTEND(cert-env33-c)

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool build_program(const std::string& path, const std::string& flags) {
  write_file(path + "-shapes.cc", std::string(kShapes));
  write_file(path + "-main.cc", std::string(kMain));
  return run("g++ -std=c++17 -Wl,--build-id " + flags + " -o " + path + " " + path + "-shapes.cc " +
             path + "-main.cc");
}

std::string build_id_of(const std::string& path) {
  std::string id;
  for_each_section(path, [&](Elf*, Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_NOTE) return;
    Elf_Data* const data = elf_getdata(section, nullptr);
    GElf_Nhdr note;
    std::size_t name = 0;
    std::size_t text = 0;
    if (data == nullptr || gelf_getnote(data, 0, &note, &name, &text) == 0) return;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4) return;
    for (std::size_t i = 0; i < note.n_descsz; ++i) {
      const auto* const bytes = static_cast<const unsigned char*>(data->d_buf) + text;
      id += kHexDigits[bytes[i] >> 4];
      id += kHexDigits[bytes[i] & 0xf];
    }
  });
  return id;
}

std::vector<Address> code_addresses(const std::string& path, std::size_t count) {
  std::vector<Address> all;
  for_each_section(path, [&](Elf*, Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) return;
    Elf_Data* const data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      for (Address byte = 0; byte < symbol.st_size; ++byte) all.push_back(symbol.st_value + byte);
    }
  });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<Address> some;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) {
    some.push_back(all[i * all.size() / std::min(count, all.size())]);
  }
  return some;
}

profile::Recording recording_of(const std::string& path, const std::vector<Address>& addresses) {
  profile::Recording recording;
  recording.processes.emplace_back();
  recording.modules.push_back({path, build_id_of(path), 0, 0, 0});
  profile::Stack stack;
  for (const Address address : addresses) {
    stack.locations.push_back(static_cast<std::uint32_t>(recording.locations.size()));
    recording.locations.push_back({0, address + 1, 0, {}});
  }
  recording.stacks.push_back(stack);
  profile::Sample sample;
  sample.stack = 0;
  recording.samples.push_back(sample);
  return recording;
}

std::map<Address, Frames> frames_by_address(const profile::Recording& recording) {
  std::map<Address, Frames> all;
  for (const profile::Location& location : recording.locations) {
    Frames& frames = all[location.vaddr - 1];
    for (const std::uint32_t frame : location.frames) frames.push_back(recording.frames[frame]);
  }
  return all;
}

std::map<Address, Frames> addr2line(const std::string& path,
                                    const std::vector<Address>& addresses) {
  const std::string list = path + ".addresses";
  std::ostringstream text;
  text << std::hex;
  for (const Address address : addresses) text << address << '\n';
  write_file(list, text.str());
  std::istringstream lines(output_of("addr2line -a -i -f -C -e " + path + " < " + list));
  std::map<Address, Frames> all;
  Frames* frames = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      frames = &all[std::strtoull(line.c_str(), nullptr, 16)];
      continue;
    }
    std::string position;
    std::getline(lines, position);
    if (frames != nullptr) frames->push_back(parse_frame(line, position));
  }
  return all;
}

}  // namespace geiger::symbolize
