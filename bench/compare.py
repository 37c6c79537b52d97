#!/usr/bin/env python3
"""Compares geiger with other heap profilers on the same programs.

    bench/compare.py [--rounds N] [--tools NAME,...] [--programs NAME,...] [--write PAGE]

Build first; GEIGER_BUILD_DIR names the build (default: build/). Uses the profilers that are
installed: on Debian heaptrack, libjemalloc2 and libjemalloc-dev (jeprof), libgoogle-perftools4 and
google-perftools, valgrind, libc-bin (memusage), and memray where python3 can import it.

CPU and wall time are medians of paired runs: the profilers of a round run one after another, in an
order that turns with the round, each divided by that round's run without a profiler. Those that
take many times as long run once. RSS is the largest process's. --write puts the tables between the
marks of PAGE (docs/guide/comparison.md).
"""
import argparse
import collections
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

import harness  # noqa: E402
import workloads  # noqa: E402

GEIGER = harness.BUILD / "bin" / "geiger"
JEMALLOC = harness.LIBRARIES / "libjemalloc.so.2"
TCMALLOC = harness.LIBRARIES / "libtcmalloc.so.4"
MEMUSAGE = harness.LIBRARIES / "libmemusage.so"
MIB = 1 << 20
TRUTH_SITE = "open_session"

Row = collections.namedtuple("Row", "function bytes")  # bytes live at the peak or at the end


@dataclasses.dataclass
class Tool:
    """A profiler: how a program is run with it, and how its answer is asked for and read.

    In words of `prefix`, `env` and `answer`, {d} is the run's directory; in `answer`, {program} is
    the program's file and {file} the largest of the files that match `files`.
    """
    name: str
    needs: list
    version: list
    prefix: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)
    files: str = "*"
    answer: list | None = None
    read: Callable = lambda text: []
    is_slow: bool = False
    only: str = ""  # programs of this interpreter


def rows_of_geiger(text):
    rows = json.loads(text)["rows"]
    return [Row(row["name"], row["total"]["bytes"]["value"]) for row in rows]


def decimal(text):
    number, unit = re.fullmatch(r"([0-9.]+)([KMGT]?)B?", text).groups()
    return float(number) * 1000 ** " KMGT".index(unit or " ")


def rows_of_heaptrack(text):
    part = text.split("PEAK MEMORY CONSUMERS\n", 1)[-1]
    found = re.findall(r"^([0-9.]+[KMGT]?B?) peak memory consumed over .*\n(\S.*)", part, re.M)
    return [Row(name, decimal(size)) for size, name in found]


def rows_of_pprof(text):
    """Of jeprof and google-pprof alike."""
    found = re.findall(r"^ *([0-9.]+) +[0-9.]+% +[0-9.]+% +[0-9.]+ +[0-9.]+% (.*)", text, re.M)
    return [Row(name, float(size) * MIB) for size, name in found]


def rows_of_massif(text):
    """The first levels of the tree of the last snapshot that has one."""
    trees = re.split(r"^-{80}$", text, flags=re.M)
    trees = [tree for tree in trees if "->" in tree]
    found = re.findall(r"^->[0-9.]+% \(([0-9,]+)B\) (?:0x[0-9A-F]+: )?(.*)",
                       max(trees, key=peak_of_massif, default=""), re.M)
    return [Row(name, float(size.replace(",", ""))) for size, name in found]


def peak_of_massif(tree):
    totals = re.findall(r"^ +[0-9]+ +[0-9,]+ +([0-9,]+) ", tree, re.M)
    return max((int(total.replace(",", "")) for total in totals), default=0)


def rows_of_dhat(text):
    profile = json.loads(text)
    frames = profile["ftbl"]
    totals = collections.Counter()
    for point in profile["pps"]:
        names = [frames[i].partition(": ")[2] for i in point["fs"]]
        outside = [name for name in names if "/vgpreload_" not in name]
        totals[(outside or names)[0]] += point["gb"]
    return [Row(name, size) for name, size in totals.most_common()]


def rows_of_memray(text):
    return [Row(name, size) for name, size in json.loads(text).get("top_allocations_by_size", [])]


