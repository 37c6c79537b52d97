"""Runs programs bare and under the runtime, for the whole-process tests.

The build to test is named by GEIGER_BUILD_DIR (default: build/ of this checkout), the allocator
behind the runtime by GEIGER_TEST_MALLOC (default: the C library's).
Traces go to a temporary directory outside the program's working directory, as
programs must not see a difference.
"""
import atexit
import collections
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import trace_reader

ROOT = pathlib.Path(__file__).resolve().parent.parent


def loadable(path):
    """A name of this folder that LD_PRELOAD can hold: a link, where blanks or colons are in its own.
    Not below /tmp, as tests hide that from programs."""
    if not re.search(r"[\s:]", str(path)):
        return path
    directory = tempfile.mkdtemp(prefix="geiger-build-", dir="/var/tmp")
    atexit.register(shutil.rmtree, directory)
    os.chmod(directory, 0o755)
    link = pathlib.Path(directory, "build")
    link.symlink_to(path)
    return link


BUILD = loadable(pathlib.Path(os.environ.get("GEIGER_BUILD_DIR", ROOT / "build")).resolve())
# A small case of a slow test: what that repeats with other settings is done with one.
IS_SMALL = "GEIGER_SMALL_CASE" in os.environ
TRIPLET = f"{os.uname().machine}-linux-gnu"
LIBRARIES = pathlib.Path("/usr/lib") / TRIPLET


def runtime_file(name):
    """A library that goes into programs, as this machine's loader would find it."""
    folder = BUILD / "lib" / "geiger"
    paths = [folder / token / name for token in (f"lib/{TRIPLET}", "lib64", "lib")]
    return next((path for path in paths if path.exists()), folder / name)


ALLOCATORS = {
    "glibc": None,
    "geiger": runtime_file("libgeiger-malloc.so"),
    "jemalloc": LIBRARIES / "libjemalloc.so.2",
    "tcmalloc": LIBRARIES / "libtcmalloc_minimal.so.4",
    "mimalloc": LIBRARIES / "libmimalloc.so.2.0",
}
# GEIGER_TEST_MALLOC=geiger: whatever is recorded runs over this allocator.
PROVIDER = ALLOCATORS[os.environ.get("GEIGER_TEST_MALLOC", "glibc")]
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

Outcome = collections.namedtuple("Outcome", "status stdout stderr")


def preload_library():
    path = runtime_file("libgeiger-preload.so")
    if not path.exists():
        raise FileNotFoundError(path)
    return path


def allocator_library():
    """geiger's own malloc, to be preloaded."""
    return ALLOCATORS["geiger"]


def preload_entry():
    """What goes into LD_PRELOAD: with $LIB, so that foreign children load nothing of ours."""
    return BUILD / "lib" / "geiger" / "$LIB" / "libgeiger-preload.so"


def host(name):
    """Path of a host program or library built from tests/hosts."""
    return str(BUILD / "hosts" / name)


