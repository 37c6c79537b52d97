#!/usr/bin/env python3
"""The lock-free parts of the runtime under the C++ memory model: every order of threads, and every
value that a load may return, up to the bounds in tests/memory_order/explorer.h.

The product's own sources are compiled with modelled atomics. Then each order that is needed is
weakened, one at a time, which a scenario must detect: an order that none needs is a line too many,
or a scenario too few.

    memory_order.py [COMPILER]     the models, then all mutations
    memory_order.py --list         their names
"""
import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "memory_order"
FLAGS = ["-std=c++20", "-O1", "-w", "-DGEIGER_IN_RUNTIME"]
SECONDS = 300  # of processor time

LIVE_TABLE = "runtime/capture/tables/live_table.cc"
LIVE_TABLE_HEADER = "runtime/capture/tables/live_table.h"
FILTER = "runtime/capture/tables/filter.cc"
FILTER_HEADER = "runtime/capture/tables/filter.h"
WRITER = "trace/writer.cc"
WRITER_HEADER = "trace/writer.h"
PROGRAMS = {
    "tables": ("tables_model.cc", [LIVE_TABLE, FILTER]),
    "writer": ("writer_model.cc", [WRITER]),
}
# A bucket of five slots, of which three may be taken: as many entries as threads can be followed with.
SMALLER = [(LIVE_TABLE, "kFirstBuckets = 128", "kFirstBuckets = 1"),
           (LIVE_TABLE, "kLeastGrown = 1024", "kLeastGrown = 2"),
           (LIVE_TABLE_HEADER, "kSlots = 7", "kSlots = 5")]

Mutation = collections.namedtuple("Mutation", "name program file text replacement")


def weaker(name, program, file, text, order="relaxed"):
    """`text` occurs once; its first order becomes `order`."""
    head, _, tail = text.partition("memory_order_")
    rest = tail.lstrip("abcdefghijklmnopqrstuvwxyz_")
    return Mutation(name, program, file, text, f"{head}memory_order_{order}{rest}")


MUTATIONS = [
    weaker("take frees a slot", "tables", LIVE_TABLE,
           "bucket.addresses[slot].store(0, std::memory_order_release)"),
    weaker("remove_if frees a slot", "tables", LIVE_TABLE,
           "addresses.compare_exchange_strong(seen, 0, std::memory_order_release"),
    weaker("a visit loads the value", "tables", LIVE_TABLE,
           "bucket.values[slot].load(std::memory_order_acquire);\n  for"),
    weaker("a visit loads the address", "tables", LIVE_TABLE,
           "address = bucket.addresses[slot].load(std::memory_order_acquire)"),
    weaker("a visit loads the value again", "tables", LIVE_TABLE,
           "after = bucket.values[slot].load(std::memory_order_acquire)"),
    weaker("an insertion stores the value", "tables", LIVE_TABLE,
           "bucket.values[i].store(value, std::memory_order_release)"),
    weaker("take loads the value", "tables", LIVE_TABLE,
           "bucket.values[slot].load(std::memory_order_acquire);\n    // remove_entry()"),
    weaker("an insertion counts", "tables", LIVE_TABLE,
           "size_.fetch_add(1, std::memory_order_seq_cst)", "release"),
    weaker("a visit asks for the count", "tables", LIVE_TABLE_HEADER,
           "size_.load(std::memory_order_seq_cst)", "acquire"),
    weaker("an insertion looks for a growth", "tables", FILTER,
           "next = next_.load(std::memory_order_seq_cst)", "acquire"),
    weaker("a growth is announced", "tables", FILTER,
           "compare_exchange_weak(seen, next, std::memory_order_seq_cst)", "acq_rel"),
    weaker("a growth is done", "tables", FILTER_HEADER,
           "compare_exchange_strong(mask, next, std::memory_order_release"),
    weaker("a free loads the mask", "tables", FILTER_HEADER,
           "const std::size_t mask = mask_.load(std::memory_order_acquire)"),
    weaker("a record is committed", "writer", WRITER_HEADER,
           "store(header, std::memory_order_release)"),
    weaker("space is reserved", "writer", WRITER, "fetch_add(bytes, std::memory_order_seq_cst)",
           "acq_rel"),
    weaker("a reservation looks at the limit", "writer", WRITER,
           "end <= limit_.load(std::memory_order_seq_cst)", "acquire"),
    weaker("the limit is taken away", "writer", WRITER,
           "limit_.exchange(0, std::memory_order_seq_cst)", "acq_rel"),
    weaker("the cut looks at the tail", "writer", WRITER,
           "header_->tail.load(std::memory_order_seq_cst)", "acquire"),
]


def replace(source, file, text, replacement):
    path = source / file
    before = path.read_text()
    if before.count(text) != 1:
        sys.exit(f"{file}: {before.count(text)} times: {text}")
    path.write_text(before.replace(text, replacement))


class Models:
    def __init__(self, compiler, folder):
        self.compiler = compiler
        self.folder = pathlib.Path(folder)
        self.explorer = self.folder / "explorer.o"
        self.compile("-O2", "-c", MODELS / "explorer.cc", "-o", self.explorer)

    def compile(self, *arguments):
        command = [self.compiler, *FLAGS, "-I", MODELS, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr[-4000:])

    def run(self, name, program, change=None):
        """Whether all scenarios pass, and what was printed."""
        source = self.folder / name.replace(" ", "-")
        model, files = PROGRAMS[program]
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("*_test.cc"))
        for file, text, replacement in SMALLER:
            replace(source, file, text, replacement)
        if change:
            replace(source, *change)
        binary = source / "model"
        self.compile("-include", MODELS / "atomics.h", "-I", source, "-I", ROOT / "include",
                     MODELS / model, *(source / file for file in files),
                     self.explorer, "-o", binary)
        limit = f"ulimit -t {SECONDS}; exec {binary}"
        done = subprocess.run(["sh", "-c", limit], capture_output=True, text=True, check=False)
        shutil.rmtree(source)
        if done.returncode not in (0, 1):
            sys.exit(f"{name}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        return done.returncode == 0, done.stdout


def main(compiler):
    jobs = min(4, os.cpu_count() or 1)
    survivors = []
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        models = Models(compiler, folder)
        for passes, text in pool.map(lambda name: models.run(name, name), PROGRAMS):
            print(text, end="", flush=True)
            if not passes:
                return 1
        def run(mutation):
            return models.run(mutation.name, mutation.program,
                              (mutation.file, mutation.text, mutation.replacement))
        for mutation, (passes, text) in zip(MUTATIONS, pool.map(run, MUTATIONS)):
            print(f"{mutation.name}: {'SURVIVES' if passes else text.splitlines()[-1]}", flush=True)
            survivors += [mutation.name] if passes else []
    return 1 if survivors else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(mutation.name for mutation in MUTATIONS))
        sys.exit()
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "g++"))
