#include "analysis/holders/python_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace geiger::holders {

namespace {

constexpr std::size_t kPages = 1024;

// struct _PyStackChunk (Include/cpython/pystate.h): the chunk before, its size and, once others
// follow, how many words are used; then the words.
constexpr Bytes kChunkHead = 3 * kWord;
constexpr Bytes kLeastPage = 4096;
constexpr Bytes kLeastStackChunk = 16 * kKiB, kMostStackChunk = 64 * kMiB;

// struct PyCodeObject (Include/cpython/code.h), from 3.11 on.
constexpr Bytes kFile = 112, kQualifiedName = 128;

/// Where frames have their code, and where that has numbers of words: of local variables, and of
/// what the function may use besides (struct _PyInterpreterFrame in
/// Include/internal/pycore_frame.h).
struct FrameLayout {
  Bytes code = 0;
  Bytes locals_at = 0, used_at = 0;
};
constexpr FrameLayout kFrames311{32, 76, 68}, kFrames312{0, 72, 64};
constexpr Bytes kFrameHead = 9 * kWord;

}  // namespace

PythonObjects::PythonObjects(std::uint32_t version, Memory& memory)
    : memory_(memory, kPages),
      types_(version,
             [this](Address address, void* into, std::size_t bytes) {
               const Piece piece{address, bytes};
               memory_.read({&piece, 1}, static_cast<std::byte*>(into));
               return true;
             }),
      minor_(version >> 16 & 0xff) {}

void PythonObjects::find(Layout& layout, Memory& memory, const observe::LiveSet& live) {
  static_cast<void>(add_python_blocks(layout, memory));
  std::vector<Span> interpreter;
  for (std::size_t i = 0; i < layout.mappings.size(); ++i) {
    const observe::Mapping& mapping = layout.mappings[i];
    const bool is_its = layout.modules[i] != kNoMapping && mapping.is_writable &&
                        live.interpreters().contains(layout.mappings[layout.modules[i]].start);
    if (is_its) interpreter.push_back({mapping.start, mapping.end});
  }
  const std::vector<Address> modules = find_links(layout, memory_, types_, interpreter);
  find_stale(layout, memory, interpreter);
  variables_ = take_module_variables(layout, memory_, types_, modules);
  for (const Span& span : interpreter) find_stacks(layout, span);
  std::ranges::sort(layout.interpreter_stacks, {}, &Span::start);
}

/// A thread's state has three words one after the other: its last chunk, the end of what is used of
/// it, and of the chunk.
void PythonObjects::find_stacks(Layout& layout, Span variables) {
  constexpr std::uint32_t kFirst = 11;
  for (Address at = variables.start; minor_ >= kFirst && at + 3 * kWord <= variables.end;
       at += kWord) {
    if (!is_state(at)) continue;
    add_chunks(at);
    for (const Address other : other_states(at)) add_chunks(other);
  }
  for (const Chunk& chunk : chunks_) layout.interpreter_stacks.push_back(chunk.span);
}

bool PythonObjects::is_state(Address at) {
  const Address chunk = word(at);
  if (chunk == 0 || chunk % kLeastPage != 0) return false;
  const Address top = word(at + kWord), end = word(at + 2 * kWord);
  return chunk < top && top <= end && end - chunk >= kLeastStackChunk &&
         end - chunk <= kMostStackChunk && word(chunk + kWord) == end - chunk;
}

/// Those of the other threads, which lie on the heap: states begin with a link to the one before
/// and one to the next, and all have the three words at the same place.
std::vector<Address> PythonObjects::other_states(Address first) {
  constexpr Bytes kMostBefore = 1024;
  constexpr std::size_t kMostThreads = 1000;
  std::vector<Address> found;
  for (Bytes before = 0; before <= kMostBefore && found.empty(); before += kWord) {
    for (const Bytes link : {Bytes{0}, kWord}) {
      Address state = first - before;
      for (Address next = word(state + link); next != 0 && found.size() < kMostThreads;
           next = word(state + link)) {
        const bool is_linked = next % kWord == 0 && word(next + kWord - link) == state;
        if (!is_linked || !is_state(next + before)) break;
        state = next;
        found.push_back(state + before);
      }
    }
  }
  return found;
}

void PythonObjects::add_chunks(Address state) {
  constexpr int kMostChunks = 1000;
  Address start = word(state);
  Address top_at = state + kWord;
  for (int i = 0; start != 0 && i < kMostChunks; ++i) {
    const Bytes bytes = word(start + kWord), used = word(start + 2 * kWord);
    const bool is_sane = bytes >= kLeastStackChunk && bytes <= kMostStackChunk;
    if (!is_sane) return;
    chunks_.push_back({{start, start + bytes}, top_at, start + kChunkHead + used * kWord});
    top_at = 0;
    start = word(start);
  }
}

std::vector<PythonFrame> PythonObjects::frames_in(Span stack, Words& words) {
  const auto chunk =
      std::ranges::find(chunks_, stack.start, [](const Chunk& each) { return each.span.start; });
  if (chunk == chunks_.end() || chunk->span.end != stack.end) return {};
  const Address before = words.at(stack.start, stack.end);
  std::uint64_t top = chunk->top;
  if (chunk->top_at != 0) {
    memory_.read_now({chunk->top_at, sizeof top}, reinterpret_cast<std::byte*>(&top));
  }
  const FrameLayout& layout = minor_ == 11 ? kFrames311 : kFrames312;
  const auto number_at = [this](Address at) { return word(at) & 0xffffffff; };
  std::vector<PythonFrame> frames;
  // The first chunk leaves its first word free.
  Address at = stack.start + kChunkHead + (before == 0 ? kWord : 0);
  while (at < top) {
    const Address code = words.at(at + layout.code, stack.end);
    std::string function = function_of(code);
    if (function.empty()) return {};
    const Address locals = at + kFrameHead;
    const Address used = locals + kWord * number_at(code + layout.locals_at);
    const Address end = used + kWord * number_at(code + layout.used_at);
    frames.push_back({{at, end}, {locals, used}, std::move(function)});
    at = end;
  }
  return at == top ? frames : std::vector<PythonFrame>();
}

/// Empty unless `code` is a code object.
std::string PythonObjects::function_of(Address code) {
  const auto* type = code % kWord == 0 && code != 0 ? types_.type_at(word(code + kWord)) : nullptr;
  if (type == nullptr || type->name != "code") return "";
  const std::string file = text_of(word(code + kFile)), name = text_of(word(code + kQualifiedName));
  if (name.empty()) return "";
  return file.empty() ? name : fmt::format("{} ({})", name, base::file_name_of(file));
}

std::string PythonObjects::type_in(Address block, Bytes bytes) {
  for (Bytes before = 0; before <= 32 && before + 16 <= bytes; before += 16) {
    const auto* type = types_.type_at(word(block + before + kWord));
    if (type != nullptr && type->place.before == before) return type->name;
  }
  return "";
}

bool PythonObjects::is_definition(Address object) {
  constexpr std::string_view kTypes[] = {"function", "builtin_function_or_method", "module"};
  const auto* type = object == 0 ? nullptr : types_.type_at(word(object + kWord));
  return type != nullptr && (std::ranges::find(kTypes, type->name) != std::end(kTypes) ||
                             types_.type_at(object) != nullptr);
}

std::uint64_t PythonObjects::word(Address address) {
  std::uint64_t word = 0;
  const Piece piece{address, sizeof word};
  memory_.read({&piece, 1}, reinterpret_cast<std::byte*>(&word));
  return word;
}

}  // namespace geiger::holders
