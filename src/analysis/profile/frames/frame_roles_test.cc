#include "analysis/profile/frames/frame_roles.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::frame_roles_test {
namespace {

constexpr std::string_view kProgram = "/usr/bin/target";

FrameRole role_in_program(std::string_view function) {
  return role_of({function, kProgram, {}, true});
}

TEST(FrameRoles, PlumbingIsWhatNobodyWroteForThisProgram) {
  for (const char* name :
       {"std::vector<int>::push_back(int const&)",
        "void std::swap<int>(int&, int&)",
        "std::pair<int, app::T> std::make_pair<int, app::T>(int&&, app::T&&)",
        "alloc::vec::Vec<T>::push",
        "<alloc::string::String as core::clone::Clone>::clone",
        "<T as core::convert::Into<U>>::into",
        "hashbrown::raw::RawTable<T>::reserve_rehash",
        "llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
        "vec<tree_node*, va_gc, vl_embed>::reserve(unsigned int)",
        "QArrayData::allocate",
        "QString::fromLatin1_helper(char const*, int)",
        "QByteArray::resize(int)",
        "QVariant::QVariant(QString const&)",
        "htab_find_slot_with_hash",
        "bitmap_set_bit(bitmap_head*, int)",
        "make_node(tree_code)",
        "lappend_oid",
        "bms_add_member",
        "OPENSSL_sk_dup",
        "uhash_open_78",
        "v8::internal::AllocAtLeastWithRetry(unsigned long)",
        "node::NodeArrayBufferAllocator::AllocateUninitialized(unsigned long)",
        "node::(anonymous namespace)::CompressionStream<node::(anonymous "
        "namespace)::ZlibContext>::AllocForZlib(void*, unsigned int, unsigned int)",
        "<u8 as alloc::slice::hack::ConvertVec>::to_vec",
        "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
        "<orders::Line as alloc::slice::hack::ConvertVec>::to_vec",
        "<str as alloc::borrow::ToOwned>::to_owned"}) {
    EXPECT_EQ(role_in_program(name), FrameRole::kStandard) << name;
  }
  for (const char* name :
       {"main", "app::std::f()", "serve(std::string const&)", "app::Cache<std::string>::get()",
        "std_init", "bitmap_load", "make_node(int)", "bms_charge", "QStringView_of_mine",
        "<u8 as app::Encode>::encode", "std::string* app::make<int>()", "operator<(app::A, app::B)",
        "<app::Order as core::clone::Clone>::clone", "f_callback", "vector_of_mine"}) {
    EXPECT_EQ(role_in_program(name), FrameRole::kOwn) << name;
  }
  EXPECT_EQ(role_in_program("__libc_start_main"), FrameRole::kStartUp);
}

TEST(FrameRoles, WrappersOfTheAllocatorArePlumbing) {
  for (const char* name : {"malloc",
                           "operator new(unsigned long)",
                           "xmalloc",
                           "xrealloc",
                           "zmalloc",
                           "ztrymalloc_usable_internal",
                           "zcalloc_num",
                           "do_xmalloc",
                           "xstrdup",
                           "g_malloc0",
                           "g_try_realloc_n",
                           "av_mallocz",
                           "av_malloc_array",
                           "sqlite3MemMalloc",
                           "sqlite3Malloc",
                           "sqlite3DbMallocRawNN",
                           "CRYPTO_zalloc",
                           "PyObject_Malloc",
                           "_PyMem_RawRealloc",
                           "palloc0",
                           "AllocSetAlloc",
                           "MemoryContextAllocZero",
                           "ggc_internal_alloc",
                           "luaM_realloc_",
                           "xmalloc.part.0",
                           "ggc_internal_alloc(unsigned long, void (*)(void*), unsigned long)",
                           "_cpp_get_buff",
                           "x264_malloc",
                           "rtx_alloc(rtx_code)",
                           "clang::Stmt::operator new(unsigned long, clang::ASTContext const&)"}) {
    EXPECT_EQ(role_in_program(name), FrameRole::kAllocation) << name;
  }
  for (const char* name :
       {"sdsnewlen", "strbuf_grow", "leak_with_malloc", "test_malloc", "mallocator", "alloc",
        "app::xmalloc(int)", "app_alloc(int)", "malloc_things", "createStringObject", "xml_parse",
        "reallocate_all", "f(app::X::operator new)"}) {
    EXPECT_EQ(role_in_program(name), FrameRole::kOwn) << name;
  }
}

TEST(FrameRoles, InterpretersAreDispatch) {
  for (const char* name : {"_PyEval_EvalFrameDefault", "Perl_runops_standard", "luaV_execute",
                           "Builtins_InterpreterEntryTrampoline", "execute_ex"}) {
    EXPECT_EQ(role_in_program(name), FrameRole::kDispatch) << name;
  }
}

FrameRole role_in_python(std::string_view function, std::string_view file) {
  return role_of({function, file, file, false, ModuleKind::kSource});
}

TEST(FrameRoles, FilesTellWhoseCodeOfPythonItIs) {
  for (const char* file : {"/home/a/shop/app.py", "app.py", "<ipython-input-3-0a>", "<stdin>",
                           "/srv/lib/python_tools/x.py", "/usr/share/app/main.py"}) {
    EXPECT_EQ(role_in_python("work", file), FrameRole::kOwn) << file;
    EXPECT_EQ(role_in_python("malloc", file), FrameRole::kOwn) << file;  // Names say nothing.
    EXPECT_EQ(role_in_python("std::vector", file), FrameRole::kOwn) << file;
  }
  for (const char* file :
       {"/usr/lib/python3.11/json/__init__.py", "/usr/lib/python3/dist-packages/yaml/loader.py",
        "/home/a/venv/lib/python3.8/site-packages/django/db/models/base.py",
        "/home/a/.pyenv/versions/3.13.0/lib/python3.13/threading.py", "/usr/lib64/python3.9/ast.py",
        "/opt/x/lib/python311.zip/ast.py"}) {
    EXPECT_EQ(role_in_python("work", file), FrameRole::kPackage) << file;
  }
  EXPECT_EQ(role_in_python("_find_and_load", "<frozen importlib._bootstrap>"),
            FrameRole::kDispatch);
  EXPECT_EQ(role_in_python("__init__", "__init__"), FrameRole::kDispatch);
  EXPECT_EQ(role_in_python("label.__enter__", "/home/a/app/geiger.py"), FrameRole::kDispatch);
  EXPECT_EQ(role_in_python("count", "/home/a/app/my_geiger.py"), FrameRole::kOwn);
  for (const char* generated : {"<string>", "<__array_function__ internals>", "namedtuple_Point",
                                "<attrs generated init app.User>", "<decorator-gen-3>"}) {
    EXPECT_EQ(role_in_python("__init__", generated), FrameRole::kDispatch) << generated;
  }
  EXPECT_EQ(role_in_python("Thread._bootstrap_inner", "/usr/lib/python3.11/threading.py"),
            FrameRole::kStartUp);
  EXPECT_EQ(role_in_python("<module>", "/home/a/venv/bin/pytest"), FrameRole::kStartUp);
  EXPECT_EQ(role_in_python("work", "/home/a/bin/report"), FrameRole::kOwn);
}

FrameRole role_in_jit_code(std::string_view function, std::string_view file = {}) {
  return role_of({function, {}, file, false});
}

TEST(FrameRoles, FilesTellWhoseScriptItIs) {
  EXPECT_EQ(role_in_jit_code("handler", "/srv/app.js"), FrameRole::kOwn);
  EXPECT_EQ(role_in_jit_code("malloc", "/srv/app.mjs"), FrameRole::kOwn);  // Names say nothing.
  EXPECT_EQ(role_in_jit_code("main", "/srv/node/app.ts"), FrameRole::kOwn);
  EXPECT_EQ(role_in_jit_code("emit", "node:events"), FrameRole::kPackage);
  EXPECT_EQ(role_in_jit_code("alloc", "node:internal/buffer"), FrameRole::kPackage);
  EXPECT_EQ(role_in_jit_code("next", "/srv/node_modules/express/lib/router.js"),
            FrameRole::kPackage);
  EXPECT_EQ(role_in_jit_code("Builtin:ArrayMap"), FrameRole::kDispatch);
}

TEST(FrameRoles, PackagesTellWhoseMethodItIs) {
  EXPECT_EQ(role_in_jit_code("app.Leak.remember(int)"), FrameRole::kOwn);
  EXPECT_EQ(role_in_jit_code("javaland.Main.main(java.lang.String[])"), FrameRole::kOwn);
  EXPECT_EQ(role_in_jit_code("java.nio.Bits.reserveMemory(long, long)"), FrameRole::kPackage);
  for (const char* name : {"Interpreter", "StubRoutines (1)", "I2C/C2I adapters", "adapters",
                           "monitorenter_nofpu Runtime1 stub", "SafepointBlob"}) {
    EXPECT_EQ(role_in_jit_code(name), FrameRole::kDispatch) << name;
  }
  for (const char* name : {"py::run:/app/main.py", "Interpreter::run", "readBlob", "my_stub"}) {
    EXPECT_EQ(role_in_jit_code(name), FrameRole::kOwn) << name;
  }
}

TEST(FrameRoles, TheMachineIsPlumbingWhereItsProgramHasNames) {
  TestRecording test;
  test.recording.modules[0].path = "/usr/bin/node";
  const std::uint32_t native = test.location({"node::Buffer::New"});
  const std::uint32_t script = test.location({"handler"}, kNone);
  {
    const Labels labels(test.recording);
    EXPECT_EQ(FrameRoles(test.recording, labels)[labels.of(native)[0]], FrameRole::kLibrary);
  }
  test.recording.frames[test.recording.locations[script].frames[0]].file = "/srv/app.js";
  const Labels labels(test.recording);
  const FrameRoles roles(test.recording, labels);
  EXPECT_EQ(roles[labels.of(native)[0]], FrameRole::kDispatch);
  EXPECT_EQ(roles[labels.of(script)[0]], FrameRole::kOwn);
}

TEST(FrameRoles, FunctionsOfTwoScriptsAreTwo) {
  TestRecording test;
  const auto add = [&](const char* function, const char* file, std::uint32_t line) {
    const std::uint32_t location = test.location({function}, kNone);
    Frame& frame = test.recording.frames.back();
    frame.file = file;
    frame.line = line;
    return location;
  };
  const std::uint32_t a = add("get", "/a.js", 1), again = add("get", "/a.js", 1);
  const std::uint32_t b = add("get", "/b.js", 1);
  const std::uint32_t first = add("<anonymous>", "/a.js", 1);
  const std::uint32_t second = add("<anonymous>", "/a.js", 9);
  const Labels labels(test.recording);
  EXPECT_EQ(labels.of(a)[0], labels.of(again)[0]);
  EXPECT_NE(labels.of(a)[0], labels.of(b)[0]);
  EXPECT_NE(labels.of(first)[0], labels.of(second)[0]);
}

TEST(FrameRoles, InterpretersAreDispatchBetweenFramesOfTheirPrograms) {
  const auto in = [](std::string_view function, std::string_view module, ModuleKind kind) {
    return role_of({function, module, {}, true, kind});
  };
  EXPECT_EQ(in("list_resize", "/usr/bin/python3.11", ModuleKind::kInterpreter),
            FrameRole::kDispatch);
  EXPECT_EQ(in("list_resize", "/usr/bin/python3.11", ModuleKind::kNative), FrameRole::kOwn);
  EXPECT_EQ(in("", "/usr/lib/libpython3.12.so.1.0", ModuleKind::kInterpreter),
            FrameRole::kDispatch);
  EXPECT_EQ(in("PyObject_Malloc", "/usr/bin/python3.11", ModuleKind::kInterpreter),
            FrameRole::kAllocation);
  // A program that Python is linked into has functions of its own.
  EXPECT_EQ(in("render", "/opt/blender", ModuleKind::kInterpreter), FrameRole::kOwn);
  EXPECT_EQ(in("PyList_New", "/opt/blender", ModuleKind::kInterpreter), FrameRole::kDispatch);
  EXPECT_EQ(in("node::Buffer::New", "/usr/bin/node", ModuleKind::kInterpreter),
            FrameRole::kDispatch);
  EXPECT_EQ(in("os::malloc", "/usr/lib/jvm/lib/server/libjvm.so", ModuleKind::kInterpreter),
            FrameRole::kDispatch);
  EXPECT_EQ(role_of({"array_new", "/v/lib/python3.11/site-packages/numpy/core/_m.so", {}, false}),
            FrameRole::kPackage);
}

TEST(FrameRoles, ModulesAndFilesTellWhoseCodeItIs) {
  EXPECT_EQ(role_of({"fopen", "/lib/x86_64-linux-gnu/libc.so.6", {}, false}), FrameRole::kStandard);
  EXPECT_EQ(role_of({"", "/lib64/ld-linux-x86-64.so.2", {}, false}), FrameRole::kStandard);
  EXPECT_EQ(role_of({"f", "/opt/app/libapp.so.4", {}, false}), FrameRole::kOwn);
  EXPECT_EQ(role_of({"inflate", "/usr/lib/x86_64-linux-gnu/libz.so.1", {}, false}),
            FrameRole::kLibrary);
  for (const char* file : {"/usr/include/c++/12/bits/stl_tree.h",
                           "/usr/src/rustc-1.63.0/library/alloc/src/slice.rs"}) {
    EXPECT_EQ(role_of({"f", kProgram, file, true}), FrameRole::kStandard) << file;
  }
  EXPECT_EQ(role_of({"f", kProgram, "/rustc/9fc6b431/library/core/src/ops.rs", true}),
            FrameRole::kStandard);
  EXPECT_EQ(role_of({"regex::compile", kProgram,
                     "/home/a/.cargo/registry/src/index.crates.io-1/regex-1.9/src/exec.rs", true}),
            FrameRole::kLibrary);
  EXPECT_EQ(role_of({"serve", kProgram, "/home/a/shop/src/main.rs", true}), FrameRole::kOwn);
}

/// A stack of a Python program: native leaf, two functions of a library, own code, start-up.
class PythonStack : public testing::Test {
 protected:
  std::vector<std::string> shown(FramesShown frames, bool shows_plumbing = false) {
    FrameRules rules;
    rules.frames = frames;
    rules.shows_plumbing = shows_plumbing;
    Recording& recording = test_.recording;
    recording.frame_rules = std::make_shared<const FrameRules>(rules);
    recording.modules = {{"/usr/bin/python3.11", "", 0, 0, 0, ModuleKind::kInterpreter},
                         {"/usr/lib/python3.11/json/encoder.py", "", 0, 0, 0, ModuleKind::kSource},
                         {"/app/app.py", "", 0, 0, 0, ModuleKind::kSource},
                         {"/app/fast.so", "", 0, 0, 0, ModuleKind::kNative}};
    const std::uint32_t stack =
        test_.stack({test_.location({"list_resize"}, 0), test_.location({"fast_fill"}, 3),
                     test_.location({"_PyEval_EvalFrameDefault"}, 0), test_.location({"encode"}, 1),
                     test_.location({"report"}, 2), test_.location({"<module>"}, 2),
                     test_.location({"Py_RunMain"}, 0)});
    const Labels labels(recording);
    std::vector<std::uint32_t> path;
    labels.collect(recording, stack, path);
    FrameRoles(recording, labels).keep_shown(path);
    std::vector<std::string> names;
    for (const std::uint32_t label : path) names.push_back(labels[label].name);
    return names;
  }

