#include "analysis/profile/frames/plumbing_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "analysis/profile/frames/labels.h"
#include "base/text.h"

namespace geiger::profile {

namespace {

constexpr std::array<std::string_view, 18> kEntryPoints = {
    "malloc",        "calloc",  "realloc", "reallocarray", "memalign",    "posix_memalign",
    "aligned_alloc", "valloc",  "pvalloc", "cfree",        "free",        "mallocx",
    "rallocx",       "xallocx", "new",     "newarray",     "new_aligned", "newarray_aligned"};

constexpr std::array<std::string_view, 10> kAllocatorPrefixes = {
    "__libc_", "__GI___libc_", "__GI_", "je_", "_rjem_", "tc_", "_mi_", "mi_", "mi_heap_", "__"};

bool is_entry_point(std::string_view name) {
  return std::find(kEntryPoints.begin(), kEntryPoints.end(), name) != kEntryPoints.end();
}

/// "operator new(unsigned long)", "operator new[]", "void* operator new<...>".
bool is_operator_new(std::string_view name) {
  constexpr std::string_view kNew = "operator new";
  if (!name.starts_with(kNew)) return false;
  name.remove_prefix(kNew.size());
  if (name.starts_with("[]")) name.remove_prefix(2);
  return name.empty() || name.starts_with('(');
}

/// Suffixes of clones: "malloc.part.0", "malloc [clone .cold]", "malloc (.cold)".
std::string_view without_clone(std::string_view name) {
  return name.substr(0, name.find_first_of(". "));
}

/// Rust's `alloc` and `realloc`, the allocator `Global` that calls them for boxes and vectors, and
/// the layers under them, of the standard library and of the compiler ("__rdl_alloc", since 2025
/// in a module "__rustc").
bool is_rust_allocation(std::string_view name) {
  if (name.starts_with("alloc::alloc::") || name.starts_with("<alloc::alloc::Global")) return true;
  constexpr std::array<std::string_view, 4> kLayers = {"__rust_", "__rdl_", "__rg_", "__rustc::"};
  constexpr std::string_view kSystem = "std::sys::alloc::unix::aligned_malloc";
  if (name == kSystem || name == "std::sys::alloc::realloc_fallback") return true;
  if (name.starts_with("<std::alloc::System as core::alloc::global::GlobalAlloc>::")) return true;
  if (name.find("GlobalAlloc for std::alloc::System>::") != std::string_view::npos) return true;
  const bool is_layer = std::any_of(kLayers.begin(), kLayers.end(), [&](std::string_view layer) {
    return name.starts_with(layer);
  });
  return is_layer && name.find("alloc") != std::string_view::npos;
}

/// Between what allocates a type and what allocates bytes.
constexpr std::array<std::string_view, 14> kPassOn{"alloc::alloc::",
                                                   "<alloc::alloc::Global>::",
                                                   "<alloc::alloc::Global as ",
                                                   "alloc::boxed::box_new_uninit",
                                                   "alloc::raw_vec::finish_",
                                                   "alloc::raw_vec::RawVecInner<",
                                                   "<alloc::raw_vec::RawVecInner",
                                                   "hashbrown::raw::RawTableInner::",
                                                   "<hashbrown::raw::RawTableInner>::",
                                                   "hashbrown::raw::alloc::inner::do_alloc",
                                                   "std::__1::__libcpp_allocate",
                                                   "std::__1::__libcpp_operator_new",
                                                   "void* std::__1::__libcpp_operator_new",
                                                   "std::__allocate_guarded"};

}  // namespace

bool is_allocation_function(std::string_view name) {
  if (is_operator_new(name) || is_rust_allocation(name)) return true;
  const std::string_view plain = without_clone(name);
  if (plain != "new" && plain != "newarray" && is_entry_point(plain)) return true;
  return std::any_of(
      kAllocatorPrefixes.begin(), kAllocatorPrefixes.end(), [&](std::string_view prefix) {
        return plain.starts_with(prefix) && is_entry_point(plain.substr(prefix.size()));
      });
}

bool passes_allocation_on(std::string_view function) {
  return std::ranges::any_of(kPassOn,
                             [&](std::string_view start) { return function.starts_with(start); });
}

namespace {

using Word = std::string_view;

constexpr std::array kScriptEndings{Word(".js"),  Word(".mjs"), Word(".cjs"), Word(".ts"),
                                    Word(".mts"), Word(".cts"), Word(".jsx"), Word(".tsx")};

constexpr std::array kJavaPackages{Word("java."), Word("javax."),   Word("jdk."),
                                   Word("sun."),  Word("com.sun."), Word("org.graalvm.")};

/// V8's, then HotSpot's. Only what no program calls a function: other recordings have frames
/// without a module too.
constexpr std::array kStubStarts{Word("Builtin:"), Word("BytecodeHandler:"), Word("Stub:"),
                                 Word("RegExp:"), Word("StubRoutines (")};
constexpr std::array kStubEndings{Word(" stub"), Word(" adapters")};
constexpr std::array kStubs{Word("Interpreter"),     Word("adapters"),
                            Word("SafepointBlob"),   Word("DeoptimizationBlob"),
                            Word("ExceptionBlob"),   Word("UncommonTrapBlob"),
                            Word("_rethrow_Java"),   Word("_new_instance_Java"),
                            Word("_new_array_Java"), Word("_multianewarray2_Java")};

constexpr std::array kMachines{Word("node"),       Word("nodejs"),    Word("libjvm.so"),
                               Word("libjava.so"), Word("libzip.so"), Word("libnio.so"),
                               Word("libnet.so"),  Word("libjli.so"), Word("libjimage.so")};

template <typename Words>
bool begins_with_one(Word text, const Words& words) {
  return std::ranges::any_of(words, [&](Word word) { return text.starts_with(word); });
}

template <typename Words>
bool ends_with_one(Word text, const Words& words) {
  return std::ranges::any_of(words, [&](Word word) { return text.ends_with(word); });
}

}  // namespace

bool is_script(std::string_view file) {
  return file.starts_with("node:") || ends_with_one(file, kScriptEndings);
}

bool is_script_library(std::string_view file) {
  return file.starts_with("node:") || file.find("/node_modules/") != std::string_view::npos;
}

bool is_java_method(std::string_view function) {
  const std::size_t open = function.find('(');
  return open != std::string_view::npos && function.ends_with(')') &&
         function.find("::") == std::string_view::npos && function.find(' ') > open &&
         function.substr(0, open).find('.') != std::string_view::npos;
}

bool is_java_library(std::string_view function) { return begins_with_one(function, kJavaPackages); }

bool is_jit_stub(std::string_view function) {
  return begins_with_one(function, kStubStarts) || ends_with_one(function, kStubEndings) ||
         std::ranges::find(kStubs, function) != kStubs.end();
}

bool is_virtual_machine(std::string_view path) {
  const std::string_view file = base::file_name_of(path);
  return std::ranges::find(kMachines, file) != kMachines.end() || file.starts_with("libnode.so");
}

namespace {

using Text = std::string_view;

/// Namespaces and crates of standard libraries, with the brackets of Rust's implementations.
constexpr std::array kStandardScopes{Text("std::"),
                                     Text("__gnu_cxx::"),
                                     Text("__cxxabiv1::"),
                                     Text("__gnu_debug::"),
                                     Text("boost::"),
                                     Text("absl::"),
                                     Text("alloc::"),
                                     Text("<alloc::"),
                                     Text("core::"),
                                     Text("<core::"),
                                     Text("<std::"),
                                     Text("<&"),
                                     Text("<["),
                                     Text("<T as "),
                                     Text("<U as "),
                                     Text("<I as "),
                                     Text("<F as "),
                                     Text("<T>::"),
                                     Text("hashbrown::"),
                                     Text("<hashbrown::"),
                                     Text("__rustc::"),
                                     Text("runtime."),
                                     Text("decltype(auto) std::"),
                                     Text("__rust_begin_short_backtrace"),
                                     Text("__rust_end_short_backtrace")};

/// Containers of libraries: their code is compiled into the modules that use them.
constexpr std::array kContainers{
    // LLVM
    Text("llvm::SmallVector"), Text("llvm::DenseMap"), Text("llvm::SmallDenseMap"),
    Text("llvm::DenseSet"), Text("llvm::detail::DenseSetImpl"), Text("llvm::StringMap"),
    Text("llvm::FoldingSet"), Text("llvm::ContextualFoldingSet"), Text("llvm::SmallPtrSet"),
    Text("llvm::MapVector"), Text("llvm::SetVector"), Text("llvm::IntervalMap"),
    Text("llvm::BumpPtrAllocator"), Text("llvm::SpecificBumpPtrAllocator"),
    Text("llvm::MallocAllocator::"), Text("llvm::RecyclingAllocator"), Text("llvm::Recycler"),
    Text("llvm::AllocatorBase<"), Text("llvm::allocate_buffer"), Text("llvm::safe_"),
    Text("llvm::BitVector"), Text("llvm::SparseBitVector"), Text("llvm::PagedVector"),
    Text("llvm::simple_ilist<"), Text("llvm::ImutAVLFactory<"), Text("llvm::PointerUnion<"),
    Text("clang::ASTContext::Allocate"), Text("llvm::ArrayRef<"),
    // GCC
    Text("vec<"), Text("auto_vec<"), Text("va_heap::"), Text("va_gc::"), Text("va_gc_atomic::"),
    Text("hash_table<"), Text("hash_map<"), Text("hash_set<"), Text("base_pool_allocator<"),
    Text("object_allocator<"), Text("pool_allocator::"), Text("htab_"), Text("make_node(tree_code"),
    Text("splay_tree_"), Text("bitmap_alloc(unsigned int)"), Text("bitmap_gc_alloc("),
    Text("bitmap_copy(bitmap_head"), Text("bitmap_set_bit(bitmap_head"),
    Text("bitmap_ior(bitmap_head"), Text("bitmap_ior_into(bitmap_head"),
    // Qt
    Text("QArrayData"), Text("QTypedArrayData<"), Text("QListData::"), Text("QList<"),
    Text("QVector<"), Text("QVarLengthArray<"), Text("QHashData::"), Text("QHash<"),
    Text("QHashPrivate::"), Text("QMapData"), Text("QMap<"), Text("QMapNodeBase::"), Text("QSet<"),
    Text("QtPrivate::QGenericArrayOps<"), Text("QtPrivate::QPodArrayOps<"), Text("QString::"),
    Text("QStringList::"), Text("QtPrivate::QStringList_"), Text("QByteArray::"),
    Text("QVariant::"), Text("QtSharedPointer::"), Text("QStringBuilder<"),
    // V8 and node
    Text("v8::internal::AllocWithRetry"), Text("v8::internal::AllocAtLeast"),
    Text("v8::internal::AlignedAlloc"), Text("v8::internal::BackingStore::"),
    Text("v8::internal::Heap::AllocateExternalBackingStore"),
    Text("v8::ArrayBuffer::NewBackingStore"), Text("node::NodeArrayBufferAllocator::Allocate"),
    Text("node::(anonymous namespace)::CompressionStream<node::(anonymous "
         "namespace)::ZlibContext>::AllocFor"),
    Text("v8::internal::NewArray<"), Text("v8::internal::Zone::"),
    Text("v8::internal::AccountingAllocator::"), Text("v8::base::"), Text("node::Malloc"),
    Text("node::Calloc"), Text("node::Realloc"), Text("node::UncheckedMalloc"),
    Text("node::UncheckedCalloc"), Text("node::UncheckedRealloc"),
    // PostgreSQL, OpenSSL, ICU
    Text("lappend"), Text("lcons"), Text("bms_add_"), Text("bms_copy"), Text("bms_make_singleton"),
    Text("bms_union"), Text("initStringInfo"), Text("makeStringInfo"), Text("enlargeStringInfo"),
    Text("appendStringInfo"), Text("appendBinaryStringInfo"), Text("OPENSSL_sk_"),
    Text("OPENSSL_LH_"), Text("uhash_")};

/// Wrappers of C whose names kPrefixes and kSuffixes do not make.
constexpr std::array kWrappers{
    // PostgreSQL
    Text("palloc"), Text("palloc0"), Text("palloc_extended"), Text("palloc_aligned"),
    Text("palloc0fast"), Text("repalloc"), Text("repalloc0"), Text("repalloc_huge"),
    Text("repalloc_extended"), Text("pstrdup"), Text("pnstrdup"), Text("MemoryContextAlloc"),
    Text("MemoryContextAllocZero"), Text("MemoryContextAllocZeroAligned"),
    Text("MemoryContextAllocExtended"), Text("MemoryContextAllocHuge"),
    Text("MemoryContextAllocAligned"), Text("MemoryContextStrdup"), Text("AllocSetAlloc"),
    Text("AllocSetAllocLarge"), Text("AllocSetAllocFromNewBlock"), Text("AllocSetRealloc"),
    Text("AllocSetContextCreateInternal"), Text("GenerationAlloc"), Text("GenerationRealloc"),
    Text("GenerationContextCreate"), Text("SlabAlloc"), Text("SlabContextCreate"),
    // GCC and obstacks
    Text("ggc_internal_alloc"), Text("ggc_internal_cleared_alloc"), Text("ggc_realloc"),
    Text("alloc_page"), Text("alloc_anon"), Text("_obstack_begin"), Text("_obstack_begin_1"),
    Text("_obstack_newchunk"), Text("_obstack_begin_worker"), Text("call_chunkfun"),
    Text("rtx_alloc"), Text("rtvec_alloc"), Text("_cpp_get_buff"), Text("_cpp_extend_buff"),
    Text("_cpp_append_extend_buff"), Text("_cpp_aligned_alloc"), Text("_cpp_unaligned_alloc"),
    // GLib
    Text("g_slice_alloc"), Text("g_slice_alloc0"), Text("g_slice_copy"), Text("g_memdup2"),
    // Python
    Text("PyType_GenericAlloc"), Text("_PyType_AllocNoTrack"), Text("_PyObject_GC_Alloc"),
    Text("_PyObject_GC_Malloc"), Text("_PyObject_GC_New"), Text("_PyObject_GC_NewVar"),
    Text("_PyObject_New"), Text("_PyObject_NewVar"), Text("gc_alloc"), Text("new_arena"),
    Text("allocate_from_new_pool"), Text("pymalloc_alloc"), Text("pymalloc_realloc"),
    // Perl
    Text("Perl_safesysmalloc"), Text("Perl_safesysrealloc"), Text("Perl_safesyscalloc"),
    Text("Perl_more_bodies"), Text("S_more_bodies"), Text("Perl_more_sv"), Text("S_more_sv"),
    // Lua, Ruby, PHP
    Text("l_alloc"), Text("luaM_malloc_"), Text("luaM_realloc_"), Text("luaM_growaux_"),
    Text("luaM_saferealloc_"), Text("luaM_shrinkvector_"), Text("objspace_xmalloc0"),
    Text("objspace_xcalloc"), Text("objspace_xrealloc"), Text("__zend_malloc"),
    // SQLite
    Text("sqlite3MemMalloc"), Text("sqlite3MemRealloc"), Text("sqlite3MallocZero"),
    Text("sqlite3DbMallocRaw"), Text("sqlite3DbMallocRawNN"), Text("sqlite3DbMallocZero"),
    Text("sqlite3DbRealloc"), Text("sqlite3DbReallocOrFree"), Text("sqlite3DbStrDup"),
    Text("sqlite3DbStrNDup"), Text("sqlite3DbSpanDup"), Text("dbMallocRawFinish"),
    Text("dbReallocFinish"), Text("mallocWithAlarm"), Text("sqlite3PageMalloc"),
    Text("sqlite3PcacheMalloc"),
    // FFmpeg, nginx, APR, libgit2, Rust's crates

    Text("av_buffer_alloc"), Text("av_buffer_allocz"), Text("av_buffer_realloc"),
    Text("av_fast_malloc"), Text("av_fast_mallocz"), Text("av_fast_padded_malloc"),
    Text("av_fast_padded_mallocz"), Text("av_fast_realloc"), Text("av_realloc_f"),
    Text("av_reallocp"), Text("ngx_alloc"), Text("ngx_calloc"), Text("ngx_memalign"),
    Text("ngx_palloc_large"), Text("allocator_alloc"), Text("apr_palloc"), Text("stdalloc__malloc"),
    Text("CRYPTO_clear_realloc"), Text("my_once_alloc"), Text("XtMalloc"), Text("qMallocAligned"),
    Text("qReallocAligned"), Text("xmlMemMalloc")};

/// PREFIX + allocation word + SUFFIX: "x" + "malloc", "g_try_" + "realloc" + "_n".
constexpr std::array kPrefixes{Text("x"),
                               Text("z"),
                               Text("ztry"),
                               Text("e"),
                               Text("_e"),
                               Text("s"),
                               Text("p"),
                               Text("do_x"),
                               Text("do_"),
                               Text("x_"),
                               Text("safe_"),
                               Text("safe"),
                               Text("ck_"),
                               Text("check_"),
                               Text("checked_"),
                               Text("g_"),
                               Text("g_try_"),
                               Text("av_"),
                               Text("git__"),
                               Text("git_"),
                               Text("sqlite3"),
                               Text("sqlite3_"),
                               Text("xml"),
                               Text("OPENSSL_"),
                               Text("CRYPTO_"),
                               Text("PyMem_"),
                               Text("PyMem_Raw"),
                               Text("_PyMem_"),
                               Text("_PyMem_Raw"),
                               Text("_PyMem_Debug"),
                               Text("PyObject_"),
                               Text("_PyObject_"),
                               Text("pg_"),
                               Text("uv__"),
                               Text("luaM_"),
                               Text("rb_"),
                               Text("ruby_x"),
                               Text("bfd_"),
                               Text("isc_mem_"),
                               Text("apr_"),
                               Text("curl_"),
                               Text("Curl_"),
                               Text("talloc_"),
                               Text("xcb_"),
                               Text("x264_"),
                               Text("tcg_"),
                               Text("__interceptor_"),
                               Text("")};
constexpr std::array kWords{Text("malloc"),  Text("calloc"),  Text("realloc"),
                            Text("zalloc"),  Text("mallocz"), Text("strdup"),
                            Text("strndup"), Text("memdup"),  Text("memdupz")};
constexpr std::array kSuffixes{
    Text(""),          Text("0"),     Text("z"),         Text("64"),
    Text("_"),         Text("_n"),    Text("0_n"),       Text("_array"),
    Text("array"),     Text("_num"),  Text("_usable"),   Text("_usable_internal"),
    Text("_internal"), Text("_fast"), Text("_extended"), Text("_gently")};

constexpr std::array kStarts{Text("_start"),
                             Text("__libc_start_main"),
                             Text("__libc_start_call_main"),
                             Text("start_thread"),
                             Text("clone"),
                             Text("clone3"),
                             Text("__libc_start_main_impl"),
                             Text("execute_native_thread_routine"),
                             Text("_dl_start_user"),
                             Text("g_thread_proxy"),
                             Text("QThreadPrivate::start(void*)"),
                             Text("[truncated]"),
                             Text("[runtime]")};

/// Whole names, as parts of others they say nothing.
constexpr std::array kDispatchers{
    Text("call_function"), Text("object_vacall"),   Text("vectorcall_method"),
    Text("type_call"),     Text("do_call_core"),    Text("run_eval_code_obj"),
    Text("run_mod"),       Text("trampoline_call"), Text("function_code_fastcall"),
    Text("perl_run"),      Text("S_run_body"),      Text("ccall"),
    Text("f_call"),        Text("docall"),          Text("execute_ex"),
    Text("_Py_Main"),      Text("Py_RunMain"),      Text("Py_BytesMain"),
    Text("Perl_call_sv"),  Text("Perl_pp_entersub")};

/// Starts of names.
constexpr std::array kDispatch{
    // Python
    Text("_PyEval_EvalFrame"), Text("PyEval_EvalCode"), Text("PyEval_EvalFrame"),
    Text("_PyEval_EvalCode"), Text("_PyEval_Vector"), Text("_PyFunction_"),
    Text("_PyObject_Vectorcall"), Text("PyObject_Vectorcall"), Text("_PyObject_Call"),
    Text("PyObject_Call"), Text("_PyObject_MakeTpCall"), Text("_PyObject_FastCall"),
    Text("cfunction_"), Text("method_vectorcall"), Text("PyVectorcall_Call"),
    Text("_PyVectorcall_Call"), Text("_PyCFunction_"), Text("PyCFunction_Call"), Text("slot_tp_"),
    Text("pyrun_"), Text("_PyRun_"), Text("PyRun_"),
    Text("pymain_"),  // Perl, Lua, Ruby, PHP, QML, QuickJS
    Text("Perl_runops_"), Text("luaV_execute"), Text("luaD_call"), Text("luaD_pcall"),
    Text("luaD_precall"), Text("luaD_rawrunprotected"), Text("lua_call"), Text("lua_pcall"),
    Text("vm_exec"), Text("rb_vm_exec"), Text("vm_call_"), Text("zend_execute"),
    Text("JS_CallInternal"), Text("QV4::Moth::VMInterpreter::"), Text("lj_BC_"), Text("lj_vm_"),
    // V8
    Text("Builtins_"), Text("v8::internal::Builtin_"), Text("v8::internal::Execution::"),
    Text("v8::internal::(anonymous namespace)::Invoke"),
    Text("v8::internal::MaybeHandle<v8::internal::Object> v8::internal::(anonymous "
         "namespace)::HandleApiCallHelper"),
    Text("v8::Function::Call"), Text("v8::internal::FunctionCallbackArguments::Call")};

constexpr std::array kRustTypes{Text("u8"),   Text("u16"),  Text("u32"),   Text("u64"),
                                Text("u128"), Text("i8"),   Text("i16"),   Text("i32"),
                                Text("i64"),  Text("i128"), Text("usize"), Text("isize"),
                                Text("f32"),  Text("f64"),  Text("bool"),  Text("char"),
                                Text("str"),  Text("()"),   Text("!")};
constexpr std::array kStandardCrates{Text("alloc::"), Text("core::"), Text("std::")};
constexpr std::array kPrivateTraits{
    Text("alloc::slice::hack::"), Text("alloc::vec::"),        Text("alloc::string::SpecToString"),
    Text("alloc::rc::"),          Text("alloc::sync::"),       Text("core::iter::adapters::"),
    Text("core::slice::"),        Text("core::str::pattern::")};

constexpr std::array kStandardModules{
    Text("libc.so"),    Text("libc-2."),     Text("libstdc++.so"), Text("libc++."),
    Text("libc++abi."), Text("libpthread"),  Text("libgcc_s"),     Text("ld-linux"),
    Text("ld-musl"),    Text("libjemalloc"), Text("libtcmalloc"),  Text("libmimalloc"),
    Text("libdl.so"),   Text("libdl-2."),    Text("librt.so"),     Text("libgeiger"),
    Text("[vdso]")};

constexpr std::array kSystemPaths{Text("/lib/"),       Text("/lib64/"),     Text("/usr/"),
                                  Text("/nix/store/"), Text("/gnu/store/"), Text("/snap/")};

constexpr std::array kPackagePaths{Text("/.cargo/registry/"), Text("/.cargo/git/"),
                                   Text("/usr/include/"),     Text("/go/pkg/mod/"),
                                   Text("/.conan"),           Text("/vcpkg/"),
                                   Text("/site-packages/"),   Text("/node_modules/")};

template <typename Texts>
bool starts_with_any(std::string_view text, const Texts& starts) {
  return std::ranges::any_of(starts, [&](std::string_view s) { return text.starts_with(s); });
}

template <typename Texts>
bool contains_any(std::string_view text, const Texts& parts) {
  const auto is_in = [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  return std::ranges::any_of(parts, is_in);
}

bool is_same_word(std::string_view text, std::string_view lower_case) {
  return std::ranges::equal(text, lower_case, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

/// Whether `rest` is an allocation word, capitalised or not, and a suffix.
bool is_word_and_suffix(std::string_view rest) {
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    if (rest.size() < word.size() || !is_same_word(rest.substr(0, word.size()), word)) return false;
    return std::ranges::find(kSuffixes, rest.substr(word.size())) != kSuffixes.end();
  });
}

bool is_composed_wrapper(std::string_view name) {
  constexpr std::size_t kLongestWrapper = 40;
  if (name.size() > kLongestWrapper) return false;
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return name.starts_with(prefix) && is_word_and_suffix(name.substr(prefix.size()));
  });
}

/// "clang::Stmt::operator new(unsigned long, ...)".
bool is_operator_new_of_class(std::string_view name) {
  const std::size_t at = name.substr(0, name.find('(', 1)).find("::operator new");
  return at != std::string_view::npos;
}

/// "<u8 as alloc::slice::hack::ConvertVec>::to_vec": only the standard library implements its
/// traits for the language's own types, and those that it keeps to itself for any.
bool is_of_standard_trait(std::string_view name) {
  const std::size_t as = name.find(" as ");
  if (!name.starts_with('<') || as == std::string_view::npos) return false;
  const std::string_view type = name.substr(1, as - 1);
  const std::string_view trait = name.substr(as + 4);
  const bool is_primitive = std::ranges::find(kRustTypes, type) != kRustTypes.end();
  return starts_with_any(trait, kPrivateTraits) ||
         (is_primitive && starts_with_any(trait, kStandardCrates));
}

}  // namespace

