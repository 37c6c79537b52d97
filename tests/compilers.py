#!/usr/bin/env python3
"""The runtime, the rooms that are pure arithmetic and the public headers, each alone, under another
compiler or standard than the build's, with the build's own flags, where warnings are errors.

usage: compilers.py COMPILER STANDARD [FLAG...], for example compilers.py clang++ c++20
       With -fsyntax-only, a few times faster, warnings of the optimizer are missing.

       compilers.py --preset NAME [NAME...]
       Whether presets that build with clang do so, all but the above: they are configured, their compiler
       takes their flags, and the syntax of every source is right. A source of two presets is looked at
       once: as the preset compiles it that its folder is named after, else the first.
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


def preset_commands(preset):
    """What -> (folder, words) of what the above leaves out, several sources at once where that is
    quicker. Makes the precompiled headers."""
    build = harness.BUILD / "presets" / preset
    subprocess.run(["cmake", "--preset", preset, "-S", harness.ROOT, "-B", build, "-D", "GEIGER_UNITY=ON"],
                   cwd=harness.ROOT, check=True, stdout=subprocess.DEVNULL)
    chosen = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source, words = pathlib.Path(entry["file"]), shlex.split(entry["command"])
        place = build if source.is_relative_to(build) else harness.ROOT
        words = words[words[0].endswith("ccache"):]
        if source.stem == "cmake_pch.hxx":
            subprocess.run(words, cwd=entry["directory"], check=True)
        elif place == build or not is_wanted(source):
            chosen[source.relative_to(place)] = (entry["directory"], words)
    return chosen


def preset_complaint(source, directory, words):
    """Of sources that are compiled at once, names of one may hide those of another."""
    done = subprocess.run([*words, "-fsyntax-only", "-Wno-shadow"], cwd=directory, capture_output=True,
                          text=True)
    return "" if done.returncode == 0 else f"{source}:\n{done.stderr}"


def look_at(chosen, look):
    """Prints what the compiler says of each that it refuses."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [text for text in pool.map(lambda each: look(each[0], *each[1]), chosen.items()) if text]
    print("\n".join(failed))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{' '.join(sys.argv[1:])}: {len(chosen)} sources and headers, {len(failed)} refused, "
          f"{spent.ru_utime + spent.ru_stime:.0f} s of processor time")
    return 1 if failed or not chosen else 0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    compiler, standard, *more = sys.argv[1:]
    more += CLANG_FLAGS if "clang" in compiler else []
    is_of_presets = compiler == "--preset"
    if not shutil.which("clang++" if is_of_presets else compiler):
        print(f"compilers: skipped, {compiler} is not installed")
        return SKIPPED
    if is_of_presets:
        chosen = {}
        for preset in sys.argv[2:]:
            chosen |= {what: command for what, command in preset_commands(preset).items()
                       if what not in chosen or what.parts[0] == preset}
        return look_at(chosen, preset_complaint)
    return look_at(commands() | dict.fromkeys(headers(), (harness.ROOT, HEADER_FLAGS)),
                   lambda *each: complaint(compiler, standard, more, *each))


if __name__ == "__main__":
    sys.exit(main())
