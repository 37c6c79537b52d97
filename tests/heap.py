#!/usr/bin/env python3
"""Programs over geiger's own malloc, alone and behind the runtime: they print the same and exit the
same as over the C library's, and what the allocator promises about memory holds.

    heap.py --all       also 10,000 forks under seven allocating threads
"""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

ALLOCATOR = harness.allocator_library()
HOSTS = ("edges", "first", "forms", "processes", "threads", "signals", "exits", "limits", "loading",
         "mappings", "stacks", "sandboxed", "registers")
# Differences that every replacement of malloc makes: one pthread key fewer for the program, and
# blocks of two allocators in a library that is bound to the C library's on purpose.
EXCEPT = {"threads/all_keys", "loading/deep_binding"}
FORKS = 10_000 if "--all" in sys.argv else 300


class Hosts(harness.ProcessTest):
    """Every scenario of the runtime's own battery."""

    def compare(self, behind_runtime):
        for program in HOSTS:
            names = subprocess.run([harness.host(program), "list"], capture_output=True, check=True)
            for name in names.stdout.decode().split():
                if f"{program}/{name}" in EXCEPT:
                    continue
                with self.subTest(scenario=f"{program}/{name}"):
                    self.compare_one([harness.host(program), name], behind_runtime)

    def compare_one(self, command, behind_runtime):
        with tempfile.TemporaryDirectory() as cwd:
            bare = harness.run_bare(command, cwd=cwd)
        with tempfile.TemporaryDirectory() as cwd:
            if behind_runtime:
                ours = harness.record(command, 4096, behind=[ALLOCATOR], cwd=cwd).outcome
            else:
                ours = harness.run_bare(command, [ALLOCATOR], cwd=cwd)
        self.assert_same_outcome(bare, ours)

    def test_alone(self):
        self.compare(behind_runtime=False)

    def test_behind_the_runtime(self):
        self.compare(behind_runtime=True)


SQL = """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000)
insert into t select x, hex(zeroblob(x % 50)) || x from c;
create index i on t(b); select count(*), sum(a), max(b) from t; delete from t where a % 3 = 0;
select sum(length(b)) from t;"""
PYTHON = """import json, threading
def work():
    data = [{"a": i, "b": [str(i)] * 10} for i in range(5000)]
    assert json.loads(json.dumps(data)) == data
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]; print("done")"""
PERL = 'my %h; $h{$_} = "x" x ($_ % 100) for 1..100000; my $n; $n += length for values %h; print "$n\\n"'
NODE = ('const a = []; for (let i = 0; i < 1e5; i++) a.push({i, s: "x" + i});'
        'console.log(a.length, JSON.stringify(a).length)')
CXX = "#include <map>\n#include <string>\nstd::map<std::string, int> m; int f() { return m[\"a\"]; }"


class Programs(harness.ProcessTest):
    def check(self, command, **options):
        harness.require(command[0])
        bare = harness.run_bare(command, **options)
        self.assertEqual(bare.status, 0, bare.stderr[-500:])
        self.assert_same_outcome(bare, harness.run_bare(command, [ALLOCATOR], **options))

    def test_python(self):
        self.check(["python3", "-c", PYTHON])

    def test_git(self):
        self.check(["git", "-C", str(harness.ROOT), "log", "-p", "-n", "50"])

    def test_sqlite(self):
        self.check(["sqlite3", ":memory:", SQL])

    def test_perl(self):
        self.check(["perl", "-e", PERL])

    def test_node(self):
        self.check(["node", "-e", NODE])

    def test_compiler(self):
        self.check(["g++", "-O2", "-x", "c++", "-S", "-o", "-", "-"], data=CXX.encode())

    def test_redis(self):
        harness.require("redis-server", "redis-cli")
        self.assertEqual(self.redis([]), self.redis([ALLOCATOR]))

    def redis(self, preloads):
        """What a server answers that also forks, to save."""
        with tempfile.TemporaryDirectory() as cwd:
            socket = pathlib.Path(cwd, "socket")
            server = harness.start(["redis-server", "--port", "0", "--unixsocket", socket,
                                    "--save", "", "--dir", cwd], preloads)
            script = "for i = 1, 30000 do redis.call('set', i, string.rep('x', i % 700)) end"
            commands = [["eval", script, "0"], ["bgsave"], ["dbsize"], ["debug", "digest"],
                        ["flushall"], ["shutdown", "nosave"]]
            try:
                harness.wait_for_redis(socket, server)
                answers = [subprocess.run(["redis-cli", "-s", str(socket), *command],
                                          capture_output=True, check=False, timeout=60).stdout
                           for command in commands]
            finally:
                outcome = harness.finish(server, None, 30)
            return answers, outcome.status

    def test_run_takes_it_by_its_path(self):
        geiger = harness.BUILD / "bin" / "geiger"
        if not geiger.exists():
            self.skipTest("geiger is not built")
        with tempfile.TemporaryDirectory() as cwd:
            ran = harness.run_bare([geiger, "run", f"--malloc={ALLOCATOR}", "-o", "out.geiger",
                                    "--", "python3", "-c", PYTHON], cwd=cwd)
            self.assertEqual((ran.status, ran.stdout[:5]), (0, b"done\n"), ran.stderr[-500:])
            summary = harness.run_bare([geiger, "summary", "--json", "out.geiger"], cwd=cwd)
        self.assertIn(b"libgeiger-malloc", summary.stdout)


