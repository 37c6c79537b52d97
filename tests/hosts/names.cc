// Functions whose short names would be the same: overloads, instances of templates, equal names in
// different namespaces and classes, lambdas, and containers that are inlined. Each keeps what it
// allocates, and so does what it calls.
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 40;

struct Kept {
  Kept* next;
};
Kept* kept = nullptr;

/// Blocks that the function itself allocates and keeps.
#define KEEP(bytes)                                \
  do {                                             \
    for (int block = 0; block < 50; ++block) {     \
      void* const at = std::malloc(400 + (bytes)); \
      if (at == nullptr) std::abort();             \
      kept = new (at) Kept{kept};                  \
    }                                              \
  } while (false)

#define KEEPS __attribute__((noinline, noclone))

KEEPS void grow(int) { KEEP(1); }

}  // namespace

namespace alpha::storage {
KEEPS void grow(int) { KEEP(2); }
KEEPS void grow(long) { KEEP(3); }
KEEPS void grow(const std::string&, int) { KEEP(4); }
KEEPS void grow(const std::string&, unsigned) { KEEP(5); }

template <typename Key, typename Value, int kWays>
struct AssociativeCacheOfEverything {
  KEEPS void insert_or_assign_all(const Key&) { KEEP(6 + kWays); }
  KEEPS void insert_or_assign_all(const Key&, Value) { KEEP(7 + kWays); }
};
}  // namespace alpha::storage

namespace beta::storage {
KEEPS void grow(int) { KEEP(8); }

struct Session {
  KEEPS void grow(int) { KEEP(9); }
  KEEPS void grow(int) const { KEEP(10); }
  KEEPS static void open_connection() { KEEP(11); }
};
struct Connection {
  KEEPS static void open_connection() { KEEP(12); }
};

template <typename T>
KEEPS void fill(T) {
  KEEP(sizeof(T));
}

/// A chain whose links have one caller each, in two namespaces.
namespace old {
KEEPS void third() { KEEP(13); }
KEEPS void second() { third(); }
KEEPS void first() { second(); }
}  // namespace old
namespace young {
KEEPS void third() { KEEP(14); }
KEEPS void second() { third(); }
KEEPS void first() { second(); }
}  // namespace young
}  // namespace beta::storage

namespace containers {

using Rows = std::vector<std::map<std::string, std::vector<int>>>;

/// The library's part is inlined here, or is an instance of its own.
template <typename Row>
KEEPS void append_rows(std::vector<Row>& rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) rows.emplace_back();
}

template <typename Call>
KEEPS void call_back(Call call) {
  call(1);
}

}  // namespace containers

namespace {

KEEPS void call_lambdas() {
  const auto first = [](int n) KEEPS { KEEP(n); };
  const auto second = [](int n) KEEPS { KEEP(20 + n); };
  first(1), second(1);
  containers::call_back(first);
  containers::call_back(second);
}

/// Deeper than trees are indented.
template <int kLevel>
KEEPS void descend() {
  if constexpr (kLevel % 3 == 0) {
    KEEP(kLevel);
  }
  if constexpr (kLevel < 24) descend<kLevel + 1>();
}

}  // namespace

int main() {
  using alpha::storage::AssociativeCacheOfEverything;
  AssociativeCacheOfEverything<std::string, std::map<int, std::string>, 4> narrow;
  AssociativeCacheOfEverything<std::string, std::map<int, std::string>, 8> wide;
  AssociativeCacheOfEverything<std::vector<long>, std::vector<std::vector<long>>, 4> other;
  beta::storage::Session session;
  const beta::storage::Session& constant = session;
  std::vector<std::pair<long, double>> pairs;
  containers::Rows rows;
  for (int i = 0; i < kRounds; ++i) {
    grow(1);
    alpha::storage::grow(1), alpha::storage::grow(1L);
    alpha::storage::grow("", 1), alpha::storage::grow("", 1U);
    narrow.insert_or_assign_all(""), narrow.insert_or_assign_all("", {});
    wide.insert_or_assign_all(""), wide.insert_or_assign_all("", {});
    other.insert_or_assign_all({}), other.insert_or_assign_all({}, {});
    beta::storage::grow(1), session.grow(1), constant.grow(1);
    beta::storage::Session::open_connection();
    beta::storage::Connection::open_connection();
    beta::storage::fill(1), beta::storage::fill(1L), beta::storage::fill(std::string());
    beta::storage::fill(std::map<std::string, std::vector<int>>());
    beta::storage::old::first(), beta::storage::young::first();
    containers::append_rows(pairs, 2000), containers::append_rows(rows, 500);
    call_lambdas();
    descend<0>();
  }
  return 0;
}
