#!/usr/bin/env python3
"""The runtime, the rooms that are pure arithmetic and the public headers, each alone, under another
compiler or standard than the build's, with the build's own flags, where warnings are errors.

usage: compilers.py COMPILER STANDARD [FLAG...], for example compilers.py clang++ c++20
       With -fsyntax-only, a few times faster, warnings of the optimizer are missing.
"""
import concurrent.futures
import json
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys

import harness

SKIPPED = 77
HEADER_FLAGS = ["-Iinclude", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
                "-Wno-sign-conversion"]
CLANG_FLAGS = ["-fconstexpr-steps=16777216"]  # cmake/Zones.cmake
LEFT_OUT = ("-std=", "-g", "-c", "--param", "-Winvalid-pch")  # flags_of()
ROOMS = ("runtime", "base", "vocabulary", "sampling", "trace", "estimation")


def is_wanted(source):
    """What lives in programs, once, and what is compiled for analysis alone."""
    parts = source.relative_to(harness.ROOT).parts
    is_in_room = parts[0] == "heap" or parts[0] == "src" and parts[1] in ROOMS
    return is_in_room and not source.stem.endswith("_test")


def commands():
    """Source -> the words of its command; that of the runtime where there are two."""
    chosen = {}
    for entry in json.loads((harness.BUILD / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        is_checked = "GEIGER_EXPENSIVE_ASSERTIONS" in entry["command"]
        if source.suffix != ".cc" or not is_wanted(source) or is_checked:
            continue
        if source not in chosen or "GEIGER_IN_RUNTIME" in entry["command"]:
            chosen[source] = (entry["directory"], shlex.split(entry["command"]))
    return chosen


def headers():
    """Public ones, but for the one that includes another library's."""
    folder = harness.ROOT / "include" / "geiger"
    return [path for pattern in ("*.h", "geiger.hpp", "sampling/*.h") for path in folder.glob(pattern)]


def flags_of(words):
    """Without the launcher, the compiler and its memory, the standard, the debug information, the output
    and precompiled headers."""
    kept, words = [], iter(words)
    for word in words:
        if word in ("-o", "-include"):
            next(words)
        elif word == "-isystem":
            kept += [word, next(words)]
        elif word.startswith("-") and not word.startswith(LEFT_OUT):
            kept.append(word)
    return kept


def complaint(compiler, standard, more, source, directory, words):
    what = [source] if source.suffix == ".cc" else ["-include", source, "-x", "c++", os.devnull]
    done = subprocess.run([compiler, f"-std={standard}", *flags_of(words), "-O1", *more, "-Werror", "-c", "-o",
                           os.devnull, *what], cwd=directory, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{source}:\n{done.stderr}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    compiler, standard, *more = sys.argv[1:]
    more += CLANG_FLAGS if "clang" in compiler else []
    if not shutil.which(compiler):
        print(f"compilers: skipped, {compiler} is not installed")
        return SKIPPED
    sources = commands()
    chosen = sources | dict.fromkeys(headers(), (harness.ROOT, HEADER_FLAGS))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(lambda each: complaint(compiler, standard, more, each[0], *each[1]),
                                   chosen.items()))
    failed = [text for text in complaints if text]
    print("\n".join(failed))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{compiler} -std={standard}: {len(sources)} sources, {len(chosen) - len(sources)} headers, {len(failed)} refused, "
          f"{spent.ru_utime + spent.ru_stime:.0f} s of processor time")
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