def record_holders(geiger, file, interval):
    """Attaches `geiger` to tests/hosts/holders.cc before it allocates, with --holders, and ends that."""
    program = subprocess.Popen([host("holders"), "late"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "here\n"
    recording = subprocess.Popen([geiger, "attach", str(program.pid), "--interval", str(interval), "--holders", "-o",
                                  file], stderr=subprocess.PIPE, text=True)
    try:
        next(line for line in recording.stderr if "attached to" in line)
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "ready\n"
        recording.send_signal(signal.SIGINT)
        recording.communicate()
    finally:
        program.kill()
        program.wait()
        program.stdin.close()
        program.stdout.close()


def scenarios(program):
    """What a host program can do, by name."""
    output = subprocess.run([host(program), "list"], capture_output=True, check=True)
    return output.stdout.decode().split()


def require(*programs):
    """Skips the test when a program it is about is not installed."""
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        raise unittest.SkipTest(f"not installed: {', '.join(missing)}")


def bind_below(place):
    """Shell commands for a mount namespace in which the folder `place` is about to become /tmp: they
    bind what tests need of the old /tmp into it, where the checkout or the build lies there."""
    build = BUILD.resolve()
    places = (ROOT,) if build.is_relative_to(ROOT) else (ROOT, build)
    below = [path for path in places if path.is_relative_to("/tmp")]
    targets = [shlex.quote(f"{place}/{path.relative_to('/tmp')}") for path in below]
    return "".join(f"mkdir -p {target} && mount --bind {shlex.quote(str(path))} {target} && "
                   for path, target in zip(below, targets)) + "true"


def own_tmp(place):
    """Shell commands that give a mount namespace an empty /tmp, but for what tests need of the old
    one. `place` is a folder; what it contains is hidden in this namespace."""
    place = shlex.quote(str(place))
    return (f"mount -t tmpfs -o mode=1777 tmpfs {place} && {bind_below(place)} && "
            f"mount --rbind {place} /tmp")


class Result(unittest.TextTestResult):
    """Says why tests are skipped; `nothing ran` is what ctest counts as a skipped test."""

    ran = False

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.stream.writeln(f" skipped {test}: {reason}")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.ran = True

    def stopTestRun(self):
        super().stopTestRun()
        if self.skipped and not (self.ran or self.failures or self.errors):
            self.stream.writeln("nothing ran")


unittest.TextTestRunner.resultclass = Result


def environment(preloads, extra=None):
    """The caller's environment with LD_PRELOAD and without what belongs to another run."""
    result = {k: v for k, v in os.environ.items()
              if not k.startswith("GEIGER_") and k != "LD_PRELOAD"}
    result.update(extra or {})
    if preloads:
        result["LD_PRELOAD"] = ":".join(str(path) for path in preloads if path)
    return result


def finish(process, data, timeout):
    """Waits; a program that hangs is killed with its whole process group and fails."""
    try:
        stdout, stderr = process.communicate(data, timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(f"hangs: {process.args}\n{stdout[-2000:]}\n{stderr[-2000:]}")
    return Outcome(process.returncode, stdout, stderr)


def start(arguments, preloads=(), env=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(a) for a in arguments], env=environment(preloads, env),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            start_new_session=True, **options)


def run_bare(arguments, preloads=(), env=None, timeout=120, data=None, **options):
    if data is not None:
        options["stdin"] = subprocess.PIPE
    return finish(start(arguments, preloads, env, **options), data, timeout)


def free_ports(count):
    """Ports of loopback that are free, and not among those that the kernel gives to connections: it
    would give them to others before a server has them."""
    sockets = []
    try:
        while len(sockets) < count:
            one = socket.socket()
            sockets.append(one)
            try:
                one.bind(("127.0.0.1", random.randrange(10000, 32000)))
            except OSError:
                sockets.pop().close()
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait_for_redis(path, server):
    """Until a redis-server answers on its socket, which is there before it listens."""
    end = time.monotonic() + 60
    while True:
        said = subprocess.run(["redis-cli", "-s", path, "ping"], capture_output=True, check=False)
        if said.stdout == b"PONG\n":
            return
        if server.poll() is not None or time.monotonic() > end:
            raise AssertionError("redis-server does not answer")
        time.sleep(0.02)


class Recorded:
    """One run under the runtime: its outcome and the traces it left."""

    def __init__(self, outcome, directory):
        self.outcome = outcome
        # A file of no bytes is what a program leaves that allows none to be written.
        self.paths = sorted(path for path in pathlib.Path(directory).glob("*.geiger")
                            if path.stat().st_size > 0)
        self.traces = [trace_reader.read(path) for path in self.paths]

    def total(self, field):
        return sum(trace.total(field) for trace in self.traces)

    def samples(self):
        return [sample for trace in self.traces for sample in trace.samples]

    def of(self, program):
        """The traces of one executable, by its base name."""
        return [t for t in self.traces if os.path.basename(t.header.executable) == program]


class Recorder:
    """Where and how to record; use as a context so that the traces go away again.

    interval in bytes; mode is a list of words as in GEIGER_MODE; behind are
    libraries preloaded after the runtime (another allocator, a counter).
    """

    def __init__(self, interval, seed=1, mode=(), capacity=None, behind=(), env=None, parent=None):
        self.directory = tempfile.mkdtemp(prefix="traces-", dir=parent)
        self.preloads = [preload_entry(), *behind, *([PROVIDER] if PROVIDER else [])]
        self.env = dict(env or {})
        self.env.update(GEIGER_DIR=self.directory, GEIGER_INTERVAL=str(interval),
                        GEIGER_SEED=str(seed))
        if mode:
            self.env["GEIGER_MODE"] = ",".join(mode)
        if capacity:
            self.env["GEIGER_CAPACITY"] = str(capacity)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, arguments, **options):
        return start(arguments, self.preloads, self.env, **options)

    def run(self, arguments, timeout=120, data=None, **options):
        if data is not None:
            options["stdin"] = subprocess.PIPE
        outcome = finish(self.start(arguments, **options), data, timeout)
        return Recorded(outcome, self.directory)


def record(arguments, interval, seed=1, mode=(), capacity=None, behind=(), env=None, **options):
    """Runs a program once under the runtime and returns what was Recorded."""
    with Recorder(interval, seed, mode, capacity, behind, env) as recorder:
        return recorder.run(arguments, **options)


class ProcessTest(unittest.TestCase):
    """Assertions that several suites share."""
    maxDiff = 4000

    def assert_same_outcome(self, bare, recorded, what=""):
        self.assertEqual(bare, recorded, f"{what}: the program differs under the runtime")

    def assert_sound(self, recorded):
        """Nothing was dropped and every trace agrees with itself."""
        for trace in recorded.traces:
            trace.check()
            self.assertEqual(sum(trace.header.drops), 0, f"{trace.path}: {trace.drops()}")

    def assert_recorded_from_the_first_thread(self, program):
        """Of hosts/first_threads.c. Where its threads allocate nothing, the first one alone can have
        started the recording."""
        for count in (0, 2000):
            recorded = record([program, str(count)], 1)
            printed = recorded.outcome.stdout.split()
            self.assertEqual(len(recorded.traces), 1)
            self.assert_sound(recorded)
            sizes = [sample.requested for sample in recorded.traces[0].samples]
            self.assertEqual(sizes.count(int(printed[2])), int(printed[0]))


_PARSE_OPENMETRICS = """
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
print(json.dumps([[s.name, sorted(s.labels.items()), s.value] for family in
                  families(sys.stdin.read()) for s in family.samples]))
"""


def openmetrics(text):
    """Name -> labels -> value, by Prometheus's own parser (Debian: python3-prometheus-client)."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import prometheus_client"], capture_output=True,
                      check=False).returncode != 0:
        raise unittest.SkipTest("python3-prometheus-client is not installed")
    parsed = subprocess.run([python, "-c", _PARSE_OPENMETRICS], input=text, capture_output=True,
                            text=True, check=False)
    if parsed.returncode != 0:
        raise AssertionError(parsed.stderr + text)
    values = {}
    for name, labels, value in json.loads(parsed.stdout):
        values.setdefault(name, {})[tuple(map(tuple, labels))] = value
    return values


def problems_of_agent(said):
    """What `geiger agent` said beside what it follows and sends."""
    usual = re.compile(r"geiger: (follows the traces in|.* kinds of samples to send$|\d+ documents? sent)")
    return [line for line in said.splitlines() if not usual.match(line)]