bool is_address_name(std::string_view function) {
  const std::size_t plus = function.rfind('+');
  if (plus != std::string_view::npos) function.remove_prefix(plus + 1);
  return function.size() > 2 && function.starts_with("0x") &&
         function.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
}

std::string_view without_return_type(std::string_view name) {
  // Spaces within brackets belong to types.
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with("operator")) break;
    if (name[i] == '(' && depth == 0 && i > start) break;
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (name[i] == ' ' && depth == 0) start = i + 1;
  }
  return name.substr(start);
}

bool is_allocation_wrapper(std::string_view function) {
  if (is_operator_new_of_class(function)) return true;
  // Of C, or of C++ in no scope, with arguments; with the suffixes of clones.
  const std::string_view plain = function.substr(0, function.find_first_of("(. "));
  if (plain.find_first_of("<:") != std::string_view::npos) return false;
  return std::ranges::find(kWrappers, plain) != kWrappers.end() || is_composed_wrapper(plain);
}

bool is_of_standard_library(std::string_view function) {
  const std::string_view name = without_return_type(function);
  return starts_with_any(name, kStandardScopes) || starts_with_any(name, kContainers) ||
         is_of_standard_trait(function);
}

bool is_start_up(std::string_view function) {
  return std::ranges::find(kStarts, function) != kStarts.end();
}