  TestRecording test_;
};

using Shown = std::vector<std::string>;

TEST_F(PythonStack, MixedHasOwnCodeOfBothLanguages) {
  EXPECT_EQ(shown(FramesShown::kMixed), (Shown{"fast_fill", "report", "<module>"}));
}

TEST_F(PythonStack, PythonHasNoNativeFrames) {
  EXPECT_EQ(shown(FramesShown::kPython), (Shown{"report", "<module>"}));
  EXPECT_EQ(shown(FramesShown::kPython, true), (Shown{"encode", "report", "<module>"}));
}

TEST_F(PythonStack, NativeHasNoneOfPython) {
  EXPECT_EQ(shown(FramesShown::kNative), (Shown{"list_resize", "fast_fill"}));
  EXPECT_EQ(shown(FramesShown::kNative, true),
            (Shown{"list_resize", "fast_fill", "_PyEval_EvalFrameDefault", "Py_RunMain"}));
}

/// The function to blame of a stack of functions in modules of these paths, leaf first.
std::string blamed_in(const std::vector<std::pair<std::string, Module>>& frames) {
  TestRecording test;
  std::vector<std::uint32_t> locations;
  test.recording.modules.clear();
  for (const auto& [function, module] : frames) {
    const auto index = static_cast<std::uint32_t>(test.recording.modules.size());
    test.recording.modules.push_back(module);
    locations.push_back(test.location({function}, index));
  }
  const std::uint32_t stack = test.stack(locations);
  ShownPath shown(test.recording);
  shown.of(stack);
  return shown.labels()[shown.path().front()].name;
}

TEST(Blamed, GeneratedCodeOnlyWhereTheProgramIsThatText) {
  const auto source = [](const char* path) {
    return Module{path, "", 0, 0, 0, ModuleKind::kSource};
  };
  EXPECT_EQ(blamed_in({{"where", source("<__array_function__ internals>")},
                       {"where_copy", source("/app/attrs1.py")}}),
            "where_copy");
  EXPECT_EQ(blamed_in({{"__init__", source("<string>")}, {"<module>", source("/app/app.py")}}),
            "<module>");
  EXPECT_EQ(blamed_in({{"dumps", source("/usr/lib/python3.11/json/__init__.py")},
                       {"work", source("<string>")},
                       {"<module>", source("<string>")}}),
            "work");
}

TEST(Blamed, LibrariesGiveWayToTheLineOfPythonThatCalledThem) {
  const Module libffi{"/usr/lib/x86_64-linux-gnu/libffi.so.8", "", 0, 0, 0, ModuleKind::kNative};
  const Module source{"/app/cext.py", "", 0, 0, 0, ModuleKind::kSource};
  const Module own{"/app/fast.so", "", 0, 0, 0, ModuleKind::kNative};
  EXPECT_EQ(blamed_in({{"ffi_call", libffi}, {"scratch", source}}), "scratch");
  EXPECT_EQ(blamed_in({{"ffi_call", libffi}, {"fast_fill", own}, {"scratch", source}}), "ffi_call")
      << "called by own code of C";
}

TEST(Places, OfPythonsLibrariesHaveTheFoldersOfTheirPackage) {
  EXPECT_EQ(place_name_of("/usr/lib/python3.11/asyncio/locks.py"), "asyncio/locks.py");
  EXPECT_EQ(place_name_of("/v/lib/python3.8/site-packages/django/db/models/base.py"),
            "django/db/models/base.py");
  EXPECT_EQ(place_name_of("/usr/lib/python3/dist-packages/numpy/core/_m.so"), "_m.so");
  EXPECT_EQ(place_name_of("/app/shop/__init__.py"), "shop/__init__.py");
  EXPECT_EQ(place_name_of("/app/shop/batch.py"), "batch.py");
}

TEST(Places, OfSeveralLinesAreARangeIfTheyFillHalfOfIt) {
  SourceLine where{"/app/batch.py", 10, 0, 10, 10};
  where.add_other("/app/batch.py", 8);
  where.add_other("/app/batch.py", 9);
  EXPECT_EQ(text_of(where), "batch.py:8-10");
  where.add_other("/app/batch.py", 40);
  EXPECT_EQ(text_of(where), "batch.py:10 +3");
  where = {"/app/batch.py", 10, 0, 10, 10};
  where.add_other("/app/other.py", 9);
  EXPECT_EQ(text_of(where), "batch.py:10 +1");
}

/// Labels of one stack, leaf first.
class BlamedFrame : public testing::Test {
 protected:
  std::string of(const std::vector<std::vector<std::string>>& places,
                 const std::vector<std::uint32_t>& modules = {}) {
    std::vector<std::uint32_t> locations;
    for (std::size_t i = 0; i < places.size(); ++i) {
      locations.push_back(test_.location(places[i], i < modules.size() ? modules[i] : 0));
    }
    const std::uint32_t stack = test_.stack(locations);
    const Labels labels(test_.recording);
    std::vector<std::uint32_t> path;
    labels.collect(test_.recording, stack, path);
    return labels[path[FrameRoles(test_.recording, labels).blamed(path)]].name;
  }

