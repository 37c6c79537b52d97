#!/usr/bin/env python3
"""Measures what geiger costs, against the bare program and against its peers.

    bench/run.py [SECTION...] [--rounds N]

Sections (default: all): cpu, malloc, instructions, python, python_instructions, life, startup, size,
report, diff.  Build first; GEIGER_BUILD_DIR names the build (default: build/).  Every ratio is the median of
paired runs: the variants of a round run one after another, in an order that turns
with the round, and each is divided by that round's bare run.  No number here is a
test: tests must not be timed.
"""
import argparse
import math
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

import harness  # noqa: E402
import trace_reader  # noqa: E402
import workloads  # noqa: E402

KIB = 1 << 10
GPERFTOOLS = harness.LIBRARIES / "libtcmalloc.so.4"  # the minimal one cannot sample


def geiger(interval, directory):
    return {"LD_PRELOAD": str(harness.preload_entry()), "GEIGER_DIR": directory,
            "GEIGER_INTERVAL": str(interval), "GEIGER_SEED": "1"}


def variants(directory):
    """Column -> (environment, command prefix, column it is compared with)."""
    columns = {
        "bare": ({}, [], "bare"),
        "512K": (geiger(512 * KIB, directory), [], "bare"),
        "32K": (geiger(32 * KIB, directory), [], "bare"),
        "idle": (geiger(1 << 50, directory), [], "bare"),
    }
    if GPERFTOOLS.exists():
        preload = {"LD_PRELOAD": str(GPERFTOOLS)}
        columns["gperftools"] = (preload, [], "bare")
        columns["gperf on/off"] = ({**preload, "TCMALLOC_SAMPLE_PARAMETER": str(512 * KIB)}, [],
                                   "gperftools")
    if os.path.exists("/usr/bin/heaptrack"):
        columns["heaptrack"] = ({}, ["/usr/bin/heaptrack", "-o", f"{directory}/heaptrack"], "bare")
    return columns


def cpu_seconds(workload, env, prefix):
    """User and system time of one run and all its children; not a number if it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run([*prefix, *workload.command], cwd=workload.cwd,
                            env=harness.environment([], {**workload.env, **env}),
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        return math.nan
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def remove_traces(directory):
    for path in pathlib.Path(directory).glob("*.geiger"):
        path.unlink()


def paired_ratios(workload, columns, rounds, directory):
    """Column -> median over rounds of its time over that of its reference."""
    ratios = {name: [] for name in columns}
    order = list(columns)
    bare = []
    for number in range(rounds):
        times = {}
        for name in order[number % len(order):] + order[:number % len(order)]:
            env, prefix, _ = columns[name]
            times[name] = cpu_seconds(workload, env, prefix)
            remove_traces(directory)
        bare.append(times["bare"])
        for name, (_, _, reference) in columns.items():
            ratios[name].append(times[name] / times[reference])
    medians = {name: statistics.median(values) for name, values in ratios.items()}
    return medians, statistics.median(bare)


def cpu(directory, rounds):
    """CPU time over the bare program's (gperf on/off: over gperftools not sampling)."""
    columns = variants(directory)
    names = [name for name in columns if name != "bare"]
    print("workload   bare s  " + "".join(f"{name:>14}" for name in names))
    for workload in [*workloads.loops(directory), *workloads.real_programs(directory)]:
        medians, bare = paired_ratios(workload, columns, rounds, directory)
        print(f"{workload.name:10} {bare:6.2f}  "
              + "".join(f"{medians[name]:14.3f}" for name in names), flush=True)


def peak_kib(workload, env):
    """Peak RSS of the largest process of a run. Started by a small program: what starts a process
    counts too."""
    with tempfile.NamedTemporaryFile("r") as output:
        subprocess.run(["/usr/bin/time", "-f", "%M", "-o", output.name, *workload.command],
                       check=True, cwd=workload.cwd, stdout=subprocess.DEVNULL,
                       env=harness.environment([], {**workload.env, **env}))
        return int(output.read())


