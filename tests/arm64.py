#!/usr/bin/env python3
"""AArch64: cross build, unit tests, walks in real programs and the fast paths, under qemu-user.

Usage: arm64.py [--update] [unittest arguments]

tools/arm64_root.py fetches the compiler and the programs; build/arm64 is built as the
preset `arm64` builds it; both lie in the tested build if the sources are read-only. Exit code 77, and the
reason, where the network, qemu-user or the tools are missing. Emulated are instructions and signals, also those of pointer authentication. Not: the order
of memory, costs, ptrace; so nothing of those is tested here.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import harness
import instruction_table
import unwind_compare

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PLACE = SOURCE / "build" if os.access(SOURCE, os.W_OK) else pathlib.Path(os.environ["GEIGER_BUILD_DIR"])
BUILD = PLACE / "arm64"
ROOT = PLACE / "arm64-root"
TABLE = SOURCE / "tests" / "golden" / "instructions_aarch64.txt"
SKIPPED = 77

MIN_WALKS = 100_000
LIMITS = {"malloc": 11, "free": 8, "_Znwm": 11, "_ZdlPv": 8}

# Program: tests that the emulator cannot run, or that have no place here.
UNITS = {
    "base_test": [], "trace_reader_test": [], "rendezvous_test": [], "sampling_test": [],
    # No seccomp filters; no second mapping of the same pages by mremap.
    "trace_writer_test": ["WriterRefusals.*", "WriterTest.DoublesItsMappingUnderWriters"],
    "unwind_cfi_test": [], "unwind_frames_test": [], "unwind_test": [],
    # The emulator maps the next library elsewhere.
    "unwind_loaded_test": ["LoadedModules.AreToldApartAtTheSameAddress",
                           "LoadedModules.HaveFreshRulesWithoutBuildId",
                           # glibc's table is wrong there: docs/internals/aarch64.md.
                           "LoadedModules.LetWalksPassTheLazyBindingTrampoline"],
    # Millions of entries and the memory that they take: half of all time, and nothing of the processor.
    "capture_tables_test": ["LiveTable.HoldsAMillionAndDrains",
                            "LiveTable.TakesNoMoreForEntriesThatReplaceEachOther",
                            "LiveTable.GivesItsPagesBackWhenItEmptiesAndTakesThemAgain"],
    "capture_filter_test": [], "capture_names_test": [],
    "probes_test": [], "guard_test": [],
    # No process_vm_readv.
    "python_test": ["Walk.LeavesHandlersBeforeTheFirstRun", "Walk.TheFirstWalksAreChecked",
                    "Walk.OneFrameAloneFollowsNoLink"],
    # MADV_WIPEONFORK has no effect: a child takes itself for its parent.
    "api_test": ["AllocatedBytes.OfAForksChildBeginAt0", "Fork.*"],
}

PYTHON_PROGRAM = """\
import json, random
random.seed(1)
rows = [{f"k{i}": [random.random() for _ in range(20)], "s": "x" * random.randint(1, 99)}
        for i in range(40)]
for _ in range(3):
    rows = json.loads(json.dumps(rows))
