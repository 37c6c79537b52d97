// Objects of known types, each allocated by a function of its own: what `table --by type`
// makes of them is compared with what stands here (tests/new_types.py).
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "runtime/capture/interface.h"

#define APART __attribute__((noinline))

namespace shop {

struct Plain {
  int a, b, c;
};
struct Inlined {
  int n;
  double d;
  explicit Inlined(int k) : n(k), d(k * 2.0) {}
};
struct Called {
  long x[5];
  APART explicit Called(int k) {
    for (int i = 0; i < 5; ++i) x[i] = k + i;
  }
};
struct Base {
  APART Base() : b(1) {}
  virtual ~Base() = default;
  virtual int value() { return b; }
  int b;
};
// As large as Base.
struct Derived : Base {
  int value() override { return 2; }
};
struct Larger : Base {
  Larger() { e[0] = 3; }
  int value() override { return e[0]; }
  int e[7];
};
struct Second {
  virtual ~Second() = default;
  int s = 4;
};
struct Both : Base, Second {
  int value() override { return 7; }
};
// The string's constructor runs at the same address, for an object of the same size.
struct Wrap {
  std::string text;
};
struct Named {
  std::string text;
  int k;
  explicit Named(const char* t) : text(t), k(3) {}
};
// Made of an argument of the same size.
struct Argument {
  long v[2];
  APART explicit Argument(int k) : v{k, k} {}
};
struct FromArgument {
  long v[2];
  explicit FromArgument(const Argument& a) : v{a.v[1], a.v[0]} {}
};
struct PlainFromArgument {
  long v[2];
};
struct Cell {
  int k;
  APART Cell() : k(1) {}
};
struct Row {
  Cell cells[4];
};
// Nothing but their own sites name these, so that compilers leave them out.
struct Alone {
  int k;
  APART Alone() : k(1) {}
};
struct LoneCell {
  Alone cell;
};
struct AlsoAlone {
  int k;
  APART AlsoAlone() : k(1) {}
};
struct LoneCells {
  AlsoAlone cell;
};
struct LoneText {
  std::string text;
};
struct LoneTexts {
  std::string text;
};
struct Inherits : Called {
  using Called::Called;
};
template <typename T>
struct Pair {
  T a, b;
  APART Pair(T x, T y) : a(x), b(y) {}
};
struct alignas(64) Aligned {
  int k;
  explicit Aligned(int n) : k(n) {}
};
struct WithDestructor {
  int k;
  APART WithDestructor() : k(1) {}
  APART ~WithDestructor() { std::puts(""); }
};
struct Node {
  Node* next;
  int k;
  Node(Node* n, int v) : next(n), k(v) {}
};
struct TwinA {
  long x[6];
  APART explicit TwinA(long k) {
    for (long& one : x) one = k * k + 3;
  }
};
struct TwinB {
  long x[6];
  APART explicit TwinB(long k) {
    for (long& one : x) one = k * k + 3;
  }
};
struct Holder {
  Inlined* inner;
  Node* other;
  APART explicit Holder(int k) : inner(new Inlined(k)), other(nullptr) {}
};
struct HolderInlined {
  Holder* first;
  Called* second;
  explicit HolderInlined(int k) : first(nullptr), second(new Called(k)) {}
};

}  // namespace shop

using namespace shop;

void* kept[64];
int count;
APART void hold(void* object) { kept[count++] = object; }

