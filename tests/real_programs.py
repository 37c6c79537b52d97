#!/usr/bin/env python3
"""Third-party programs run under the runtime as if alone.

Each program runs bare and at intervals 1, 4 KiB and 512 KiB: stdout, stderr and exit
status must be identical, a minimum number of samples must be there, and the
sampler's z must be believable.  At interval 1 the totals must equal those of
libexact_count.so, which counts behind the runtime in the same process; where the
program is deterministic they must also equal those of a run under libexact_count
alone.

False alarms: |z| <= 6 is exceeded with probability 2e-9 per trace, of which there are some
hundred; a second run is not allowed to help.
"""
import math
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

import harness

COUNTER = harness.host("libexact_count.so")
COUNTED_KINDS = 9
INTERVALS = (1, 4 * harness.KIB, 512 * harness.KIB)


def exact_totals(directory):
    """(calls, bytes) over all processes that libexact_count watched."""
    calls = size = 0
    for path in pathlib.Path(directory).glob("*.count"):
        numbers = struct.unpack(f"<{2 * COUNTED_KINDS}Q", path.read_bytes()[:16 * COUNTED_KINDS])
        calls += sum(numbers[0::2])
        size += sum(numbers[1::2])
    return calls, size


def recorded_totals(recorded):
    samples = recorded.samples()
    return len(samples), sum(sample.requested for sample in samples)


class RealPrograms(harness.ProcessTest):
    def compare(self, command, minimum, is_deterministic=True, cwd=None, env=None, data=None,
                intervals=INTERVALS):
        """minimum: samples expected at least at each of the intervals."""
        bare = harness.run_bare(command, env=env, cwd=cwd, data=data)
        self.assertEqual(bare.status, 0, bare.stderr[-500:])
        for interval, least in zip(intervals, minimum):
            with self.subTest(interval=interval):
                recorded = harness.record(command, interval, env=env, cwd=cwd, data=data)
                self.assert_same_outcome(bare, recorded.outcome, f"interval {interval}")
                self.check(recorded, interval, least)
        with self.subTest("every sample guarded"):
            guarded = harness.record(command, 4 * harness.KIB, cwd=cwd, data=data,
                                     env={**(env or {}), "GEIGER_GUARD": "1"})
            self.assert_same_outcome(bare, guarded.outcome, "guarded")
            self.check(guarded, 4 * harness.KIB, minimum[1])
            self.assertEqual([fault for trace in guarded.traces for fault in trace.faults], [])
        with self.subTest("exact totals"):
            self.check_exact(command, bare, is_deterministic, cwd=cwd, env=env, data=data)

    def check(self, recorded, interval, least):
        self.assert_sound(recorded)
        self.assertGreaterEqual(len(recorded.samples()), least)
        self.assertLess(abs(pooled_z(recorded)), 6)
        for trace in recorded.traces:
            self.assertLess(abs(trace.z()), 6, trace.header.executable)

    def check_exact(self, command, bare, is_deterministic, env, **options):
        with tempfile.TemporaryDirectory() as directory:
            env = {**(env or {}), "EXACT_COUNT_DIR": directory}
            recorded = harness.record(command, 1, behind=[COUNTER], env=env, **options)
            self.assert_same_outcome(bare, recorded.outcome, "behind the exact counter")
            self.assertEqual(recorded_totals(recorded), exact_totals(directory))
            self.assertEqual(recorded.total("bytes"), exact_totals(directory)[1])
        if is_deterministic:
            self.check_alone(command, bare, env, **options)

    def check_alone(self, command, bare, env, **options):
        """The counter and the runtime in separate runs, in equal environments: programs
        copy theirs, so even the path of the preloaded library has the same length."""
        with tempfile.TemporaryDirectory() as directory:
            env = {**env, "EXACT_COUNT_DIR": directory, "GEIGER_DIR": directory,
                   "GEIGER_INTERVAL": "1", "GEIGER_SEED": "1"}
            for name, library in (("c", COUNTER), ("g", harness.preload_library())):
                link = pathlib.Path(directory, f"{name}.so")
                link.symlink_to(library)
                outcome = harness.run_bare(command, [link], env, **options)
                self.assert_same_outcome(bare, outcome, f"alone with {library}")
            recorded = harness.Recorded(outcome, directory)
            self.assertEqual(recorded_totals(recorded), exact_totals(directory))

    def test_sqlite(self):
        harness.require("sqlite3")
        query = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<20000)"
                 " SELECT count(*), sum(length(hex(randomblob(64)))) FROM c ORDER BY 1")
        self.compare(["sqlite3", ":memory:", query], (20000, 300, 2))

    def test_python(self):
        # The system's Python, each of whose objects is an allocation of its own.
        harness.require("/usr/bin/python3")
        script = ("import json\nrows = [dict(id=i, name='n%d' % i, tags=list(range(i % 7)))"
                  " for i in range(3000)]\n"
                  "text = json.dumps(rows)\nprint(len(text), sum(len(r['tags'])"
                  " for r in json.loads(text)))")
        self.compare(["/usr/bin/python3", "-S", "-c", script], (50000, 800, 5),
                     is_deterministic=False,
                     env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"})

    def test_perl(self):
        harness.require("perl")
        script = ("my %h; $h{$_ % 1000} .= \"x$_\" for 1..60000;"
                  " print length(join q(,), map { \"$_=$h{$_}\" } sort keys %h), qq(\\n)")
        self.compare(["/usr/bin/perl", "-e", script], (10000, 300, 1),
                     env={"PERL_HASH_SEED": "1", "PERL_PERTURB_KEYS": "0"})

    def test_compiler(self):
        harness.require("g++")
        with tempfile.TemporaryDirectory() as cwd:
            pathlib.Path(cwd, "unit.cc").write_text(
                "#include <vector>\n#include <map>\nint f(std::map<int, std::vector<int>>& m)"
                " { return m[3].size(); }\n")
            self.compare(["g++", "-O1", "-S", "-o", "-", "unit.cc"], (20000, 2000, 15), cwd=cwd,
                         is_deterministic=False)

    def test_git(self):
        harness.require("git")
        with tempfile.TemporaryDirectory() as cwd:
            make_repository(cwd)
            self.compare(["git", "--no-pager", "log", "--stat"], (2500, 200, 1), cwd=cwd,
                         env={"HOME": cwd, "GIT_CONFIG_NOSYSTEM": "1"})

    def test_node(self):
        harness.require("/usr/bin/node")
        script = ("const z = require('zlib'); let n = 0;"
                  "for (let i = 0; i < 40; i++) n += z.gzipSync(Buffer.alloc(100000, i)).length;"
                  "console.log(n, JSON.stringify([...Array(2000).keys()]).length)")
        self.compare(["/usr/bin/node", "-e", script], (5000, 500, 10), is_deterministic=False)


def pooled_z(recorded):
    """One z over all processes, so that a small bias in each would show."""
    interval = recorded.traces[0].header.interval
    trials, hits = recorded.total("trials"), recorded.total("hits")
    if interval == 1 or trials == 0:
        return 0.0
    p = 1 / interval
    return (hits - p * trials) / math.sqrt(trials * p * (1 - p))


def make_repository(directory):
    env = {**os.environ, "HOME": directory, "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z"}
    for name in ("AUTHOR", "COMMITTER"):
        env.update({f"GIT_{name}_NAME": "Nobody", f"GIT_{name}_EMAIL": "nobody@example.org"})

    def git(*arguments):
        subprocess.run(["git", "-C", directory, *arguments], check=True, env=env,
                       capture_output=True)

    git("init", "-q")
    for number in range(40):
        pathlib.Path(directory, f"file{number % 7}").write_text(f"line {number}\n" * (number + 1))
        git("add", ".")
        git("commit", "-q", "-m", f"Change number {number}")


class Redis(harness.ProcessTest):
    """A server with threads, an allocator of its own linking, and many connections."""

    def setUp(self):
        harness.require("redis-server", "redis-benchmark", "redis-cli")

    def test_serves(self):
        for interval, least in zip(INTERVALS, (20000, 500, 3)):
            with self.subTest(interval=interval), harness.Recorder(interval) as recorder:
                outcome, replies = self.serve(recorder)
                self.assertEqual(outcome.status, 0, outcome.stdout[-1000:])
                self.assertEqual(replies["get"], "value\n")
                recorded = harness.Recorded(outcome, recorder.directory)
                server, = recorded.of("redis-check-rdb") or recorded.of("redis-server")
                self.assertIn(harness.PROVIDER.name if harness.PROVIDER else "jemalloc",
                              server.header.allocator)
                self.assertGreaterEqual(len(server.samples), least)
                self.assertLess(abs(server.z()), 6)
                self.assertEqual(sum(server.header.drops), 0, server.drops())

    def serve(self, recorder):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "redis.sock")
            server = recorder.start(
                ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir",
                 directory, "--appendonly", "no"], cwd=directory)
            try:
                harness.wait_for_redis(path, server)
                client = ["redis-cli", "-s", path]
                subprocess.run(["redis-benchmark", "-s", path, "-n", "2000", "-q", "-t",
                                "set,get,lpush,sadd,mset"], check=True, capture_output=True)
                subprocess.run([*client, "set", "key", "value"], check=True, capture_output=True)
                get = subprocess.run([*client, "get", "key"], check=True, capture_output=True)
                subprocess.run([*client, "shutdown", "nosave"], capture_output=True)
                return harness.finish(server, None, 60), {"get": get.stdout.decode()}
            finally:
                if server.poll() is None:
                    os.killpg(server.pid, signal.SIGKILL)