"""
PERL_PROGRAM = """\
my %words;
for my $i (1 .. 6000) {
  my $word = join "", map { chr(97 + ($i * $_) % 26) } 1 .. 8;
  $words{"$word$i"} = [split //, $word];
}
print scalar(keys %words), "\\n";
"""
SQL_PROGRAM = """\
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT INTO t SELECT i, hex(randomblob(20)), i / 7.0 FROM n;
CREATE INDEX x ON t(b);
SELECT count(*), group_concat(substr(b, 1, 3)) FROM t GROUP BY a % 50 ORDER BY max(c);
SELECT json_group_array(json_object('a', a, 'b', b)) FROM t WHERE a < 2000;
"""
# Program: (mean mallocs between comparisons, command behind its path)
PROGRAMS = {
    "python3": (10, ["program.py"]),
    "perl": (8, ["program.pl"]),
    "sqlite3": (2, [":memory:", ".read program.sql"]),
    "git": (3, ["diff", "--no-index", "--word-diff", "--stat", "-p", "one", "two"]),
    # Of C++, over operator new.
    "ninja": (4, ["-n", "-v", "-f", "program.ninja"]),
}


def emulator(root):
    """Signing by the emulator's own function: by the architecture's it takes ten times as long."""
    return ["qemu-aarch64", "-cpu", "max,pauth-impdef=on", "-L", str(root)]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)


def fetch(*groups):
    """Returns why it cannot, if so."""
    missing = [name for name in ("qemu-aarch64", "cmake", "ninja") if not shutil.which(name)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    fetched = run(sys.executable, SOURCE / "tools" / "arm64_root.py", ROOT, *groups)
    return fetched.stdout.strip() if fetched.returncode != 0 else None


def prepare(*targets):
    """Fetches, and builds `targets`. Returns why it cannot, if so."""
    reason = fetch()
    if reason:
        return reason
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    configured = run("cmake", "--preset", "arm64", "-B", BUILD, f"-DGEIGER_ARM64_ROOT={ROOT}", *launcher,
                     cwd=SOURCE)
    if configured.returncode != 0:
        sys.exit(configured.stdout)
    built = run("cmake", "--build", BUILD, "--target", *targets)
    if built.returncode != 0:
        sys.exit(built.stdout[-5000:])
    return None


def compare(library, root, name, folder):
    """Counts of walks in one program."""
    every, arguments = PROGRAMS[name]
    prefix = os.path.join(folder, f"{root.name}-{name}")
    variables = {"LD_PRELOAD": library, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1",
                 "GEIGER_COMPARE_OUTPUT": prefix, "GEIGER_COMPARE_EVERY": every}
    # The root's own modules: perl's and python's default folders are not below it.
    options = [option for key, value in variables.items() for option in ("-E", f"{key}={value}")]
    done = subprocess.run([*emulator(root), *options, root / "usr" / "bin" / name, *arguments],
                          cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False)
    if done.returncode not in (0, 1):  # git tells differences by 1
        raise AssertionError(f"{name}: {done.returncode} {done.stderr[-500:]}")
    return unwind_compare.read_counts(prefix, name)


def write_inputs(folder):
    folder = pathlib.Path(folder)
    (folder / "program.py").write_text(PYTHON_PROGRAM)
    (folder / "program.pl").write_text(PERL_PROGRAM)
    (folder / "program.sql").write_text(SQL_PROGRAM)
    # No chain is longer than 20: walks end at 255 frames.
    edges = (f"build o{i}: copy {f'o{i + 1}' if i % 20 else 'program.py'}\n" for i in range(2000))
    (folder / "program.ninja").write_text("rule copy\n  command = cp $in $out\n" + "".join(edges))
    for name, step in (("one", 3), ("two", 5)):
        (folder / name).mkdir()
        for i in range(60):
            lines = (f"line {j} of {i} is {j * i % step}\n" for j in range(200))
            (folder / name / f"file{i}").write_text("".join(lines))


class Units(unittest.TestCase):
    def test_pass(self):
        for name, excluded in UNITS.items():
            with self.subTest(name):
                done = run(*emulator(ROOT / "bookworm"), BUILD / "bin" / name,
                           "--gtest_filter=-" + ":".join(excluded), timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout[-1000:])
                print(f"{name}: " + re.search(r"(\d+) tests? from .* ran", done.stdout)[0])


class Walks(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        write_inputs(self.folder)

    def test_one_program(self):
        total, examples = compare(self.compile(SOURCE), ROOT / "bookworm", "sqlite3", self.folder)
        self.assertGreater(total["compared"], 1000)
        self.assertEqual((total["different"], total["truncated"]), (0, 0), examples[:40])

    def test_equal_libgccs(self):
        """Of Debian 12, and of Debian 13, which signs return addresses."""
        walks = 0
        for suite in ("bookworm", "trixie"):
            for name in PROGRAMS:
                total, examples = compare(BUILD / "lib" / "libgeiger_unwind_compare.so",
                                          ROOT / suite, name, self.folder)
                print(f"{suite} {name}: {total}")
                self.assertGreater(total["compared"], 1000, name)
                for count in ("different", "truncated", "unstable"):
                    self.assertEqual(total[count], 0, "\n".join([name, *examples[:40]]))
                walks += total["compared"]
        print(f"{walks} walks")
        self.assertGreaterEqual(walks, MIN_WALKS)

    def compile(self, source, *flags):
        """The library that compares walks, from the tree `source`."""
        rooms = ["base", "runtime/unwind", "runtime/unwind/aarch64"]
        sources = [path for room in rooms for path in (source / "src" / room).glob("*.cc")
                   if not path.name.endswith("_test.cc")]
        library = pathlib.Path(self.folder, "compare.so")
        done = run(ROOT / "bin/aarch64-linux-gnu-g++", f"--sysroot={ROOT}/bookworm", "-std=c++20",
                   "-O2", "-fPIC", "-shared", "-fno-exceptions", "-fvisibility=hidden",
                   "-DGEIGER_IN_RUNTIME", "-I", source / "src", "-I", SOURCE / "include", *flags,
                   source / "tests/unwind_hosts/compare.cc", *sources, "-o", library)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        return library

    def test_equal_libgccs_where_our_own_code_signs(self):
        library = self.compile(SOURCE, "-mbranch-protection=standard")
        total, examples = compare(library, ROOT / "trixie", "sqlite3", self.folder)
        print(f"signed ourselves: {total}")
        self.assertGreater(total["compared"], 1000)
        self.assertEqual((total["different"], total["truncated"]), (0, 0), examples[:40])

    def test_mutation_is_seen(self):
        """Return addresses with their signatures."""
        copy = pathlib.Path(self.folder, "copy")
        shutil.copytree(SOURCE / "src", copy / "src")
        shutil.copytree(SOURCE / "tests" / "unwind_hosts", copy / "tests" / "unwind_hosts")
        header = copy / "src/runtime/unwind/aarch64/machine.h"
        right = "return address & ((std::uint64_t{1} << 48) - 1);"
        self.assertIn(right, header.read_text())
        header.write_text(header.read_text().replace(right, "return address;"))
        total, _ = compare(self.compile(copy), ROOT / "trixie", "sqlite3", self.folder)
        print(f"without stripping: {total}")
        self.assertGreater(total["different"], total["compared"] / 2)


class CoreFiles(unittest.TestCase):
    """What `geiger holders --core` here says of a core file from there, of tests/hosts/holders.cc."""

    def test_blocks_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            program, core = pathlib.Path(folder, "holders"), pathlib.Path(folder, "core")
            done = run(ROOT / "bin/aarch64-linux-gnu-g++", f"--sysroot={ROOT}/bookworm", "-std=c++20", "-O1", "-g",
                       SOURCE / "tests/hosts/holders.cc", "-o", program)
            self.assertEqual(done.returncode, 0, done.stdout[-3000:])
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            with subprocess.Popen([*emulator(ROOT / "bookworm"), program], stdout=subprocess.PIPE, cwd=folder,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited)) as host:
                self.assertEqual(host.stdout.readline(), b"ready\n")
                files = self.files_of(host.pid)
                host.send_signal(signal.SIGABRT)
            written, = pathlib.Path(folder).glob("qemu_*.core")
            core.write_bytes(self.with_files(bytearray(written.read_bytes()), files))
            done = subprocess.run([harness.BUILD / "bin" / "geiger", "holders", "--json", "--core", core],
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            parts = {part.get("root", part["hold"]): part for part in json.loads(done.stdout)["parts"]}
            self.assertEqual(parts["unreferenced"]["blocks"], 50 * 4 + 1)
            self.assertEqual(parts["unreachable"]["blocks"], 50 * 4 - 1)
            self.assertEqual(parts["g_high[*]"]["blocks"], 50)  # With tags in the highest bits.
            self.assertEqual(parts["g_pointer[*]"]["alone_bytes"], 50 * 64)

    @staticmethod
    def files_of(pid):
        """Start, end, offset and path; the program's addresses are those of the emulator, whose own are higher."""
        found = []
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split(None, 5)
            start, end = (int(place, 16) for place in fields[0].split("-"))
            if len(fields) == 6 and fields[5].startswith("/") and end < 1 << 40:
                found.append((start, end, int(fields[2], 16), fields[5]))
        return found

    @staticmethod
    def with_files(core, files):
        """The emulator does not write which files are mapped (NT_FILE), as the kernel does."""
        text = struct.pack("<QQ", len(files), 1)
        text += b"".join(struct.pack("<QQQ", *file[:3]) for file in files)
        text += b"".join(file[3].encode() + b"\0" for file in files)
        added = struct.pack("<III", 5, len(text), 0x46494c45) + b"CORE".ljust(8, b"\0") + text + bytes(-len(text) % 4)
        first, = struct.unpack_from("<Q", core, 32)
        count, = struct.unpack_from("<H", core, 56)
        for at in range(first, first + 56 * count, 56):
            kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", core, at)
            if kind == 4:
                notes = core[offset:offset + size] + bytes(-size % 4) + added
                struct.pack_into("<Q", core, at + 8, len(core))
                struct.pack_into("<Q", core, at + 32, len(notes))
                core += notes
        return core


def fast_paths():
    """Instructions of each entry point up to the jump to the original, where nothing is sampled:
    no branch before it is taken, so they stand in a row. Landing pads are not counted."""
    library = next(BUILD.glob("lib/geiger/lib/*/libgeiger-preload.so"))
    text = run(ROOT / "bin/aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", library).stdout
    table = {}
    for symbol in sorted({*instruction_table.SINGLES.values(), *instruction_table.PAIRS.values()}):
        code = re.search(rf"<{symbol}>:\n((?:\s+[0-9a-f]+:.*\n)+)", text)[1]
        names = [line.split("\t")[1] for line in code.splitlines()]
        path = names[:names.index("br") + 1]
        jumps = [name for name in path[:-1] if name in ("b", "bl", "blr", "ret")]
        if jumps:
            raise AssertionError(f"{symbol}: {' '.join(path)}")
        table[symbol] = len(path) - path.count("bti")
    return table


def format_table(table):
    return "".join(f"{count:4}  {symbol}\n" for symbol, count in table.items())


class FastPaths(unittest.TestCase):
    def test_golden(self):
        self.assertEqual(format_table(fast_paths()), TABLE.read_text(),
                         "if meant: tests/arm64.py --update, and say why")

    def test_limits(self):
        table = fast_paths()
        for symbol, limit in LIMITS.items():
            self.assertLessEqual(table[symbol], limit, symbol)


if __name__ == "__main__":
    if harness.IS_SMALL:
        REASON = fetch("compiler", "walk")
    else:
        REASON = prepare("geiger_preload", "geiger_shared", "geiger_unwind_compare", *UNITS)
    if REASON:
        print(f"skipped: {REASON}")
        sys.exit(SKIPPED)
    if "--update" in sys.argv:
        TABLE.write_text(format_table(fast_paths()))
        sys.exit()
    unittest.main()
