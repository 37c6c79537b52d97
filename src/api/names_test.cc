#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "api/test_program.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

using test::allocate;
using test::kInterval;

/// Labels of a certain sample allocated now, innermost first, joined by "<".
std::string labels_now(std::string* type = nullptr) {
  Token token;
  allocate(2 * kInterval);
  std::string labels;
  token.stop().for_each([&](const geiger_sample& sample) {
    for (std::uint32_t i = 0; i < sample.label_count; ++i) {
      labels += (i == 0 ? "" : "<") + std::string(view(sample.labels[i]));
    }
    if (type != nullptr) *type = view(sample.type);
  });
  return labels;
}

TEST(Labels, NestAndLeave) {
  static constinit Label request{"request"};
  static constinit Label parse{"phase=parse"};
  EXPECT_EQ(labels_now(), "");
  {
    const LabelScope outer(request);
    EXPECT_EQ(outer.status(), GEIGER_OK);
    EXPECT_EQ(labels_now(), "request");
    for (int i = 0; i < 3; ++i) {
      const LabelScope inner(parse);
      const LabelScope dynamic(("tenant=" + std::to_string(i)).c_str());
      EXPECT_EQ(labels_now(), "tenant=" + std::to_string(i) + "<phase=parse<request");
    }
    EXPECT_EQ(labels_now(), "request");
  }
  {
    const LabelScope alone(parse);  // Known within request; here it is another one.
    EXPECT_EQ(labels_now(), "phase=parse");
  }
  EXPECT_EQ(labels_now(), "");
}

TEST(Labels, LeavingTheOuterLeavesTheInner) {
  geiger_scope outer, middle, inner;
  ASSERT_EQ(geiger_enter_label_text("outer", &outer), GEIGER_OK);
  ASSERT_EQ(geiger_enter_label_text("middle", &middle), GEIGER_OK);
  ASSERT_EQ(geiger_enter_label_text("inner", &inner), GEIGER_OK);
  EXPECT_EQ(geiger_leave_label(&middle), GEIGER_WRONG_NESTING);
  EXPECT_EQ(labels_now(), "outer");
  EXPECT_EQ(geiger_leave_label(&inner), GEIGER_NOT_ENTERED);
  EXPECT_EQ(geiger_leave_label(&middle), GEIGER_NOT_ENTERED);
  EXPECT_EQ(labels_now(), "outer");
  EXPECT_EQ(geiger_leave_label(&outer), GEIGER_OK);
  EXPECT_EQ(geiger_leave_label(&outer), GEIGER_NOT_ENTERED);
  EXPECT_EQ(labels_now(), "");
}

TEST(Labels, AreAThreadsOwn) {
  geiger_scope scope;
  ASSERT_EQ(geiger_enter_label_text("main", &scope), GEIGER_OK);
  const std::uint32_t carried = LabelScope::current();
  std::thread([&] {
    EXPECT_EQ(labels_now(), "");
    EXPECT_EQ(geiger_leave_label(&scope), GEIGER_WRONG_THREAD);
    {
      const LabelScope resumed(carried);
      EXPECT_EQ(labels_now(), "main");
    }
    EXPECT_EQ(labels_now(), "");
  }).join();
  EXPECT_EQ(labels_now(), "main");
  EXPECT_EQ(geiger_leave_label(&scope), GEIGER_OK);
}

TEST(Labels, AreRefusedBeyondTheirLimits) {
  geiger_scope scopes[GEIGER_MAX_NESTING + 1];
  for (int i = 0; i < GEIGER_MAX_NESTING; ++i) {
    ASSERT_EQ(geiger_enter_label_text("deeper", &scopes[i]), GEIGER_OK) << i;
  }
  EXPECT_EQ(geiger_enter_label_text("deeper", &scopes[GEIGER_MAX_NESTING]), GEIGER_LIMIT);
  EXPECT_EQ(geiger_leave_label(&scopes[GEIGER_MAX_NESTING]), GEIGER_NOT_ENTERED);
  EXPECT_EQ(geiger_leave_label(&scopes[0]), GEIGER_WRONG_NESTING);
  EXPECT_EQ(labels_now(), "");
  EXPECT_EQ(geiger_enter_label_text(std::string(GEIGER_MAX_TEXT, 'x').c_str(), scopes), GEIGER_OK);
  EXPECT_EQ(geiger_leave_label(scopes), GEIGER_OK);
  EXPECT_EQ(geiger_enter_label_text(std::string(GEIGER_MAX_TEXT + 1, 'x').c_str(), scopes),
            GEIGER_BAD_ARGUMENT);
}