  std::uint32_t module(const std::string& path) {
    test_.recording.modules.push_back({path, "", 0x10000, 0x20000, 0});
    return static_cast<std::uint32_t>(test_.recording.modules.size() - 1);
  }

  void read_by(std::string_view rules, bool shows_plumbing = false) {
    auto parsed = FrameRules::parse(rules);
    auto known = std::make_shared<FrameRules>(parsed.value());
    known->shows_plumbing = shows_plumbing;
    test_.recording.frame_rules = known;
  }

  TestRecording test_;
};

TEST_F(BlamedFrame, IsTheFirstThatIsNotPlumbing) {
  EXPECT_EQ(of({{"xmalloc"}, {"std::vector<int>::reserve(unsigned long)", "load"}, {"main"}}),
            "load");
}

TEST_F(BlamedFrame, IsTheBestOfPlumbingIfThereIsNothingElse) {
  EXPECT_EQ(of({{"PyObject_Malloc"}, {"_PyEval_EvalFrameDefault"}, {"__libc_start_main"}}),
            "_PyEval_EvalFrameDefault");
  EXPECT_EQ(of({{"xmalloc"}}), "xmalloc");
}

TEST_F(BlamedFrame, OfAStrippedLibraryIsTheFunctionThatItExports) {
  const std::uint32_t library = module("/usr/lib/libbig.so");
  EXPECT_EQ(of({{}, {}, {"big_parse"}, {"main"}}, {library, library, library, 0}), "big_parse");
  // Once names were looked up, what has none is called by its address.
  EXPECT_EQ(of({{"libbig.so+0x1234"}, {"big_read"}, {"main"}}, {library, library, 0}), "big_read");
}

TEST_F(BlamedFrame, IsNotThePartOfAContainerThatHasNoName) {
  const std::uint32_t library = module("/usr/lib/libQt5Core.so.5");
  EXPECT_EQ(of({{}, {"QString::arg(int)"}, {"load"}}, {library, library, 0}), "load");
  EXPECT_EQ(of({{}, {"QString::arg(int)"}, {"qt_read"}}, {library, library, library}), "qt_read");
  EXPECT_EQ(of({{}, {"QString::arg(int)"}}, {library, library}), "QString::arg(int)");
}

TEST_F(BlamedFrame, OfAStrippedProgramStaysInIt) {
  const std::uint32_t library = module("/usr/lib/libbig.so");
  EXPECT_EQ(of({{}, {"big_call_me"}, {"main"}}, {0, library, 0}), "target+0x1000");
}

TEST_F(BlamedFrame, FollowsTheRulesOfTheProject) {
  read_by("# ours\nplumbing ^pool_get$\n\nown ^std::mine::\n");
  EXPECT_EQ(of({{"pool_get"}, {"load"}}), "load");
  EXPECT_EQ(of({{"malloc"}, {"std::mine::f()"}, {"main"}}), "std::mine::f()");
}

TEST_F(BlamedFrame, IsTheLeafWhenPlumbingIsShown) {
  read_by("hide ^std::", true);
  EXPECT_EQ(of({{"std::vector<int>::reserve(unsigned long)"}, {"xmalloc"}, {"main"}}), "xmalloc");
}

TEST(ModuleNames, OfAProgramAreWhatWasStarted) {
  TestRecording test(1);
  const std::uint32_t stack = test.stack({test.location({"call"})});
  test.sample(stack, 100);
  const auto module_of_row = [&] {
    const Profile profile = select(test.recording, Kind::kAllocated);
    const std::string name = table(test.recording, profile, GroupBy::kModule)[0].name;
    EXPECT_EQ(table(test.recording, profile, GroupBy::kFunction)[0].detail, name);
    return name;
  };
  Process& process = test.recording.processes[0];
  test.recording.modules[0].path = process.executable = "/usr/bin/redis-check-rdb";
  process.pid = 1;
  EXPECT_EQ(module_of_row(), "redis-check-rdb");
  process.started_as = "redis-server";
  EXPECT_EQ(module_of_row(), "redis-server");
  test.recording.processes.push_back(process);
  test.recording.processes[1].started_as = "redis-sentinel";
  EXPECT_EQ(module_of_row(), "redis-check-rdb") << "its functions are of both";
  test.recording.processes.pop_back();
  test.recording.modules[0].path = test.recording.processes[0].executable = "/usr/bin/perl";
  test.recording.processes[0].started_as = "script";
  EXPECT_EQ(module_of_row(), "perl") << "a script has none of its functions";
}

TEST_F(BlamedFrame, CallersWithoutNamesGiveWayToOneWithANameInTheirModule) {
  const std::uint32_t library = module("/usr/lib/libbig.so");
  const auto stack = test_.stack({test_.location({"lex"}, library), test_.location({}, library),
                                  test_.location({"call"}), test_.location({}, library),
                                  test_.location({"parse"}, library), test_.location({}),
                                  test_.location({"main"}), test_.location({})});
  test_.sample(stack, 100);
  const auto shown = [&] {
    const Profile profile = select(test_.recording, Kind::kAllocated);
    const Row row = table(test_.recording, profile, GroupBy::kStack)[0];
    return row.name + " < " + row.detail;
  };
  EXPECT_EQ(shown(), "lex < call < parse < main");
  read_by("", true);
  EXPECT_EQ(shown(), "lex < libbig.so+0x1010 < call < libbig.so+0x1030") << "all of it was wanted";
}

TEST_F(BlamedFrame, OfAProgramWithoutNamesAreItsAddresses) {
  const auto stack = test_.stack({test_.location({}), test_.location({}), test_.location({})});
  test_.sample(stack, 100);
  const Profile profile = select(test_.recording, Kind::kAllocated);
  EXPECT_EQ(table(test_.recording, profile, GroupBy::kStack)[0].detail,
            "target+0x1010 < target+0x1020");
}

TEST_F(BlamedFrame, StacksThatNeverLeaveTheRuntimeAreOneRow) {
  const std::uint32_t cxx = module("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
  const std::uint32_t loader = module("/lib64/ld-linux-x86-64.so.2");
  const std::uint32_t libc = module("/lib/x86_64-linux-gnu/libc.so.6");
  test_.sample(test_.stack({test_.location({}, cxx), test_.location({"call_init"}, loader)}), 100);
  test_.sample(test_.stack({test_.location({}, libc), test_.location({}, loader)}), 100);
  test_.sample(test_.stack({test_.location({}, cxx), test_.location({"main"})}), 100);
  const Profile profile = select(test_.recording, Kind::kAllocated);
  std::vector<std::string> rows;
  for (const Row& row : table(test_.recording, profile, GroupBy::kFunction)) {
    rows.push_back(row.name + "|" + row.detail);
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"[runtime]|", "main|target"}));
}