class Pprof(harness.ProcessTest):
    """Debian's own pprof opens the export and finds the same totals."""

    def setUp(self):
        harness.require("go")
        self.geiger = harness.BUILD / "bin" / "geiger"
        if not self.geiger.exists():
            self.skipTest("the command line is not built")

    def test_totals(self):
        with harness.Recorder(4096) as recorder, tempfile.TemporaryDirectory() as directory:
            recorded = recorder.run(["/usr/bin/perl", "-e", "push @a, $_ x 3 for 1..20000"])
            trace, = recorded.of("perl")
            export = os.path.join(directory, "profile.pb.gz")
            subprocess.run([self.geiger, "export", "pprof", trace.path, "-o", export], check=True,
                           capture_output=True)
            top = self.pprof("-top", "-sample_index=alloc_space", "-unit=B", export)
            total = next(line for line in top.splitlines() if "% of" in line or "total" in line)
            shown = float(total.split(" of ")[1].split("B")[0])
            self.assertAlmostEqual(shown / trace.estimated_bytes(), 1, delta=1e-3)
            raw = self.pprof("-raw", export)
            self.assertIn("alloc_space/bytes", raw)
            self.assertIn("inuse_space/bytes", raw)

    def pprof(self, *arguments):
        env = {**os.environ, "HOME": tempfile.gettempdir(), "PPROF_TMPDIR": tempfile.gettempdir()}
        return subprocess.run([shutil.which("go"), "tool", "pprof", *arguments], check=True,
                              capture_output=True, text=True, env=env).stdout


if __name__ == "__main__":
    unittest.main()