TEST(Labels, RefuseWhatIsNone) {
  geiger_scope scope{};
  geiger_type type = GEIGER_TYPE("a type");
  std::uint32_t id = 1;
  EXPECT_EQ(geiger_enter_label(nullptr, &scope), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_enter_label_text(nullptr, &scope), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_enter_label_text("", &scope), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_enter_label_text("x", nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_leave_label(nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_leave_label(&scope), GEIGER_NOT_ENTERED);
  EXPECT_EQ(geiger_resume_label(0xdeadbeef, &scope), GEIGER_BAD_HANDLE);
  EXPECT_EQ(geiger_define_label("x", 0xdeadbeef, &id), GEIGER_BAD_HANDLE);
  EXPECT_EQ(id, 0);
  ASSERT_EQ(geiger_enter_type(&type, &scope), GEIGER_OK);
  const auto type_id = static_cast<std::uint32_t>(type.known);
  EXPECT_EQ(geiger_define_label("x", type_id, &id), GEIGER_BAD_HANDLE);
  EXPECT_EQ(geiger_leave_type(&scope), GEIGER_OK);
}

TEST(Labels, DefinedOnceAreTheSame) {
  std::uint32_t around, first, again;
  ASSERT_EQ(geiger_define_label("around", 0, &around), GEIGER_OK);
  ASSERT_EQ(geiger_define_label("text", around, &first), GEIGER_OK);
  ASSERT_EQ(geiger_define_label("text", around, &again), GEIGER_OK);
  EXPECT_EQ(first, again);
  const LabelScope scope(first);
  EXPECT_EQ(labels_now(), "text<around");
}

TEST(Types, AreOfTheAllocationUnderWay) {
  std::string type;
  labels_now(&type);
  EXPECT_EQ(type, "");
  {
    const TypeScope<int> outer;
    {
      const TypeScope<std::pair<int, long>> inner;
      labels_now(&type);
      EXPECT_EQ(type, "std::pair<int, long int>");
    }
    labels_now(&type);
    EXPECT_EQ(type, "int");
  }
  labels_now(&type);
  EXPECT_EQ(type, "");
}

struct Throws {
  Throws() { throw 1; }
};
struct OwnNew {
  static inline int allocated = 0;
  static void* operator new(std::size_t size) {
    ++allocated;
    return ::operator new(size);
  }
  static void operator delete(void* place) {
    --allocated;
    ::operator delete(place);
  }
  explicit OwnNew(bool throws) {
    if (throws) throw 2;
  }
};

TEST(Types, MakeFreesWhatCouldNotBeMade) {
  EXPECT_THROW((void)make_unique<Throws>(), int);
  EXPECT_THROW((void)make_unique<OwnNew>(true), int);
  EXPECT_EQ(OwnNew::allocated, 0);
  {
    const auto made = make_unique<OwnNew>(false);
    EXPECT_EQ(OwnNew::allocated, 1);
  }
  EXPECT_EQ(OwnNew::allocated, 0);
  struct alignas(256) Aligned {
    int value = 7;
  };
  const auto aligned = make_unique<Aligned>();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.get()) % 256, 0);
  EXPECT_EQ(aligned->value, 7);
}

TEST(Types, AllocatorsCompareAndCopyAsTheirBase) {
  std::vector<int, Allocator<int>> numbers{1, 2, 3};
  const std::vector<int, Allocator<int>> copy = numbers;
  numbers.insert(numbers.end(), copy.begin(), copy.end());
  EXPECT_EQ(numbers.size(), 6);
  EXPECT_TRUE(Allocator<int>() == Allocator<long>());
}

}  // namespace
}  // namespace geiger::api