/// What readers without rules see.
class ShownFrames : public BlamedFrame {
 protected:
  std::vector<std::vector<std::string>> names_of(std::uint32_t stack) const {
    std::vector<std::vector<std::string>> names;
    for (const std::uint32_t location : test_.recording.stacks[stack].locations) {
      names.emplace_back();
      for (const std::uint32_t frame : test_.recording.locations[location].frames) {
        names.back().push_back(test_.recording.frames[frame].function);
      }
    }
    return names;
  }
};

TEST_F(ShownFrames, AreWithoutWhatIsHidden) {
  read_by("hide ^hidden", true);
  const std::uint32_t leaf = test_.location({"hidden_leaf"});
  const std::uint32_t inlined = test_.location({"a", "hidden", "b"});
  const std::uint32_t unnamed = test_.location({});
  const std::uint32_t root = test_.location({"main"});
  const std::uint32_t stack = test_.stack({leaf, inlined, unnamed, root});
  const std::uint32_t other = test_.stack({unnamed, inlined});
  const std::uint32_t only = test_.stack({leaf});
  keep_shown_frames(test_.recording);
  using Names = std::vector<std::vector<std::string>>;
  EXPECT_EQ(names_of(stack), (Names{{"a", "b"}, {}, {"main"}}));
  EXPECT_EQ(names_of(other), (Names{{}, {"a", "b"}}));
  EXPECT_EQ(test_.recording.stacks[stack].locations[0], test_.recording.stacks[other].locations[1]);
  EXPECT_EQ(names_of(only), (Names{{"hidden_leaf"}})) << "a stack is never empty";
}