STATISTICS = """#include <malloc.h>
#include <stdlib.h>
int main(void) {
  static void* kept[5000];
  for (int i = 0; i < 5000; ++i) kept[i] = malloc(7000);
  for (int i = 1000; i < 5000; ++i) free(kept[i]);
  malloc_stats();
  return 0;
}"""


class Promises(harness.ProcessTest):
    def numbers(self, scenario, preloads=(ALLOCATOR,), **env):
        """What a scenario of hosts/heap.cc says, by its words."""
        outcome = harness.run_bare([harness.host("heap"), scenario], preloads, env, timeout=600)
        self.assertEqual(outcome.status, 0, outcome.stderr[-500:])
        self.assertNotIn(b"not so", outcome.stdout)
        return {key: int(value) for key, value in
                re.findall(r"^(.*): (-?\d+)$", outcome.stdout.decode(), re.M)}

    def test_first_calls_of_64_threads_at_once(self):
        self.assertEqual(self.numbers("first_calls"), {"blocks of two threads at once": 0})

    def test_memory_of_a_producer_that_ended_goes_back(self):
        found = self.numbers("producer_ends")
        self.assertGreater(found["MiB that the producer held"], 90)
        self.assertLess(found["MiB that stayed"], 20)

    def test_a_thousand_threads_with_forty_sizes(self):
        self.assertLessEqual(self.numbers("many_threads")["MiB of 1,000 threads with 40 sizes"], 64)

    def test_no_address_space_is_an_error_that_passes(self):
        self.numbers("address_space")

    def test_children_of_a_fork_use_what_they_inherit(self):
        self.assertEqual(self.numbers("forks", HEAP_FORKS=str(FORKS)), {"children that failed": 0})

    def test_memory_stays_where_system_calls_end_the_program(self):
        outcome = harness.record([harness.host("heap"), "strict_mode"], 4096,
                                 behind=[ALLOCATOR]).outcome
        self.assertEqual(outcome.status, 0)

    def test_statistics_are_exact(self):
        """What malloc_stats() says, preloaded and linked, of a program's 5,000 calls."""
        harness.require("cc")
        archive = harness.BUILD / "lib" / "libgeiger-malloc.a"
        for libraries, preloads in (([], [ALLOCATOR]), ([archive], [])):
            with self.subTest(libraries=libraries), tempfile.TemporaryDirectory() as cwd:
                built = harness.run_bare(["cc", "-x", "c", "-", "-x", "none", "-o", "program",
                                          *libraries], data=STATISTICS.encode(), cwd=cwd)
                self.assertEqual(built.status, 0, built.stderr[-500:])
                ran = harness.run_bare([pathlib.Path(cwd, "program")], preloads, cwd=cwd)
                self.assertEqual(ran.status, 0)
                said = ran.stderr.decode()
                self.assertIn("7168 bytes: 5000 blocks handed out, 1000 live\n", said)
                census = re.search(r"(?m)^geiger-malloc: (\d+) bytes mapped:(.*)$", said)
                mapped, uses = census.groups()
                self.assertEqual(int(mapped), sum(map(int, re.findall(r"\d+", uses))))

    def test_a_second_free_of_a_large_block(self):
        code = ("import ctypes; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p;"
                "p = ctypes.c_void_p(c.malloc(100000)); c.free(p); c.free(p)")
        outcome = harness.run_bare(["python3", "-c", code], [ALLOCATOR])
        self.assertEqual(outcome.status, -signal.SIGABRT)
        self.assertRegex(outcome.stderr.decode(),
                         r"^geiger-malloc: free\(\): 0x[0-9a-f]{16} is not a live block\n$")


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--all"])