def malloc(directory, rounds):
    """CPU time and peak RSS of programs over allocators, as ratios to the C library's."""
    columns = {"bare": ({}, [], "bare")}
    columns.update({name: ({"LD_PRELOAD": str(path)}, [], "bare")
                    for name, path in harness.ALLOCATORS.items() if path and path.exists()})
    names = [name for name in columns if name != "bare"]
    print("workload   bare s  " + "".join(f"{name:>16}" for name in names) + "    CPU, RSS")
    for workload in [*workloads.loops(directory), *workloads.real_programs(directory)]:
        medians, bare = paired_ratios(workload, columns, rounds, directory)
        peaks = {name: statistics.median(peak_kib(workload, env) for _ in range(3))
                 for name, (env, _, _) in columns.items()}
        cells = (f"{medians[name]:9.3f} {peaks[name] / peaks['bare']:6.2f}" for name in names)
        print(f"{workload.name:10} {bare:6.2f}  " + "".join(cells), flush=True)


def count_instructions(workload, env):
    """Instructions of a run and its children under callgrind."""
    with tempfile.TemporaryDirectory() as output:
        subprocess.run(["valgrind", "--tool=callgrind", "--trace-children=yes",
                        f"--callgrind-out-file={output}/%p", *workload.command], check=True,
                       cwd=workload.cwd, env=harness.environment([], {**workload.env, **env}),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return sum(int(re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.M)[1])
                   for path in pathlib.Path(output).iterdir())


def instructions(directory, _):
    """Executed instructions added at 512 KiB; exact, so once is enough."""
    print("workload   million bare    added")
    for workload in workloads.real_programs(directory, scale=0.15):
        bare = count_instructions(workload, {"PYTHONHASHSEED": "1"})
        ours = count_instructions(workload, {"PYTHONHASHSEED": "1", **geiger(512 * KIB, directory)})
        remove_traces(directory)
        print(f"{workload.name:10} {bare / 1e6:12.0f} {100 * (ours / bare - 1):7.2f} %", flush=True)


def python_variants(directory):
    """Column -> environment, by what `--python` sets."""
    ours = geiger(512 * KIB, directory)
    return {"bare": {}, "off": {**ours, "GEIGER_MODE": "nopython"},
            "stacks": {**ours, "GEIGER_MODE": "pystacks"}, "all": ours}


def python(directory, rounds):
    """CPU time of Python programs over bare, at 512 KiB and by --python."""
    columns = {name: (env, [], "bare") for name, env in python_variants(directory).items()}
    print("workload         bare s" + "".join(f"{name:>8}" for name in columns if name != "bare"))
    for workload in workloads.python_programs(directory, scale=0.5):
        medians, bare = paired_ratios(workload, columns, rounds, directory)
        print(f"{workload.name:15} {bare:7.2f}"
              + "".join(f"{medians[name]:8.3f}" for name in columns if name != "bare"), flush=True)


def python_instructions(directory, _):
    """Executed instructions added to Python programs at 512 KiB, by --python."""
    columns = python_variants(directory)
    print("workload         million bare" + "".join(f"{name:>8}" for name in columns if name != "bare"))
    for workload in workloads.python_programs(directory, scale=0.5):
        counts = {}
        for name, env in columns.items():
            counts[name] = count_instructions(workload, env)
            remove_traces(directory)
        print(f"{workload.name:15} {counts['bare'] / 1e6:13.0f}"
              + "".join(f"{100 * (counts[name] / counts['bare'] - 1):6.2f} %"
                        for name in columns if name != "bare"), flush=True)


def life(directory, rounds):
    """One sample from capture to its free: every pair sampled, less the bare pair."""
    program = workloads.build_loops(directory)
    print("depth      us per sample")
    for depth in (2, 20, 60):
        def run(env):
            output = subprocess.run([program, "life", "50000", str(depth)], check=True,
                                    capture_output=True, env=harness.environment([], env)).stdout
            remove_traces(directory)
            return float(output)
        difference = [run(geiger(1, directory)) - run({}) for _ in range(rounds)]
        print(f"{depth:5}      {statistics.median(difference) / 1000:8.3f}", flush=True)