TEST_F(ShownFrames, BeginAtTheOneToBlameAndKeepTheTypeThatOthersTell) {
  const std::uint32_t allocator =
      test_.location({"std::allocator<Thing>::allocate(unsigned long)"});
  const std::uint32_t own = test_.location({"std::vector<Thing>::reserve(unsigned long)", "load"});
  const std::uint32_t stack = test_.stack({allocator, own, test_.location({"__libc_start_main"})});
  test_.sample(stack, 8);
  const Types before(test_.recording);
  ASSERT_EQ(before[before.of(kNone, stack)], "Thing");
  keep_shown_frames(test_.recording);
  EXPECT_EQ(names_of(stack), (std::vector<std::vector<std::string>>{{"load"}}));
  const Types after(test_.recording);
  EXPECT_EQ(after[after.of(test_.recording.samples[0].type, stack)], "Thing");
}

TEST(FrameRulesFile, SaysWhichLineIsWrong) {
  const auto bad_word = FrameRules::parse("own a\nmine b\n");
  EXPECT_EQ(
      bad_word.reason(),
      "2: invalid role 'mine' (choose from own, library, package, dispatch, plumbing, start-up, "
      "allocation, wrapper, passes-on, hide, hint, type, wrappers)");
  EXPECT_TRUE(FrameRules::parse("own (\n").reason().starts_with("1: '(': "));
  EXPECT_EQ(FrameRules::parse("own").reason(), "1: 'own' needs a regular expression");
  EXPECT_EQ(FrameRules::parse("own function=").reason(), "1: a name is missing");
  EXPECT_TRUE(FrameRules::parse("[rust]").reason().starts_with("1: invalid kind of code 'rust' ("));
}