bool is_dispatch(std::string_view function) {
  const bool is_known = std::ranges::find(kDispatchers, function) != kDispatchers.end();
  return is_known || starts_with_any(function, kDispatch);
}

bool is_standard_module(std::string_view path) {
  return starts_with_any(file_name_of(path), kStandardModules);
}

bool is_system_path(std::string_view path) { return starts_with_any(path, kSystemPaths); }

bool is_standard_source(std::string_view file) {
  return file.find("/include/c++/") != std::string_view::npos ||
         file.find("/c++/v1/") != std::string_view::npos || file.starts_with("/rustc/") ||
         file.find("/lib/rustlib/src/rust/library/") != std::string_view::npos ||
         (file.find("/rustc-") != std::string_view::npos &&
          file.find("/library/") != std::string_view::npos);
}

bool is_package_source(std::string_view file) { return contains_any(file, kPackagePaths); }

// What is plumbing of Python: its interpreter, its own library, installed packages.

namespace {

using base::file_name_of;
using std::string_view_literals::operator""sv;

/// Folders of installed packages; Python's own library is in lib/python3.11.
/// Where people type code.
constexpr std::array kPythonTyped{"<stdin>"sv,        "<console>"sv, "<input>"sv,
                                  "<ipython-input"sv, "<doctest "sv, "<pyshell"sv};

}  // namespace

