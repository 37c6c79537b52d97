#!/usr/bin/env python3
"""Counts what the interposer adds to each entry point, in executed instructions.

callgrind counts exactly, so the table is golden: any change fails this test until
the table is rewritten with

    instruction_table.py --update

and the commit says why.  Method: a loop over one entry point runs N times, and N times more
within counted_loop(), where callgrind counts, with an interval that nothing reaches; the
count divided by N is per call.  Columns: `entry`, what the loop's last entry point itself executes, from
the call to the jump into the original function or a checked call of it; `inside` (library),
all that the loop executes in the preload library; `over_bare`, the whole program
less the same program without the library: negative where operator new skips a
wrapper of libstdc++.  Landing pads (endbr64) are not counted in the first two.

The loops over CPython's small objects run in the machine's interpreter (hosts/python_loops.cc).
`entry` is the free, so `library` less `entry` is the malloc.  `over_bare` also has what Debian's
interpreter saves as long as its own functions are in place: built with a profile, it compares the
pointer and runs an inlined copy of pymalloc.
"""
import collections
import concurrent.futures
import functools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

import harness

TABLE = harness.ROOT / "tests" / "golden" / "instructions.txt"
COUNT = 20000
NEVER = 1 << 40  # an interval that no loop reaches

NOTHROW, ALIGNED = "RKSt9nothrow_t", "St11align_val_t"
# Loop of tests/hosts/loops.cc -> symbol of the entry point it is about.
SINGLES = {
    "malloc": "malloc", "calloc": "calloc", "realloc": "realloc", "reallocarray": "reallocarray",
    "posix_memalign": "posix_memalign", "aligned_alloc": "aligned_alloc", "memalign": "memalign",
    "valloc": "valloc", "pvalloc": "pvalloc",
    "new": "_Znwm", "new_nothrow": "_Znwm" + NOTHROW,
    "new_array": "_Znam", "new_array_nothrow": "_Znam" + NOTHROW,
    "new_aligned": "_Znwm" + ALIGNED, "new_aligned_nothrow": "_Znwm" + ALIGNED + NOTHROW,
    "new_array_aligned": "_Znam" + ALIGNED,
    "new_array_aligned_nothrow": "_Znam" + ALIGNED + NOTHROW,
}
PAIRS = {
    "malloc+free": "free", "malloc+realloc+free": "realloc",
    "new+delete": "_ZdlPv", "new+delete_sized": "_ZdlPvm", "new+delete_nothrow": "_ZdlPv" + NOTHROW,
    "new+delete_array": "_ZdaPv", "new+delete_array_sized": "_ZdaPvm",
    "new+delete_array_nothrow": "_ZdaPv" + NOTHROW,
    "new_aligned+delete_aligned": "_ZdlPv" + ALIGNED,
    "new_aligned+delete_aligned_sized": "_ZdlPvm" + ALIGNED,
    "new_aligned+delete_aligned_nothrow": "_ZdlPv" + ALIGNED + NOTHROW,
    "new_aligned+delete_array_aligned": "_ZdaPv" + ALIGNED,
    "new_aligned+delete_array_aligned_sized": "_ZdaPvm" + ALIGNED,
    "new_aligned+delete_array_aligned_nothrow": "_ZdaPv" + ALIGNED + NOTHROW,
}

# Loop of tests/hosts/python_loops.cc -> its arguments.
PYTHON = "/usr/bin/python3"
PYTHON_LOOPS = {
    "PyObject_Malloc+Free": ("PyObject", "malloc+free"),
    "PyObject_Calloc+Free": ("PyObject", "calloc+free"),
    "PyObject_Malloc+Realloc+Free": ("PyObject", "malloc+realloc+free"),
    "PyMem_Malloc+Free": ("PyMem", "malloc+free"),
}
DOMAINS = {"PyMem": 1, "PyObject": 2}
WALK = "geiger::capture::with_interpreted*"

Cost = collections.namedtuple("Cost", "functions total")
Row = collections.namedtuple("Row", "entry inside over_bare")