FrameRole role_by(std::string_view rules, const FrameFacts& facts) {
  return FrameRules::parse(rules).value().role(facts);
}

TEST(FrameRulesFile, ComparesNamesAsItsOperatorsSay) {
  const FrameFacts facts{"int* app::make<int>(std::string const&)", "/opt/app/libmake.so.1",
                         "/src/make.h", false};
  for (const char* what :
       {"function^=app::make function=x", "function=other \"int* app::make<int>\"",
        "module=libmake.so.1", "module^=lib", "module=/opt/app/libmake.so.1", "module^=/opt/",
        "module*=/app/", "source$=.h module$=.so.1", "source=make.{cc,h}", "source~=^/src/.*h$",
        "^/src/", "function^={int,app}::{make,take}"}) {
    const std::string rule = std::string("hide ") + what;
    const bool all = std::string_view(what).find("function=x") == std::string_view::npos;
    EXPECT_EQ(role_by(rule, facts), all ? FrameRole::kHidden : FrameRole::kOwn) << what;
  }
  for (const char* what :
       {"function^=int", "module=libmake.so", "module^=opt", "source^=src/", "source={make,take}.c",
        "function*=make module*=/other/", "source$=.cc"}) {
    EXPECT_EQ(role_by(std::string("hide ") + what, facts), FrameRole::kOwn) << what;
  }
}