APART void site_plain() { hold(new Plain); }
APART void site_plain_zero() { hold(new Plain()); }
APART void site_inlined(int k) { hold(new Inlined(k)); }
APART void site_called(int k) { hold(new Called(k)); }
APART void site_base() { hold(new Base); }
APART void site_derived() { hold(static_cast<Base*>(new Derived)); }
APART void site_larger() { hold(static_cast<Base*>(new Larger)); }
APART void site_both() { hold(static_cast<Base*>(new Both)); }
APART void site_wrap() { hold(new Wrap{"a string that is longer than most"}); }
APART void site_wrap_empty() { hold(new Wrap{}); }
APART void site_wrap_value() { hold(new Wrap()); }
APART void site_wraps(int n) {
  hold(new Wrap[2]{});
  hold(new Wrap[n]);
}
APART void site_named() { hold(new Named("a string that is longer than most")); }
APART void site_string() { hold(new std::string("short")); }
APART void site_vector() { hold(new std::vector<int>()); }
APART void site_from_argument(int k) { hold(new FromArgument(Argument(k))); }
APART void site_plain_argument(int k) {
  hold(new PlainFromArgument{Argument(k).v[0], Argument(k + 1).v[1]});
}
APART void site_cells(int n) { hold(new Cell[n]); }
APART void site_row() { hold(new Row{}); }
APART void site_rows(int n) { hold(new Row[n]); }
APART void site_two_rows() { hold(new Row[2]{}); }
APART void site_lone_cell() { hold(new LoneCell{}); }
APART void site_lone_cells() { hold(new LoneCells[3]{}); }
APART void site_lone_text() { hold(new LoneText{}); }
APART void site_lone_texts() { hold(new LoneTexts[2]{}); }
APART void site_inherits(int k) { hold(new Inherits(k)); }
APART void site_template(int k) { hold(new Pair<double>(k, k)); }
APART void site_aligned(int k) { hold(new Aligned(k)); }
APART void site_destructed(int n) { hold(new WithDestructor[n]); }
APART void site_node(int k) { hold(new Node(new Node(nullptr, k), k + 1)); }
APART void site_twin_a(int k) { hold(new TwinA(k)); }
APART void site_twin_b(int k) { hold(new TwinB(k)); }
APART void site_ints(int n) { hold(new int[n]); }
APART void site_one_int(int n) { hold(new int(n)); }
APART void site_choice(int k) { hold(new Called(k > 3 ? k * 2 : std::atoi("7"))); }
APART void site_nothrow(int k) { hold(new (std::nothrow) Called(k)); }
APART void site_either(int k) {
  if (k > 2) {
    hold(new TwinA(k));
  } else {
    hold(new TwinB(k));
  }
}
APART void site_raw(int k) {
  void* const memory = operator new(sizeof(Called));
  hold(k > 2 ? static_cast<void*>(new (memory) Called(k))
             : static_cast<void*>(new (memory) Pair<char>('a', 'b')));
}
APART void site_pool() {
  void* const memory = operator new(2 * sizeof(Called));
  hold(new (memory) Called(1));
}
APART void site_container() {
  auto* const list = new (kept + count) std::list<Plain>;
  static_assert(sizeof(*list) <= 3 * sizeof(void*));
  list->push_back({1, 2, 3});
  count += 3;
}
APART void site_unique() { hold(std::make_unique<Plain>().release()); }
// What the program says is not asked again.
APART void site_told(int k) {
  using geiger::capture::Interface;
  const auto* capture = static_cast<const Interface*>(dlsym(RTLD_DEFAULT, "geiger_capture_v1"));
  if (capture == nullptr) return;
  capture->naming()->type =
      capture->define_name(geiger::trace::NameKind::kType, 0, "shop::Booking", 13);
  hold(new Called(k));
  capture->naming()->type = 0;
}
APART void site_outer(int k) {
  static Holder holder(k);
  hold(&holder);
}
APART void site_outer_inlined(int k) {
  auto* const holder = new (std::nothrow) HolderInlined(k);
  hold(holder);
}

int main(int argc, char**) {
  site_plain();
  site_plain_zero();
  site_inlined(argc);
  site_called(argc);
  site_base();
  site_derived();
  site_larger();
  site_both();
  site_wrap();
  site_named();
  site_wrap_empty();
  site_wrap_value();
  site_wraps(argc + 1);
  site_string();
  site_vector();
  site_from_argument(argc);
  site_plain_argument(argc);
  site_cells(argc + 4);
  site_row();
  site_rows(argc + 1);
  site_two_rows();
  site_lone_cell();
  site_lone_cells();
  site_lone_text();
  site_lone_texts();
  site_inherits(argc);
  site_template(argc);
  site_aligned(argc);
  site_destructed(argc + 2);
  site_node(argc);
  site_twin_a(argc);
  site_twin_b(argc);
  site_ints(argc + 8);
  site_one_int(argc);
  site_choice(argc);
  site_nothrow(argc);
  site_either(argc);
  site_either(argc + 5);
  site_raw(argc + 3);
  site_pool();
  site_container();
  site_unique();
  site_told(argc);
  site_outer(argc);
  site_outer_inlined(argc);
  return count > 60;
}
