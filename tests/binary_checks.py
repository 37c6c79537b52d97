#!/usr/bin/env python3
"""What the libraries that are preloaded may need, export and contain, read from their ELF files.

Each property guards against a class of failures in programs that are not ours:
a dependency or a stdio call can recurse into malloc, lazily allocated TLS can
deadlock, an export too many replaces somebody's function.

    binary_checks.py --update      rewrites tests/golden/exports.txt and heap_exports.txt
"""
import re
import subprocess
import sys
import unittest

import harness

GOLDEN = harness.ROOT / "tests" / "golden"
MAY_NEED = {"libc.so.6"}
# Undefined symbols that would lock, allocate, or call back into the loader.
BANNED = re.compile(r"^(v?f?printf|v?s?n?printf|f?puts|fputc|putchar|fopen|fclose|fwrite|fread|"
                    r"fflush|setvbuf|stdout|stderr|stdin|perror|__.*printf_chk|pthread_key.*|"
                    r"pthread_[gs]etspecific|tss_.*|dlsym|dlopen|dlclose|dladdr|dlvsym|"
                    r"dl_iterate_phdr|__tls_get_addr|pthread_getattr_np|__cxa_(?!finalize$).*|_Unwind_.*|"
                    r"backtrace|localtime.*|gettext|strerror|setlocale)$")
C_ENTRY_POINTS = {"malloc", "free", "calloc", "realloc", "reallocarray", "memalign",
                  "posix_memalign", "aligned_alloc", "valloc", "pvalloc", "free_sized",
                  "free_aligned_sized", "malloc_usable_size"}
MAPPING_ENTRY_POINTS = {"mmap", "mmap64", "munmap", "mremap", "mprotect", "sbrk", "brk"}
NOTHROW, ALIGNED = "RKSt9nothrow_t", "St11align_val_t"
NEW = {f"_Zn{a}m{b}" for a in "wa" for b in ("", NOTHROW, ALIGNED, ALIGNED + NOTHROW)}
DELETE = {f"_Zd{a}Pv{b}" for a in "la" for b in ("", "m", NOTHROW, ALIGNED, "m" + ALIGNED,
                                                 ALIGNED + NOTHROW)}
NEVER_EXPORTED = {"mallinfo", "mallinfo2", "malloc_trim", "malloc_info",
                  "malloc_stats", "mallopt", "dlopen", "dlclose", "close", "fork"}


class Checks:
    """Of one library. For a unittest.TestCase, which has binary(), golden, banned and
    newest_glibc."""

    @classmethod
    def tool(cls, *arguments):
        return subprocess.run([*arguments, str(cls.binary())], check=True, capture_output=True,
                              text=True).stdout

    @classmethod
    def dynamic_symbols(cls):
        """(name, version or '', is defined) of every global dynamic symbol."""
        result = []
        for line in cls.tool("readelf", "--dyn-syms", "--wide").splitlines():
            fields = line.split()
            if len(fields) < 8 or fields[4] not in ("GLOBAL", "WEAK"):
                continue
            name, _, version = fields[7].replace("@@", "@").partition("@")
            result.append((name, version, fields[6] != "UND"))
        return result

    @classmethod
    def exports(cls):
        return sorted(name for name, _, is_defined in cls.dynamic_symbols() if is_defined)

    @classmethod
    def update(cls):
        cls.golden.write_text("\n".join(cls.exports()) + "\n")

    def test_needed(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", self.tool("readelf", "-d")))
        self.assertLessEqual(needed, MAY_NEED)

    def test_exports_are_the_list(self):
        self.assertEqual(self.exports(), self.golden.read_text().split(),
                         "if meant: tests/binary_checks.py --update, and say why in the commit")

    def test_thread_local_storage(self):
        sizes = [int(line.split()[5], 16) for line in self.tool("readelf", "-l", "--wide").splitlines()
                 if line.split()[:1] == ["TLS"]]
        self.assertLessEqual(sum(sizes), 64)
        for kind in ("DTPMOD", "DTPOFF", "TLSDESC"):
            self.assertNotIn(kind, self.tool("readelf", "-r", "--wide"))

    def test_undefined_symbols(self):
        undefined = [name for name, _, is_defined in self.dynamic_symbols() if not is_defined]
        self.assertEqual([name for name in undefined if self.banned.match(name)], [])

    def test_glibc_versions(self):
        for name, version, is_defined in self.dynamic_symbols():
            match = re.match(r"GLIBC_(\d+)\.(\d+)", version)
            if match and not is_defined and name != "_dl_find_object":
                self.assertLessEqual(tuple(map(int, match.groups())), self.newest_glibc, name)

    def test_required_versions(self):
        """The loader refuses the library where a version it needs is missing, weak or not."""
        needs = self.tool("readelf", "-V", "--wide").split(".gnu.version_r")[-1]
        for line in needs.splitlines():
            match = re.search(r"Name: GLIBC_(\d+)\.(\d+)\S*\s+Flags: (\S+)", line)
            if match and match[3] != "WEAK":
                self.assertLessEqual((int(match[1]), int(match[2])), self.newest_glibc,
                                     line.strip())

    def test_flags(self):
        dynamic = self.tool("readelf", "-d")
        self.assertRegex(dynamic, r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW")
        self.assertRegex(dynamic, r"\(FLAGS_1\).*NODELETE")
        self.assertNotIn("TEXTREL", dynamic)
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)")

    def test_segments(self):
        for line in self.tool("readelf", "-l", "--wide").splitlines():
            fields = line.split()
            if fields[:1] in (["LOAD"], ["GNU_STACK"]):
                flags = "".join(fields[6:-1])
                self.assertFalse("W" in flags and "E" in flags, line)


class PreloadLibrary(Checks, unittest.TestCase):
    newest_glibc = (2, 17)
    binary = staticmethod(harness.preload_library)
    golden = GOLDEN / "exports.txt"
    banned = BANNED

    def test_every_entry_point_is_exported(self):
        self.assertEqual(len(NEW), 8)
        self.assertEqual(len(DELETE), 12)
        self.assertLessEqual(C_ENTRY_POINTS | MAPPING_ENTRY_POINTS | NEW | DELETE,
                             set(self.exports()))

    def test_nothing_else_is_taken_over(self):
        self.assertFalse(NEVER_EXPORTED & set(self.exports()))

    def test_dl_find_object_is_weak(self):
        for line in self.tool("readelf", "--dyn-syms", "--wide").splitlines():
            if "_dl_find_object" in line:
                self.assertIn("WEAK", line)

    def test_nothing_runs_at_load_or_exit(self):
        sections = self.tool("readelf", "-S", "--wide")
        for name in (".ctors", ".dtors"):
            self.assertNotIn(name, sections)


class AllocatorLibrary(Checks, unittest.TestCase):
    newest_glibc = (2, 34)  # Of the system that it is built on: pthread_key_create.
    binary = staticmethod(harness.allocator_library)
    golden = GOLDEN / "heap_exports.txt"
    # Its key is how it learns of ends of threads.
    banned = re.compile(BANNED.pattern.replace("pthread_key.*|pthread_[gs]etspecific|", ""))

    def test_every_entry_point_is_exported(self):
        self.assertLessEqual(C_ENTRY_POINTS, set(self.exports()))


if __name__ == "__main__":
    if "--update" in sys.argv:
        for checks in (PreloadLibrary, AllocatorLibrary):
            checks.update()
    else:
        unittest.main()