TEST(FrameRulesFile, LastRuleDecides) {
  const FrameFacts facts{"pool_get", kProgram, {}, true};
  EXPECT_EQ(role_by("own function=pool_get\nwrapper function^=pool_", facts),
            FrameRole::kAllocation);
  EXPECT_EQ(role_by("wrapper function^=pool_\nown function=pool_get", facts), FrameRole::kOwn);
  EXPECT_EQ(role_by("wrapper function*=_get\nown function=pool_get", facts), FrameRole::kOwn);
  EXPECT_EQ(role_by("own function=pool_get\nwrapper _get$", facts), FrameRole::kAllocation);
}

TEST(FrameRulesFile, SectionsAreForOneKindOfCode) {
  constexpr std::string_view kRules = "[python]\nhide function=get\n[shared]\nlibrary function=get";
  EXPECT_EQ(role_by(kRules, {"get", "/a.py", "/a.py", false, ModuleKind::kSource}),
            FrameRole::kHidden);
  EXPECT_EQ(role_by(kRules, {"get", "/opt/a.so", {}, false}), FrameRole::kLibrary);
  EXPECT_EQ(role_by(kRules, {"get", "/opt/a", {}, true}), FrameRole::kOwn);
}

TEST(FrameRulesFile, NamesTypes) {
  const FrameRules rules =
      FrameRules::parse("type function=app::make<T>::now\ntype holder=app::Node<T>").value();
  EXPECT_EQ(type_allocated_by("app::make<app::Node<Order>, int>::now(int)", rules), "Order");
  EXPECT_EQ(type_allocated_by("std::make_unique<app::Node<Order>>", rules), "Order");
  EXPECT_EQ(type_allocated_by("app::make<Order>::nowhere(int)", rules), std::nullopt);
  EXPECT_EQ(FrameRules::parse("type module=a<T>").reason(),
            "1: 'type' needs function=, function^= or holder= and a name with <T>");
}

