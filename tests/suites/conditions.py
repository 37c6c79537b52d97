"""The surroundings in which a foreign suite runs: bare, or under `geiger run`.

A run of a suite is a mapping from the names of its tests to their outcomes, as short
strings. Nothing here knows what is compared with what; see suites.py.
"""
import dataclasses
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import harness  # noqa: E402

GEIGER = harness.BUILD / "bin" / "geiger"
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
BARE = "bare"
INTERVALS = ("512KiB", "4KiB")
GUARDED = " guarded"  # ends the name of a mode in which every sample is guarded


class NotHere(Exception):
    """What a suite needs is not installed."""


def require(*paths):
    """Paths or names of programs; raises NotHere for the first that is missing."""
    for path in paths:
        if "/" in path and not os.path.exists(path):
            raise NotHere(path)
        if "/" not in path and not any(os.access(os.path.join(folder, path), os.X_OK)
                                       for folder in os.environ["PATH"].split(":")):
            raise NotHere(path)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def without_own_lines(stderr):
    """What the program wrote: lines that begin with `geiger: ` are ours."""
    return b"".join(line for line in stderr.splitlines(keepends=True)
                    if not line.startswith(b"geiger: "))


@dataclasses.dataclass
class Recorded:
    """What the traces of one run hold, added up over its calls of `geiger run`."""
    processes: int = 0
    samples: int = 0
    drops: int = 0
    failed_self_checks: int = 0
    unreadable: int = 0
    guarded: int = 0
    not_guarded: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)

    def add(self, trace, is_guarded):
        done = subprocess.run([GEIGER, "summary", "--json", trace], capture_output=True,
                              check=False)
        if done.returncode != 0:
            self.unreadable += 1
            return
        document = json.loads(done.stdout)
        self.processes += len(document["processes"])
        self.samples += document["samples"]
        self.drops += sum(document["drops"].values())
        self.failed_self_checks += not document["self_check"]["passed"]
        if is_guarded:
            self.add_faults(trace)

    def add_faults(self, trace):
        done = subprocess.run([GEIGER, "faults", "--json", "--top", "0", trace],
                              capture_output=True, check=False)
        if done.returncode != 0:
            self.faults.append(f"geiger faults: {done.stderr.decode(errors='replace')}")
            return
        document = json.loads(done.stdout)
        self.guarded += document["guarding"]["guarded"]
        self.not_guarded += document["guarding"]["samples"] - document["guarding"]["guarded"]
        self.faults += [fault["sentence"] for fault in document["faults"]]


class Surroundings:
    """How programs are started in one run of a suite.

    `directory` is empty, is the working directory of programs, and has the same path in
    every run, as programs print paths. Traces lie elsewhere.
    """

    def __init__(self, mode, directory, traces):
        self.mode = mode
        self.is_guarded = mode.endswith(GUARDED)
        self.directory = pathlib.Path(directory)
        self.traces = pathlib.Path(traces)
        self.recorded = Recorded()
        self.calls = 0

    def prefix(self):
        """Words before a program's own; a trace of its own for every call."""
        if self.mode == BARE:
            return []
        self.calls += 1
        trace = self.traces / f"{self.calls}.geiger"
        interval = self.mode.removesuffix(GUARDED)
        guard = ["--guard=1"] if self.is_guarded else []
        return [str(GEIGER), "run", "-q", "--no-symbolize", "--interval", interval, *guard, "-o",
                str(trace), "--"]

    def run(self, command, env=None, cwd=None, timeout=600, data=b"", before=()):
        """One program to its end; `before` are words that stand before geiger's."""
        words = [*before, *self.prefix(), *[str(word) for word in command]]
        process = subprocess.Popen(
            words, cwd=cwd or self.directory, env=harness.environment((), env),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        try:
            stdout, stderr = process.communicate(data, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return harness.Outcome("hangs", b"", b"")
        return harness.Outcome(process.returncode, stdout, without_own_lines(stderr))

    def start(self, command, env=None, **options):
        """A server; the caller ends it."""
        return subprocess.Popen([*self.prefix(), *[str(word) for word in command]],
                                env=harness.environment((), env), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                cwd=self.directory, start_new_session=True, **options)

    def read_traces(self):
        for trace in sorted(self.traces.iterdir()):
            self.recorded.add(trace, self.is_guarded)
        return self.recorded


def outcomes_of(outcome):
    """The comparison of programs that always print the same."""
    return {"status": str(outcome.status), "stdout": digest(outcome.stdout),
            "stderr": digest(outcome.stderr)}
