// What several images of a recording share: modules and their addresses, locations, stacks, epochs.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "base/units.h"

namespace geiger::ingest {

// Which module an address belongs to, at a point of a trace.

/// A module mapped somewhere.
struct Mapping {
  Address end = 0;  ///< One past the last.
  Address bias = 0;
  std::uint32_t module = 0;  ///< Index into Recording::modules.
};

/// Disjoint ranges: a later mapping takes what it overlaps from earlier ones.
class ModuleMap {
 public:
  /// An empty or reversed range changes nothing.
  void insert(Address start, const Mapping& mapping);

  /// The mapping that holds `address`, nullptr if none does.
  [[nodiscard]] const Mapping* find(Address address) const;

 private:
  std::map<Address, Mapping> by_start_;
};

// What several images of a recording share: modules, locations, stacks, epochs.

/// Keeps each thing once in a recording. The recording must outlive it and not
/// be changed by others meanwhile.
class Interner {
 public:
  explicit Interner(profile::Recording& recording);

  /// The same file (path and build id) is one module, wherever it is mapped; the
  /// addresses are those it was first seen at.
  std::uint32_t module(const profile::Module& module);
  /// A program point. Outside every module (kNone) it belongs to its process.
  std::uint32_t location(std::uint32_t module, Address vaddr, std::uint32_t process);
  /// A line of a function of an interpreted program, whose file is a module of its own.
  std::uint32_t source_line(const profile::Frame& frame, std::uint32_t process);
  /// Takes the stack if it is new, else leaves it unchanged.
  std::uint32_t stack(profile::Stack& stack);
  /// The latest one of a process and a start is kept.
  void interpreter(const profile::Interpreter& interpreter);
  std::uint32_t epoch(Bytes interval, double lambda);
  std::uint32_t label(const std::string& text, std::uint32_t parent);
  std::uint32_t lost_label();
  std::uint32_t type(const std::string& text);
  std::uint32_t heap(const std::string& text);

 private:
  struct Point {
    Address vaddr;
    std::uint32_t module;
    std::uint32_t process;  ///< Only where there is no module.
    bool operator==(const Point&) const = default;
  };
  struct PointHash {
    std::size_t operator()(const Point& point) const;
  };
  struct StackHash {
    std::reference_wrapper<const std::vector<profile::Stack>> stacks;
    std::size_t operator()(std::uint32_t index) const;
  };
  struct StackSame {
    std::reference_wrapper<const std::vector<profile::Stack>> stacks;
    bool operator()(std::uint32_t a, std::uint32_t b) const;
  };

  profile::Recording& recording_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> labels_;  ///< By parent, text.
  std::uint32_t lost_label_ = profile::kNone;
  std::map<std::string, std::uint32_t> types_, heaps_;
  /// By path, build id, and whether it is a source file.
  std::map<std::tuple<std::string, std::string, bool>, std::uint32_t> modules_;
  /// By module, function and line.
  std::map<std::tuple<std::uint32_t, std::string, std::uint32_t>, std::uint32_t> source_lines_;
  std::map<std::pair<std::uint32_t, Address>, std::size_t> interpreters_;  ///< By process, start.
  std::map<std::pair<Bytes, std::uint64_t>, std::uint32_t> epochs_;  ///< By T and lambda's bits.
  tsl::robin_map<Point, std::uint32_t, PointHash> points_;
  tsl::robin_set<std::uint32_t, StackHash, StackSame, std::allocator<std::uint32_t>, true> stacks_;
};

}  // namespace geiger::ingest