TEST(FrameRulesFile, OfWhatIsBuiltInIsReadByItsUsersToo) {
  ASSERT_TRUE(FrameRules::parse(kBuiltInRules).has_value());
  EXPECT_EQ(role_by(kBuiltInRules, {"xmalloc", kProgram, {}, true}), FrameRole::kAllocation);
}

TEST(Lines, AreRowsOfTheirOwn) {
  TestRecording test(1);
  const auto at = [&](std::uint32_t line) {
    const auto location = test.location({"main"});
    Frame& frame = test.recording.frames[test.recording.locations[location].frames[0]];
    frame.file = "/src/leaky.cc";
    frame.line = line;
    return test.stack({location});
  };
  test.sample(at(11), 100);
  test.sample(at(12), 300);
  test.sample(at(13), 200);
  const Profile profile = select(test.recording, Kind::kAllocated);
  const std::vector<Row> lines = table(test.recording, profile, GroupBy::kLine);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(text_of(lines[0].where), "leaky.cc:12");
  EXPECT_EQ(text_of(lines[2].where), "leaky.cc:11");
  const std::vector<Row> functions = table(test.recording, profile, GroupBy::kFunction);
  ASSERT_EQ(functions.size(), 1U);
  EXPECT_EQ(text_of(functions[0].where), "leaky.cc:11-13");
  const std::vector<Row> stacks = table(test.recording, profile, GroupBy::kStack);
  ASSERT_EQ(stacks.size(), 3U);
  EXPECT_EQ(text_of(stacks[0].where), "leaky.cc:12");
}

/// Whatever is hidden, the rows add up to the whole.
TEST_F(BlamedFrame, HidingChangesNoTotal) {
  for (std::uint32_t i = 0; i < 60; ++i) {
    const auto leaf =
        test_.location({i % 2 == 0 ? "xmalloc" : "std::f()", "own" + std::to_string(i % 5)});
    const auto root = test_.location({i % 3 == 0 ? "std::g()" : "main"});
    test_.sample(test_.stack({leaf, root}), 100 + 17 * Bytes{i});
  }
  const Profile profile = select(test_.recording, Kind::kAllocated);
  const estimation::NodeSums whole = total(test_.recording, profile);
  for (const char* rules : {"", "hide .", "hide own1|main", "plumbing own"}) {
    for (const bool shows_plumbing : {false, true}) {
      read_by(rules, shows_plumbing);
      for (const GroupBy by : {GroupBy::kFunction, GroupBy::kLine, GroupBy::kStack}) {
        estimation::NodeSums sum;
        for (const Row& row : table(test_.recording, profile, by)) sum.merge(row.self);
        EXPECT_EQ(sum.samples, whole.samples);
        EXPECT_DOUBLE_EQ(sum.weighted_bytes, whole.weighted_bytes);
      }
      const Tree grown = tree(test_.recording, profile, false);
      EXPECT_EQ(grown.nodes[0].total.samples, whole.samples);
      EXPECT_DOUBLE_EQ(grown.nodes[0].total.weighted_bytes, whole.weighted_bytes);
    }
  }
}

}  // namespace
}  // namespace geiger::profile::frame_roles_test