def parse(path):
    """Instructions by function of the preload library, and in all, from a callgrind file."""
    objects, names, functions, total = {}, {}, collections.Counter(), 0
    is_ours, function, is_call_cost = False, "", False
    with open(path) as file:
        for line in file:
            match = re.match(r"(c?ob|c?fn)=\((\d+)\)(?: (.*))?$", line)
            if match:
                table = objects if "ob" in match[1] else names
                name = table.setdefault(match[2], match[3])
                if match[1] == "ob":
                    is_ours = name.endswith("libgeiger-preload.so")
                elif match[1] == "fn":
                    function = name
            elif line.startswith("calls="):
                is_call_cost = True
            elif re.match(r"[+\-*\d]\S* \d+$", line):
                if not is_call_cost:
                    total += int(line.split()[1])
                    functions[function] += int(line.split()[1]) if is_ours else 0
                is_call_cost = False
    return Cost(functions, total)


def command_of(name, count):
    if name in PYTHON_LOOPS:
        return python_command(count, *PYTHON_LOOPS[name])
    return [harness.host("loops"), name, str(count), "counted"]


def python_command(count, domain, loop, depth=1):
    script = harness.ROOT / "tests" / "python" / "loops.py"
    return [PYTHON, "-S", script, harness.host("libpython_loops.so"), domain, loop, str(count),
            str(depth)]


def free_of(domain):
    inside = "geiger::interpose::(anonymous namespace)::"
    return f"void {inside}py_free<({inside}Domain){DOMAINS[domain]}>(void*, void*)"


def callgrind(name, is_bare=False, interval=NEVER, mode="", layout=1):
    with tempfile.TemporaryDirectory() as directory:
        output = os.path.join(directory, "callgrind.out")
        preloads = [] if is_bare else [harness.preload_library()]
        env = {"GEIGER_DIR": directory, "GEIGER_INTERVAL": str(interval), "GEIGER_SEED": "1",
               "GEIGER_CAPACITY": str(64 * harness.MIB), "GEIGER_MODE": mode, "LOOPS_LAYOUT": str(layout * 7919),
               "PYTHONHASHSEED": "1"}
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}",
                   "--toggle-collect=counted_loop", *command_of(name, COUNT)]
        subprocess.run(command, check=True, capture_output=True,
                       env=harness.environment(preloads, env))
        return parse(output)


@functools.lru_cache(None)  # What is counted is the same each time.
def per_call(name, is_bare=False, **options):
    """Instructions per iteration: by function of the library, and in the whole program."""
    cost = callgrind(name, is_bare, **options)
    return Cost({key: count / COUNT for key, count in cost.functions.items()}, cost.total / COUNT)


def landing_pads():
    """Entry points that begin with endbr64, which is not counted."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(harness.preload_library())],
                          check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"<(\w+)>:\n\s+[0-9a-f]+:\s+endbr64", text))


def row(symbol, ours, bare, pads):
    cost = {key: count - (key in pads) for key, count in ours.functions.items()}
    entry = next(count for key, count in cost.items() if demangles_to(key, symbol))
    return Row(entry, sum(cost.values()), ours.total - bare.total)


@functools.lru_cache(None)
def demangle(symbol):
    return subprocess.run(["c++filt", symbol], check=True, capture_output=True,
                          text=True).stdout.strip()


def demangles_to(name, symbol):
    """callgrind prints functions demangled, and numbers the parts of recursive ones."""
    return name.split("'")[0].replace(" ", "") == demangle(symbol).replace(" ", "")


FILTER_HITS = "filter hits, 4000 live samples"
FILTER_LAYOUTS = range(1, 9)


def filter_hits(pool):
    """What live samples add to a free: the mean over layouts of the heap, for in any one of them
    two addresses more or less that share a slot with a sample make a difference of 0.4."""
    none = per_call("free_none", interval=40000)
    live = pool.map(lambda layout: per_call("free_live", interval=40000, layout=layout),
                    FILTER_LAYOUTS)
    return statistics.fmean(sum(cost.functions.values()) for cost in live) - sum(
        none.functions.values())


def measure_entries():
    """Of C and C++'s entry points alone and without bare runs: loop -> (entry, inside), as in the table."""
    pads, symbols = landing_pads(), {**SINGLES, **PAIRS}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ours = dict(zip(symbols, pool.map(per_call, symbols)))
    return {name: row(symbol, ours[name], ours[name], pads)[:2] for name, symbol in symbols.items()}


