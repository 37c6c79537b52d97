#!/usr/bin/env python3
"""Foreign suites and programs give the same result under geiger as bare.

    suites.py run [PATTERN...]    runs what has no result yet; exit code 1 if any differs
    suites.py table               what is known so far, as Markdown
    suites.py list

Each suite runs bare, under `geiger run --interval 512KiB` and under 4KiB. --guard guards every
sample of those runs (`geiger run --guard=1`); then a suite also differs if geiger reports a
fault. The outcomes of its tests are compared, never their duration. Results are kept in BUILD/suites/results, one file per
suite, after every single run, so that a run can be stopped and taken up again; they count for
the build of geiger that they were made with (bare ones for any). --again forgets them first.

A test that differs is run again, twice at most on either side. It *differs* if geiger ever
gave an outcome that no bare run gave; it is *unsteady* if bare runs disagree among
themselves, which the table then says.

GEIGER_BUILD_DIR names the build (default: build/ of this checkout).
"""
import argparse
import fcntl
import fnmatch
import functools
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time

import cpython
import identical
import redis
import servers
import stress
from conditions import BARE, GEIGER, GUARDED, INTERVALS, NotHere, Surroundings, harness

ROUNDS = 3
KEPT = harness.BUILD / "suites"
SUITES = [suite for module in (identical, servers, stress, redis, cpython)
          for suite in module.SUITES]


@functools.cache
def key_of(mode):
    """What a result depends on besides the suite: nothing, or this build of geiger."""
    if mode == BARE:
        return BARE
    content = harness.preload_library().read_bytes() + GEIGER.read_bytes()
    return hashlib.sha256(content).hexdigest()[:16]


class Results:
    """The runs of one suite: for each mode a list of {outcomes, recorded, seconds}."""

    def __init__(self, suite, modes):
        self.modes = modes
        name = "".join(c if c.isalnum() or c in "-." else "_" for c in suite.name)
        self.path = KEPT / "results" / f"{name}.json"
        self.runs = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, mode):
        kept = self.runs.get(mode)
        return kept["runs"] if kept and kept["key"] == key_of(mode) else []

    def add(self, mode, run):
        self.runs[mode] = {"key": key_of(mode), "runs": [*self.of(mode), run]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.runs, indent=1))

    def seen(self, mode, test):
        return {run["outcomes"].get(test, "absent") for run in self.of(mode)}

    def tests(self):
        return sorted({test for mode in (BARE, *self.modes) for run in self.of(mode)
                       for test in run["outcomes"]})

    def differing(self, mode):
        return [test for test in self.tests() if self.seen(mode, test) - self.seen(BARE, test)]

    def faults(self, mode):
        return sorted({fault for run in self.of(mode) for fault in run["recorded"]["faults"]})

    def unsteady(self):
        return [test for test in self.tests() if len(self.seen(BARE, test)) > 1]

    def is_complete(self):
        return all(self.of(mode) for mode in (BARE, *self.modes))


def run_once(suite, mode):
    """A run in an empty directory of the same name each time."""
    directory = KEPT / "work"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    traces = tempfile.mkdtemp(prefix="geiger-suites-")
    try:
        surroundings = Surroundings(mode, directory, traces)
        began = time.monotonic()
        outcomes = suite.run(surroundings)
        seconds = time.monotonic() - began
        return {"outcomes": outcomes, "seconds": round(seconds, 1),
                "recorded": vars(surroundings.read_traces())}
    finally:
        shutil.rmtree(traces, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)


def examine(suite, results):
    """Completes the results of one suite; the tests that differ, by mode."""
    for mode in (BARE, *results.modes):
        if not results.of(mode):
            results.add(mode, run_once(suite, mode))
    for mode in results.modes:
        while results.differing(mode) and len(results.of(BARE)) < ROUNDS:
            results.add(BARE, run_once(suite, BARE))
        while results.differing(mode) and len(results.of(mode)) < ROUNDS:
            results.add(mode, run_once(suite, mode))
    return {mode: results.differing(mode) for mode in results.modes if results.differing(mode)}


def chosen(patterns):
    return [suite for suite in SUITES
            if not patterns or any(fnmatch.fnmatch(suite.name, p) for p in patterns)]


def modes_of(is_guarded):
    return tuple(interval + GUARDED if is_guarded else interval for interval in INTERVALS)


def run(patterns, modes, is_again):
    KEPT.mkdir(parents=True, exist_ok=True)
    failed = False
    with open(KEPT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for suite in chosen(patterns):
            results = Results(suite, modes)
            if is_again:
                results.runs = {}
            try:
                differing = examine(suite, results)
            except NotHere as missing:
                print(f"not here  {suite.name}: {missing} (needs: {suite.needs})", flush=True)
                continue
            except (OSError, subprocess.SubprocessError) as error:  # of what prepares it, bare
                print(f"no result {suite.name}: {error}", flush=True)
                failed = True
                continue
            differs = bool(differing) or any(map(results.faults, modes))
            failed |= differs
            print(f"{'DIFFERS' if differs else 'same':9} {suite.name}"
                  f" ({len(results.tests())} outcomes)", flush=True)
            explain(results, differing)
    return 1 if failed else 0


def explain(results, differing):
    for mode, tests in differing.items():
        for test in tests:
            print(f"          {mode} {test}: {sorted(results.seen(mode, test))}, bare:"
                  f" {sorted(results.seen(BARE, test))}", flush=True)
    for mode in results.modes:
        for fault in results.faults(mode):
            print(f"          {mode}: {fault}", flush=True)


def row(results):
    recorded = [run["recorded"] for mode in results.modes for run in results.of(mode)]
    columns = [str(len(results.tests())), str(len(results.unsteady()))]
    columns += [str(len(results.differing(mode))) for mode in results.modes]
    columns += [str(sum(r[field] for r in recorded))
                for field in ("processes", "samples", "drops", "unreadable")]
    columns += [str(sum(r["guarded"] for r in recorded)),
                str(sum(len(r["faults"]) for r in recorded))]
    return columns


def table(modes):
    print("| suite | outcomes | unsteady bare | differ at 512 KiB | at 4 KiB | processes recorded |"
          " samples | drops | unreadable traces | guarded objects | faults |\n|---|" + "--:|" * 10)
    for suite in SUITES:
        results = Results(suite, modes)
        if results.is_complete():
            print(f"| {suite.name} | {' | '.join(row(results))} |")
        else:
            print(f"| {suite.name} | not run |" + " |" * 9)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs = verbs.add_parser("run")
    runs.add_argument("patterns", nargs="*", metavar="PATTERN")
    runs.add_argument("--again", action="store_true")
    tables = verbs.add_parser("table")
    for verb in (runs, tables):
        verb.add_argument("--guard", action="store_true")
    verbs.add_parser("list")
    arguments = parser.parse_args()
    if arguments.verb == "run":
        return run(arguments.patterns, modes_of(arguments.guard), arguments.again)
    if arguments.verb == "table":
        table(modes_of(arguments.guard))
    else:
        print("\n".join(f"{suite.name}\t{suite.needs}" for suite in SUITES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
