// What is known of CPython's memory beyond its blocks: links that hold nothing, variables of
// modules, types, and the stack on which it keeps the frames of its functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/holders/layout.h"
#include "analysis/holders/memory.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/seen_types.h"

namespace geiger::holders {

/// A function that runs. Its frame has its local variables, and words that it may have used.
struct PythonFrame {
  Span span, locals;
  std::string function;  ///< "main (app.py)".
};

class PythonObjects {
 public:
  /// `version` as Py_Version, 3.10 to 3.13. The memory must live as long as this does.
  PythonObjects(std::uint32_t version, Memory& memory);

  /// Adds what is known to the layout, which has the blocks of the C library's malloc.
  void find(Layout& layout, Memory& memory, const observe::LiveSet& live);

  [[nodiscard]] const std::vector<ModuleVariables>& variables() const { return variables_; }
  /// The frames of an interpreter's stack, in order of addresses. `words` has its bytes as they
  /// were read just now. Nothing if they are not known to be what they seem.
  [[nodiscard]] std::vector<PythonFrame> frames_in(Span stack, Words& words);
  /// The type of an object that the collector knows, or one whose type is its second word.
  [[nodiscard]] std::string type_in(Address block, Bytes bytes);

  /// Whether it is a function, a class or a module.
  [[nodiscard]] bool is_definition(Address object);
  [[nodiscard]] std::uint64_t word(Address address);
  [[nodiscard]] std::string text_of(Address string) const { return types_.text_of(string); }

 private:
  /// A part of the stack on which an interpreter keeps frames.
  struct Chunk {
    Span span;
    Address top_at = 0;  ///< Where it says up to where it is used; 0: `top`, if others follow.
    Address top = 0;
  };

  void find_stacks(Layout& layout, Span variables);
  /// Whether the three words are at an address.
  [[nodiscard]] bool is_state(Address at);
  [[nodiscard]] std::vector<Address> other_states(Address first);
  void add_chunks(Address state);
  [[nodiscard]] std::string function_of(Address code);

  PageCache memory_;
  observe::PythonTypes types_;
  std::uint32_t minor_;
  std::vector<ModuleVariables> variables_;
  std::vector<Chunk> chunks_;
};

}  // namespace geiger::holders
