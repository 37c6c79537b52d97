#!/usr/bin/env python3
"""Line and branch coverage of the runtime and the readers, room by room.

    tools/coverage.py build            configures and builds the preset `coverage`
    tools/coverage.py run [CTEST...]   forgets old counts, runs the tests (default: those with
                                       the labels unit, e2e, stacks)
    tools/coverage.py report [--missing] [-o FILE]
                                       the table, as Markdown; --missing lists every line and
                                       branch that never ran; FILE gets gcovr's JSON

What is preloaded counts in one file that all processes share (tests/coverage/counters.c);
the rest writes gcov's own files. Failing tests do not stop a run: what is counted is what ran.
The report merges both. Branches of exceptions are left out (--exclude-throw-branches), as are
those that the compiler knows cannot be taken.

A room of the shared zone is compiled twice, and both count. A source that no preloaded library
holds (the reader of traces) is left out of the runtime's side, with its header.

What counts is the line of the source and, on it, the branch: one that stands in a header or a
template is covered when it was taken in some unit or instance. Unit tests of a room belong to
it: of an inline function a program keeps one instance, and that may be the test's. Only these
rooms and tests are built to be counted (tests/coverage/counters.cmake).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
COUNTERS = BUILD / "runtime-counters"
LABELS = "unit|e2e|stacks"
SIDES = {"runtime": ["base", "trace", "runtime/unwind", "runtime/probes", "runtime/capture",
                     "runtime/interpose"],
         "reader": ["base", "trace", "api", "analysis/ingest"]}


def call(command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def build():
    call(["cmake", "--preset", "coverage"], cwd=ROOT, stdout=subprocess.DEVNULL)
    call(["cmake", "--build", BUILD])


def run(words):
    for path in BUILD.rglob("*.gcda"):
        path.unlink()
    COUNTERS.unlink(missing_ok=True)
    selection = words or ["--label-regex", LABELS]
    subprocess.run(["ctest", "--test-dir", str(BUILD), "--timeout", "1200", *selection],
                   check=False)


def library():
    return next(BUILD.glob("lib/geiger/**/x86_64-linux-gnu/libgeiger-preload.so"))


def objects(side):
    """The folders of a side's compiled units; those of shared rooms exist in both flavours, and
    a unit test may hold the instance of an inline function that ran."""
    for room in SIDES[side]:
        for kind in ("geiger_*.dir", "*_test.dir"):
            yield from sorted((BUILD / "src" / room / "CMakeFiles").glob(kind))


def write_shared_counts(directory):
    """Turns the shared file into gcov's files, in a tree beside that of the build; returns the
    sources of units that no preloaded library holds."""
    copies = []
    for notes in BUILD.glob("src/**/CMakeFiles/geiger_*_rt.dir/*.gcno"):
        copies.append(pathlib.Path(f"{directory}{notes}"))
        copies[-1].parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(notes, copies[-1])
    call(["true"], env={**os.environ, "LD_PRELOAD": str(library()),
                        "GEIGER_COVERAGE_INTO": str(directory)})
    unused = [copy for copy in copies if not copy.with_suffix(".gcda").exists()]
    for copy in unused:
        copy.unlink()
    return [str(copy.parent.parent.parent.relative_to(f"{directory}{BUILD}") / copy.stem)
            for copy in unused]


def collect(side, directory, left_out):
    """gcovr's view of one side: a list of files with their lines and branches."""
    folders = list(objects(side))
    if side == "runtime":
        folders += [pathlib.Path(f"{directory}{folder}") for folder in objects(side)]
    output = pathlib.Path(directory, f"{side}.json")
    words = [word for source in left_out if side == "runtime"
             for word in ("--exclude", rf"(.*/)?{re.escape(source.removesuffix('.cc'))}\.(cc|h)")]
    # A process that is killed between two counters leaves a branch that was taken -1 times.
    call(["gcovr", "--root", ROOT, "--gcov-ignore-parse-errors",
          "--exclude-throw-branches", "--exclude-unreachable-branches",
          "--exclude", r".*_test\.cc", "--exclude", r".*/test_[a-z]*\.(h|cc)", *words, "--json",
          output, "-j", "2", *[folder for folder in folders if folder.exists()]], cwd=ROOT)
    return json.loads(output.read_text())["files"]


def room_of(name):
    """`src/runtime/capture/image/x.cc` -> `runtime/capture`; None for what is not ours."""
    path = pathlib.PurePath(name)
    if path.parts[0] != "src":
        return None
    folder = path.parent.relative_to("src")
    rooms = {room for side in SIDES.values() for room in side}
    return next((str(room) for room in (folder, *folder.parents) if str(room) in rooms),
                str(folder))


class Count:
    """Covered and all, of lines and of branches."""

    def __init__(self):
        self.lines = [0, 0]
        self.branches = [0, 0]
        self.missing = []

    def add(self, name, line):
        if line.get("gcovr/noncode"):
            return
        branches = [branch["count"] > 0 for branch in line["branches"]]
        self.lines[0] += line["count"] > 0
        self.lines[1] += 1
        self.branches[0] += sum(branches)
        self.branches[1] += len(branches)
        if line["count"] == 0:
            self.missing.append(f"{name}:{line['line_number']}: never runs")
        elif not all(branches):
            self.missing.append(f"{name}:{line['line_number']}: {sum(branches)} of"
                                f" {len(branches)} branches")

    def columns(self):
        return [cell for covered, total in (self.lines, self.branches)
                for cell in (f"{covered} of {total}",
                             f"{100 * covered / total:.1f} %" if total else "")]


def count_rooms(side, files):
    rooms = {room: Count() for room in SIDES[side]}
    whole = Count()
    for file in files:
        room = room_of(file["file"])
        if room not in rooms:
            continue
        for line in file["lines"]:
            rooms[room].add(file["file"], line)
            whole.add(file["file"], line)
    return {**rooms, f"**{side}**": whole}


def report(shows_missing, output):
    print("| room | lines | | branches | |\n|---|--:|--:|--:|--:|")
    missing, kept = [], {}
    with tempfile.TemporaryDirectory() as directory:
        left_out = write_shared_counts(directory)
        for side in SIDES:
            kept[side] = collect(side, directory, left_out)
            for name, count in count_rooms(side, kept[side]).items():
                print(f"| {name} | {' | '.join(count.columns())} |")
                if not name.startswith("**"):
                    missing += count.missing
    if shows_missing:
        print("\n" + "\n".join(missing))
    if output:
        pathlib.Path(output).write_text(json.dumps(kept))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build")
    verbs.add_parser("run")
    reports = verbs.add_parser("report")
    reports.add_argument("--missing", action="store_true")
    reports.add_argument("-o", dest="output")
    arguments, words = parser.parse_known_args()
    if words and arguments.verb != "run":
        parser.error(f"unknown: {' '.join(words)}")
    if arguments.verb == "build":
        build()
    elif arguments.verb == "run":
        run(words)
    else:
        report(arguments.missing, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