def startup(directory, rounds):
    """Wall time of a program that allocates once, in ms over bare."""
    program = workloads.build_loops(directory)

    def run(env):
        start = time.perf_counter()
        subprocess.run([program, "once"], check=True, env=harness.environment([], env))
        return 1000 * (time.perf_counter() - start)
    difference = {512 * KIB: [], 1: []}
    for _ in range(40 * rounds):
        bare = run({})
        for interval, values in difference.items():
            values.append(run(geiger(interval, directory)) - bare)
        remove_traces(directory)
    print("interval   added ms")
    for interval, values in difference.items():
        print(f"{interval:8}   {statistics.median(values):8.3f}")


def size(directory, _):
    """Bytes of trace per sample with everything in it, and what known stacks leave."""
    print("workload    samples   stacks  bytes/sample  known stack")
    for workload in workloads.real_programs(directory):
        env = geiger(32 * KIB, directory)
        cpu_seconds(workload, env, [])
        samples = stacks = total = in_stacks = 0
        for path in pathlib.Path(directory).glob("*.geiger"):
            trace = trace_reader.read(path)
            samples += len(trace.samples)
            stacks += len(trace.stacks)
            total += trace.header.tail - trace_reader.RECORDS_OFFSET
            in_stacks += sum(16 + 8 * len(stack.frames) for stack in trace.stacks.values())
        remove_traces(directory)
        print(f"{workload.name:10} {samples:8} {stacks:8} {total / samples:13.1f}"
              f" {(total - in_stacks) / samples:12.1f}", flush=True)


def time_verbs(commands):
    """Name -> command line of geiger: prints its wall-clock and CPU time and its peak memory."""
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:],"
              " stdout=subprocess.DEVNULL);"
              " used = resource.getrusage(resource.RUSAGE_CHILDREN);"
              " print(used.ru_utime + used.ru_stime, used.ru_maxrss)")
    print("command              seconds     CPU   peak MiB")
    for name, words in commands.items():
        start = time.perf_counter()
        shown = subprocess.run([sys.executable, "-c", script, harness.BUILD / "bin" / "geiger", *words],
                               check=True, capture_output=True, text=True).stdout
        cpu_time, peak = shown.split()
        print(f"{name:19} {time.perf_counter() - start:8.2f} {float(cpu_time):7.2f}"
              f" {int(peak) / 1024:10.0f}", flush=True)


def record_stacks(directory, interval, seed):
    """A trace of 1,000,000 blocks allocated from 100,000 stacks."""
    program = workloads.build_loops(directory)
    subprocess.run([program, "stacks", "1000000"], check=True,
                   env=harness.environment([], {**geiger(interval, directory),
                                                "GEIGER_SEED": str(seed)}))
    path, = pathlib.Path(directory).glob("*.geiger")
    return path.rename(path.with_name(f"seed{seed}.trace"))


def report(directory, _):
    """A report from a trace of 1,000,000 samples and 100,000 stacks."""
    path = record_stacks(directory, 1, 1)
    time_verbs({verb: [verb, path] for verb in ("summary", "table", "tree")})
    path.unlink()


def diff(directory, _):
    """A comparison of two profiles of 100,000 stacks, several samples on each."""
    sides = [record_stacks(directory, 1200, seed) for seed in (1, 2)]
    time_verbs({f"{verb} --by {by}": [verb, *options, "--by", by, *sides]
                for verb, options in (("diff", []), ("check", ["--max-growth", "50%"]))
                for by in ("stack", "function")})
    for path in sides:
        path.unlink()


SECTIONS = {function.__name__: function
            for function in (cpu, malloc, instructions, python, python_instructions, life, startup, size, report, diff)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name in options.sections or SECTIONS:
        if name not in SECTIONS:
            parser.error(f"no section {name}")
        print(f"\n{name}: {SECTIONS[name].__doc__.splitlines()[0]}", flush=True)
        with workloads.scratch() as directory:
            SECTIONS[name](directory, options.rounds)


if __name__ == "__main__":
    main()