bool is_python_module(std::string_view path) {
  const std::string_view file = file_name_of(path);
  return file.starts_with("python") || file.starts_with("libpython");
}

bool is_python_function(std::string_view function) {
  return function.starts_with("Py") || function.starts_with("_Py");
}

bool is_python_library(std::string_view path) {
  return !base::python_library_path_of(path).empty();
}

bool is_generated_python(std::string_view file) {
  const bool is_typed = std::ranges::any_of(
      kPythonTyped, [&](std::string_view start) { return file.starts_with(start); });
  const bool is_named_tuple = file.starts_with("namedtuple_") && !file.ends_with(".py");
  return (file.starts_with('<') && !is_typed) || is_named_tuple;
}

bool is_python_dispatch(std::string_view function, std::string_view file) {
  // What calls __init__ from 3.12 on, and our own module, which projects copy.
  return is_generated_python(file) || file == "__init__" || file_name_of(file) == "geiger.py" ||
         function.starts_with("__create_fn__.");
}

bool is_python_start_up(std::string_view function, std::string_view file) {
  const std::string_view name = file_name_of(file);
  if (name == "runpy.py" || file == "<frozen runpy>") return true;
  if (name == "threading.py" && is_python_library(file)) {
    return function.find("_bootstrap") != std::string_view::npos;
  }
  const std::string_view folder = file.substr(0, file.size() - name.size());
  return function == "<module>" && folder.ends_with("/bin/") &&
         name.find('.') == std::string_view::npos;
}

}  // namespace geiger::profile