TOOLS = [
    Tool("geiger", [GEIGER], [GEIGER, "--version"],
         [GEIGER, "run", "-q", "-o", "{d}/run.geiger", "--"],
         answer=[GEIGER, "table", "--kind", "peak", "--json", "{d}/run.geiger"], read=rows_of_geiger),
    Tool("heaptrack", ["heaptrack"], ["heaptrack", "--version"],
         ["heaptrack", "-o", "{d}/heaptrack"], answer=["heaptrack_print", "-f", "{file}"],
         read=rows_of_heaptrack),
    Tool("jemalloc", [JEMALLOC, "jeprof"], ["dpkg-query", "-W", "-f", "${Version}", "libjemalloc2"],
         env={"LD_PRELOAD": str(JEMALLOC), "MALLOC_CONF":
              "prof:true,prof_final:true,lg_prof_sample:19,prof_prefix:{d}/jemalloc"},
         files="jemalloc*.heap", answer=["jeprof", "--text", "{program}", "{file}"],
         read=rows_of_pprof),
    Tool("gperftools", [TCMALLOC, "google-pprof"],
         ["dpkg-query", "-W", "-f", "${Version}", "libgoogle-perftools4"],
         env={"LD_PRELOAD": str(TCMALLOC), "HEAPPROFILE": "{d}/gperftools"},
         files="gperftools*.heap", answer=["google-pprof", "--text", "{program}", "{file}"],
         read=rows_of_pprof, is_slow=True),
    Tool("massif", ["valgrind"], ["valgrind", "--version"],
         ["valgrind", "-q", "--trace-children=yes", "--tool=massif",
          "--massif-out-file={d}/massif.%p"],
         files="massif.*", answer=["ms_print", "{file}"], read=rows_of_massif, is_slow=True),
    Tool("DHAT", ["valgrind"], ["valgrind", "--version"],
         ["valgrind", "-q", "--trace-children=yes", "--tool=dhat", "--dhat-out-file={d}/dhat.%p"],
         files="dhat.*", answer=["cat", "{file}"], read=rows_of_dhat, is_slow=True),
    Tool("memusage", [MEMUSAGE], ["dpkg-query", "-W", "-f", "${Version}", "libc6"],
         env={"LD_PRELOAD": str(MEMUSAGE)}),
    Tool("Memray", [], ["python3", "-m", "memray", "--version"],
         ["/usr/bin/python3", "-m", "memray", "run", "--native", "-o", "{d}/memray.bin"],
         answer=["/usr/bin/python3", "-m", "memray", "stats", "--json", "{file}"],
         read=rows_of_memray, only="python3"),
]