def measure():
    """The table: loop -> Row; and what filter hits add to a free."""
    pads, symbols = landing_pads(), {**SINGLES, **PAIRS}
    symbols.update({name: free_of(domain) for name, (domain, _) in PYTHON_LOOPS.items()})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ours = dict(zip(symbols, pool.map(per_call, symbols)))
        bare = dict(zip(symbols, pool.map(lambda name: per_call(name, True), symbols)))
        hits = filter_hits(pool)
    table = {name: row(symbol, ours[name], bare[name], pads) for name, symbol in symbols.items()}
    table[FILTER_HITS] = Row(hits, hits, hits)
    return table


def python_walk(depth):
    """Of one sample, from the native frames to the merged stack: all code is known."""
    def walks(count):
        with tempfile.TemporaryDirectory() as directory:
            env = {"GEIGER_DIR": directory, "GEIGER_INTERVAL": "1", "GEIGER_SEED": "1",
                   "PYTHONHASHSEED": "1", "GEIGER_CAPACITY": str(harness.GIB)}
            done = subprocess.run(["valgrind", "--tool=callgrind", f"--toggle-collect={WALK}",
                                   f"--callgrind-out-file={directory}/out",
                                   *python_command(count, "PyObject", "malloc+free", depth)],
                                  check=True, capture_output=True, text=True,
                                  env=harness.environment([harness.preload_library()], env))
            return int(re.search(r"Collected : (\d+)", done.stderr)[1])
    return (walks(200) - walks(100)) / 200  # Each loop runs twice.


def format_table(table):
    """What filter hits add depends on where the allocator puts blocks: a limit, no golden. What a
    loop of CPython takes without the library differs by one from machine to machine."""
    lines = [" entry library over_bare  loop"]
    for name, counts in table.items():
        if name == FILTER_HITS:
            continue
        entry, inside, over_bare = (f"{round(count, 2) + 0.0:.2f}" for count in counts)
        if name.startswith("Py"):
            over_bare = "-"
        lines.append(f"{entry:>6} {inside:>7} {over_bare:>9}  {name}")
    return "\n".join(lines) + "\n"


class EntryPoints(unittest.TestCase):
    """The part of the table that every change must leave as it is."""

    def test_golden(self):
        harness.require("valgrind", "objdump")
        golden = {}
        for line in TABLE.read_text().splitlines()[1:]:
            entry, inside, _, name = line.split(maxsplit=3)
            golden[name] = (entry, inside)
        for name, counts in measure_entries().items():
            with self.subTest(name):
                self.assertEqual(tuple(f"{round(count, 2) + 0.0:.2f}" for count in counts), golden[name])


class InstructionTable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.require("valgrind", "objdump", PYTHON)
        cls.table = measure()

    def test_golden(self):
        self.assertEqual(format_table(self.table), TABLE.read_text(),
                         "if meant: tests/instruction_table.py --update, and say why")

    def test_sleeping_costs_the_same(self):
        for name in ("malloc", "malloc+free", "new+delete_sized"):
            # What runs once at the start may differ by the digits of a process id.
            asleep, awake = ({function: round(count, 2) for function, count in cost.functions.items()
                              if round(count, 2)}
                             for cost in (per_call(name, mode="dormant"), per_call(name)))
            self.assertEqual(asleep, awake, name)

    def test_limits(self):
        for name in ("malloc", "new", "new_nothrow", "new_array", "new_aligned"):
            self.assertLessEqual(self.table[name].entry, 5, name)
        hits = self.table[FILTER_HITS].inside
        for name in PAIRS:
            if name != "malloc+realloc+free":
                self.assertLessEqual(self.table[name].entry, 7, name)
                self.assertLessEqual(self.table[name].entry + hits, 9, name)
        self.assertLessEqual(self.table["new+delete_sized"].over_bare, 0)

    def test_limits_of_small_objects(self):
        for name in ("PyObject_Malloc+Free", "PyMem_Malloc+Free"):
            row = self.table[name]
            self.assertTrue(6 <= row.entry <= 7, (name, row))
            self.assertTrue(6 <= row.inside - row.entry <= 8, (name, row))

    def test_limits_of_walks_through_python(self):
        """The fewest are there to see that walks were counted at all."""
        for depth, least, most in ((2, 300, 1000), (50, 2500, 6000)):
            count = python_walk(depth)
            print(f"walk of {depth} Python frames: {count:.0f} instructions")
            self.assertTrue(least <= count <= most, (depth, count))


if __name__ == "__main__":
    if "--update" in sys.argv:
        TABLE.write_text(format_table(measure()))
    else:
        unittest.main()
