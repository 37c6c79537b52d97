#!/usr/bin/env python3
"""CPython's own tests have the same outcomes bare and recorded.

    python_suite.py [--intervals 4KiB,512KiB] [--seconds N] [PYTHON...]

For each interpreter (default: those that tests/pythons.py finds) that has its test package, and
each of the modules below: every test by name with its outcome. Not in ctest: takes minutes each.
A test that differs is run again, bare and recorded, three times: one that is not steady bare is
listed as such.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import harness
import pythons

MODULES = ["test_gc", "test_threading", "test_asyncio", "test_json", "test_subprocess", "test_capi"]
LINE = re.compile(r"^(test\w*) \(([\w.]+)\)")
OUTCOME = re.compile(r"(?:\.\.\. |^)(ok|FAIL|ERROR|expected failure|unexpected success|skipped .*)$")


def outcomes(python, module, seconds, prefix=()):
    """Name -> outcome of each test, and the exit status."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            done = subprocess.run(
                [*prefix, python, "-m", "test", "-v", "-u", "none", module], cwd=directory,
                env=dict(os.environ, PYTHONHASHSEED="1", HOME=directory), timeout=seconds,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                errors="replace", text=True)
        except subprocess.TimeoutExpired:
            return {"": "timeout"}
        found, name = {"": done.returncode}, None
        for line in done.stdout.splitlines():
            if match := LINE.match(line):
                name = f"{match[2]}.{match[1]}"
            if (match := OUTCOME.search(line)) and name:
                # Reasons to skip have numbers of processes and paths in them.
                found[name], name = match[1].split()[0], None
        return found


def recorder(interval, directory):
    return [harness.BUILD / "bin" / "geiger", "run", "-q", "--no-symbolize", "-f", "--interval",
            interval, "-o", f"{directory}/trace.geiger", "--"]


def differing(python, module, interval, bare, seconds):
    with tempfile.TemporaryDirectory() as directory:
        ours = outcomes(python, module, seconds, recorder(interval, directory))
    return {name: (bare.get(name), ours.get(name)) for name in {*bare, *ours}
            if bare.get(name) != ours.get(name)}, len(ours) - 1


def compare(python, module, intervals, seconds):
    """Prints a line for each interval; how many tests differ that are steady bare."""
    bare, faults = outcomes(python, module, seconds), 0
    for interval in intervals:
        different, count = differing(python, module, interval, bare, seconds)
        unsteady = set()
        for _ in range(3 if different else 0):
            again = outcomes(python, module, seconds)
            unsteady |= {name for name in different if again.get(name) != bare.get(name)}
            still, _ = differing(python, module, interval, bare, seconds)
            different = {name: both for name, both in different.items() if name in still}
        different = {name: both for name, both in different.items() if name not in unsteady}
        print(f"{python} {module} {interval}: {count} tests, {len(different)} differ"
              + "".join(f"\n    {name or 'exit status'}: {was}, recorded {now}"
                        for name, (was, now) in sorted(different.items()))
              + "".join(f"\n    not steady bare: {name}" for name in sorted(unsteady)), flush=True)
        faults += len(different)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    parser.add_argument("--intervals", default="4KiB,512KiB")
    parser.add_argument("--modules", default=",".join(MODULES))
    parser.add_argument("--seconds", type=int, default=600, help="for one module")
    options = parser.parse_args()
    faults = 0
    for python in options.pythons or pythons.interpreters():
        has_tests = subprocess.run([python, "-c", "import test.test_gc"], capture_output=True)
        if has_tests.returncode != 0:
            print(python, "has no test package")
            continue
        for module in options.modules.split(","):
            faults += compare(python, module, options.intervals.split(","), options.seconds)
    sys.exit(faults != 0)


if __name__ == "__main__":
    main()