def is_installed(tool):
    if tool.name == "Memray":
        return subprocess.run(["/usr/bin/python3", "-c", "import memray"], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0
    return all(os.path.exists(need) or shutil.which(need) for need in tool.needs)


def build_truth(directory):
    program = os.path.join(directory, "truth")
    source = pathlib.Path(__file__).resolve().parent / "truth.cc"
    subprocess.run(["g++", "-std=c++20", "-O2", "-g", "-o", program, str(source)], check=True)
    return workloads.Workload("truth", [program], {}, directory)


def programs(directory):
    _, mix, threads = workloads.loops(directory)
    return [build_truth(directory), mix, threads, *workloads.real_programs(directory)]


@dataclasses.dataclass
class Run:
    cpu: float
    wall: float
    rss: float
    output: str


def run(workload, directory, tool=None):
    """None if the program failed."""
    def filled(words):
        return [str(word).replace("{d}", directory) for word in words]
    env = dict(zip(tool.env, filled(tool.env.values()))) if tool else {}
    prefix = filled(tool.prefix) if tool else []
    command = workload.command[2:] if tool and tool.only else workload.command
    with open(os.path.join(directory, "stdout"), "w+", encoding="utf-8", errors="replace") as output:
        started = time.perf_counter()
        process = subprocess.Popen([*prefix, *command], cwd=workload.cwd, stdout=output,
                                   env=harness.environment([], {**workload.env, **env}),
                                   stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read(1 << 16)
    os.remove(os.path.join(directory, "stdout"))
    if process.returncode != 0:
        return None
    return Run(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, text)


@dataclasses.dataclass
class Result:
    """Of one profiler with one program; ratios are to the program alone."""
    cpu: float
    wall: float
    rss: float
    trace: int
    answer: float | None
    first: str
    error: float | None


def ask(tool, workload, directory):
    """(seconds until the answer is printed, its rows). Both empty if there is none."""
    files = sorted(pathlib.Path(directory).glob(tool.files), key=lambda file: file.stat().st_size)
    if tool.answer is None or not files:
        return None, []
    program = shutil.which(workload.command[0]) or workload.command[0]
    words = [str(word).replace("{d}", directory).replace("{file}", str(files[-1]))
             .replace("{program}", program) for word in tool.answer]
    started = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    seconds = time.perf_counter() - started
    return seconds, tool.read(done.stdout) if done.returncode == 0 else []


def error_of(rows, output):
    """Share by which what is said of the one site whose memory is known differs from it."""
    truth = int(re.search(rf"^{TRUTH_SITE} (\d+)$", output, re.M)[1])
    said = sum(row.bytes for row in rows if TRUTH_SITE in row.function)
    return said / truth - 1 if said else None


def compare(workload, tools, rounds):
    """Tool -> Result, and the median time of the program alone."""
    samples = {tool.name: [] for tool in tools}
    alone = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="geiger-compare-") as directory:
            alone.append(run(workload, directory))
        turn = number % len(tools)
        for tool in tools[turn:] + tools[:turn]:
            if tool.is_slow and number > 0:
                continue
            with tempfile.TemporaryDirectory(prefix="geiger-compare-") as directory:
                done = run(workload, directory, tool)
                if done is None:
                    continue
                trace = sum(file.stat().st_blocks * 512
                            for file in pathlib.Path(directory).rglob("*") if file.is_file())
                seconds, rows = ask(tool, workload, directory)
            error = error_of(rows, done.output) if workload.name == "truth" and rows else None
            samples[tool.name].append(Result(done.cpu / alone[-1].cpu, done.wall / alone[-1].wall,
                                             done.rss / alone[-1].rss, trace, seconds,
                                             rows[0].function if rows else "", error))
    return ({name: middle(results) for name, results in samples.items() if results},
            statistics.median(one.cpu for one in alone))


def middle(results):
    def median(field):
        values = [getattr(one, field) for one in results if getattr(one, field) is not None]
        return statistics.median(values) if values else None
    errors = [one.error for one in results if one.error is not None]
    return Result(*(median(field) for field in ("cpu", "wall", "rss", "trace", "answer")),
                  collections.Counter(one.first for one in results).most_common(1)[0][0],
                  max(errors, key=abs) if errors else None)


def ratio(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def size(value):
    if value == 0:
        return "none"
    return f"{value / MIB:.1f} MiB" if value >= MIB else f"{value / 1024:.0f} KiB"


def seconds(value):
    return "-" if value is None else f"{value:.2f} s"


def short(name):
    """A function without parameters, addresses and the file's directories."""
    name = re.sub(r" \((?:in )?(?:.*/)?([^/()]*)\)$", r" (\1)", name)
    name = re.sub(r"\((?:[^()]|\([^()]*\))*\)(?= |$)(?! *\()", lambda m: m[0] if "." in m[0] else "()", name)
    return name if len(name) <= 48 else name[:47] + "…"


def table(head, rows):
    rule = "-" * max(3, len(head[0]))  # Each its own: no line of a page stands twice.
    lines = ["| " + " | ".join(head) + " |", f"|{rule}|" + "---|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def tables(results, alone, tools):
    names = [tool.name for tool in tools]

    def cells(text):
        return [[f"{workload} ({alone[workload]:.2f} s)",
                 *(text(row[name]) if name in row else "-" for name in names)]
                for workload, row in results.items()]
    parts = []
    for title, text in [
            ("Processor time, times the program's", lambda one: ratio(one.cpu)),
            ("Time until it ended, times the program's", lambda one: ratio(one.wall)),
            ("Peak resident memory, times the program's", lambda one: ratio(one.rss)),
            ("Files written", lambda one: size(one.trace)),
            ("Time from the end of the program to the printed answer",
             lambda one: seconds(one.answer))]:
        parts.append(table([title, *names], cells(text)))
    errors = results.get("truth", {})
    parts.append(table(
        ["Largest error of what is said of", *names],
        [[f"`{TRUTH_SITE}` of truth",
          *(f"{100 * errors[name].error:+.1f} %" if name in errors and errors[name].error is not None
            else "not told" for name in names)]]))
    parts.append(table(
        ["What is named first", *names],
        [[workload, *(f"`{short(row[name].first)}`" if name in row and row[name].first else "-"
                      for name in names)] for workload, row in results.items()]))
    return "\n\n".join(parts)


def machine(tools):
    def version(tool):
        shown = subprocess.run([str(word) for word in tool.version], capture_output=True, text=True,
                               check=False).stdout
        return (re.search(r"\d[\w.+~-]*", shown) or ["?"])[0]
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    release = platform.freedesktop_os_release()
    return (f"{datetime.date.today()}, {release['PRETTY_NAME']}, Linux {platform.release()}, "
            f"{os.cpu_count()} processors ({model[1] if model else platform.machine()}); "
            + ", ".join(f"{tool.name} {version(tool)}" for tool in tools) + ".")


BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write(page, text):
    old = page.read_text()
    head, rest = old.split(BEGIN)
    page.write_text(head + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tools", help="default: those that are installed")
    parser.add_argument("--programs", help="default: all eight")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    options = parser.parse_args()
    tools = [tool for tool in TOOLS if is_installed(tool)
             and (not options.tools or tool.name in options.tools.split(","))]
    results, alone = {}, {}
    with workloads.scratch() as directory:
        for workload in programs(directory):
            if options.programs and workload.name not in options.programs.split(","):
                continue
            fitting = [tool for tool in tools if tool.only in workload.command[0]]
            results[workload.name], alone[workload.name] = compare(workload, fitting, options.rounds)
            print(workload.name, *(f"{name} {ratio(one.cpu)}"
                                   for name, one in results[workload.name].items()),
                  file=sys.stderr, flush=True)
    text = machine(tools) + "\n\n" + tables(results, alone, tools)
    if options.write:
        write(options.write, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
