#!/usr/bin/env python3
"""Agents and collectors: whatever fails in between, a store has what the traces have, once.

usage: GEIGER_BUILD_DIR=BUILD fleet_push.py [TEST...]
"""
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 60  # seconds; only what hangs takes that long
TOKENS = ("a-token-of-the-first-host", "a-token-of-the-second-host")
DEMO = """
import sys
kept = []
for line in sys.stdin:
    kept += [bytes(200 + i % 3000) for i in range(int(line))]
    del kept[::3]
    print("ok", flush=True)
"""

DEEP = """
import ast, copy, difflib, json, pydoc, xml.dom.minidom
kept = []
def nested(depth):
    return [nested(depth - 1)] if depth else [bytes(100 + i) for i in range(300)]
for module in (ast, copy, difflib, json, pydoc):
    tree = ast.parse(open(module.__file__).read())
    kept += [ast.unparse(tree), copy.deepcopy(tree.body[:40]), pydoc.render_doc(module)]
    kept.append(json.loads(json.dumps([ast.dump(node) for node in tree.body], indent=1)))
rows = "".join(f'<row number="{i}"><text>{i}</text></row>' for i in range(1000))
document = xml.dom.minidom.parseString(f"<table>{rows}</table>")
kept += [document, document.toprettyxml(), [nested(depth) for depth in range(0, 60, 7)]]
kept += difflib.unified_diff(rows[:4000].split(">"), rows[200:4200].split(">"))
"""


def memory(mebibytes):
    """Starts a program that gets no more; the stacks of threads count whole, so they are small."""
    return ["prlimit", f"--data={mebibytes << 20}", "--stack=524288"]


def recorded(traces, **variables):
    """The environment of a program that is recorded into a directory."""
    return harness.environment([], {"LD_PRELOAD": str(harness.preload_entry()), "GEIGER_DIR": traces,
                                    **variables})


class Program:
    """A program that allocates when it is told to, recorded into a directory."""

    def __init__(self, traces, **variables):
        environment = recorded(traces, **{
            "GEIGER_INTERVAL": "16384", "OTEL_SERVICE_NAME": "shop",
            "OTEL_RESOURCE_ATTRIBUTES": "a=b,service.version=1%2C1", **variables})
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", DEMO], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)
        self.allocate(100)

    def allocate(self, objects=3000):
        self.process.stdin.write(f"{objects}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n"

    def end(self):
        self.process.communicate(timeout=PATIENCE)


class FleetPush(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="fleet-push-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.store = self.path("fleet.db")
        self.traces = self.path("traces")
        os.mkdir(self.traces)
        self.tokens = self.path("tokens")
        self.write_tokens(TOKENS)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write_tokens(self, tokens):
        pathlib.Path(self.tokens).write_text("# hosts\n" + "".join(f"{token}\n" for token in tokens))
        os.chmod(self.tokens, 0o600)

    def program(self, **variables):
        program = Program(self.traces, **variables)
        self.addCleanup(program.process.kill)
        return program

    def shifted(self, shift):
        """The environment in which clocks are off by this."""
        library = harness.LIBRARIES / "faketime" / "libfaketimeMT.so.1"
        if not library.exists():
            self.skipTest("faketime is not installed")
        return {"LD_PRELOAD": str(library), "FAKETIME": shift}

    @contextlib.contextmanager
    def collector(self, *options, shift=None, prefix=()):
        """Its URL. `shift`: of its clock."""
        environment = {**os.environ, **(self.shifted(shift) if shift else {})}
        process = subprocess.Popen(
            [*prefix, GEIGER, "collect", "--store", self.store, "--listen", "127.0.0.1:0",
             "--token-file", self.tokens, *options], stdout=subprocess.PIPE, text=True,
            env=environment)
        try:
            yield process.stdout.readline().split()[0]
        finally:
            self.end(process)

    def end(self, process, pid=None):
        """`pid`: of the collector, if another program runs it."""
        os.kill(pid or process.pid, signal.SIGTERM)
        try:
            self.assertEqual(process.wait(PATIENCE), 0)
        finally:  # One that stays would keep this test's output open.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid or process.pid, signal.SIGKILL)
            process.stdout.close()

    def agent_command(self, to, *options, spool="spool", grid="1s"):
        return [GEIGER, "agent", "--to", to, "--watch", self.traces, "--spool", self.path(spool),
                "--grid", grid, "--host", "web-1", *options]

    def agent(self, to, *options, prefix=(), shift=None, **where):
        return subprocess.run([*prefix, *self.agent_command(to, "--once", *options, **where)],
                              capture_output=True, text=True, timeout=PATIENCE,
                              env={**self.environment(), **(self.shifted(shift) if shift else {})})

    def environment(self):
        return {**os.environ, "GEIGER_TOKEN_FILE": self.tokens}

    def rows(self, query):
        with contextlib.closing(sqlite3.connect(self.store)) as database:
            return database.execute(query).fetchall()

    def window_count(self):
        with contextlib.suppress(sqlite3.OperationalError):  # There are no tables yet.
            return len(self.rows("SELECT 1 FROM windows"))
        return 0

    def wait_until(self, holds):
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(sqlite3.OperationalError):  # There are no tables yet.
                if holds():
                    return
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def assert_all_there(self):
        """The store has what the traces have, to the sample and to the byte."""
        told = subprocess.run([GEIGER, "summary", "--json", self.traces], capture_output=True,
                              text=True, check=True).stdout
        (process,) = json.loads(told)["processes"]
        ((samples, exact, counted),) = self.rows(
            "SELECT SUM(samples), SUM(exact_bytes), (SELECT SUM(allocated) FROM window_counts) "
            "FROM windows")
        self.assertEqual((samples, counted), (process["samples"], process["samples"]))
        self.assertEqual(exact, process["exact"]["bytes"])
        self.assertEqual(self.rows("SELECT * FROM gaps"), [])
        sequences = [row[0] for row in self.rows("SELECT sequence FROM windows ORDER BY started")]
        self.assertEqual(sequences, list(range(len(sequences))))

    def test_traces_of_turns_are_removed_and_no_file_elsewhere(self):
        """A directory in that of turns may be another user's, who could put a link in its place."""
        for name in ("turns", "turns/theirs"):
            os.makedirs(os.path.join(self.traces, name), exist_ok=True)
            self.program().end()
            (trace,) = pathlib.Path(self.traces).glob("*.geiger")
            trace.rename(os.path.join(self.traces, name, "a.geiger"))
        self.assertEqual(self.agent(self.store, "--record", "1s/1h").returncode, 0)
        self.assertEqual(len(self.rows("SELECT process FROM windows")), 2)
        left = [str(path.relative_to(self.traces)) for path in pathlib.Path(self.traces).rglob("*.geiger")]
        self.assertEqual(left, ["turns/theirs/a.geiger"])

    def test_killed_at_every_step(self):
        harness.require("strace")
        program, kills = self.program(), 0
        with self.collector() as url:
            for call in ("fsync", "renameat", "unlinkat", "sendto"):
                for step in range(1, 40):
                    program.allocate()
                    killed = self.agent(url, prefix=[
                        "strace", "-qqq", "-o", "/dev/null", "-e",
                        f"trace={call}", "-e", f"inject={call}:signal=KILL:when={step}"])
                    if killed.returncode == 0:
                        break
                    self.assertIn(killed.returncode, (-9, 137), killed.stderr)
                    kills += 1
                    if step % 2:
                        program.allocate()  # Else twice killed in a row.
                        self.assertEqual(self.agent(url).returncode, 0)
            program.end()
            done = self.agent(url)
            self.assertEqual((done.returncode, harness.problems_of_agent(done.stderr)), (0, []))
        self.assertGreaterEqual(kills, 10)
        self.assert_all_there()
        self.assertEqual(self.rows("SELECT DISTINCT service, version, host FROM windows"),
                         [("shop", "1,1", "web-1")])

    def test_agent_that_goes_on(self):
        """Windows on the grid; killed in between, and ended by SIGTERM."""
        program = self.program()
        with self.collector() as url:
            for end in (signal.SIGKILL, signal.SIGTERM):
                before = self.window_count()
                agent = subprocess.Popen(self.agent_command(url), env=self.environment())
                deadline = time.monotonic() + PATIENCE
                while self.window_count() < before + 2 and time.monotonic() < deadline:
                    program.allocate()
                    time.sleep(0.5)
                agent.send_signal(end)
                self.assertEqual(agent.wait(PATIENCE), 0 if end == signal.SIGTERM else -9)
            self.assertEqual(os.listdir(self.path("spool/waiting")), [])
            program.end()
            self.assertEqual(self.agent(url).returncode, 0)
        self.assert_all_there()
        self.assertGreater(self.window_count(), 4)
        # What runs has resident memory: an interpreter's, and not more than this one could take.
        (least, most), = self.rows("SELECT MIN(rss_byte_seconds * 1000.0 / recorded_ms), "
                                   "MAX(rss_byte_seconds * 1000.0 / recorded_ms) FROM windows "
                                   "WHERE rss_byte_seconds > 0")
        self.assertGreater(least, 4 << 20)
        self.assertLess(most, 256 << 20)

    def test_a_program_that_is_killed(self):
        """What it allocated counts, and reports say how it ended; one that exits is not mentioned."""
        killed, ended = self.program(), self.program()
        agent = subprocess.Popen(self.agent_command(self.store), env=self.environment())
        self.wait_until(lambda: len(self.rows("SELECT DISTINCT process FROM windows")) == 2)
        killed.process.kill()
        killed.process.wait(PATIENCE)
        ended.end()
        self.wait_until(lambda: self.rows("SELECT 1 FROM gaps"))
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(PATIENCE), 0)
        self.assertEqual(self.rows("SELECT first = last, reason LIKE 'ended without exit%' FROM gaps"), [(1, 1)])
        done = subprocess.run([GEIGER, "fleet", "top", "--store", self.store], capture_output=True, text=True)
        self.assertIn("1 process ended without exit", done.stdout)
        self.assertIn("nothing is missing", done.stdout)

    def test_aggregated_programs(self):
        """Their traces have tallies in place of samples; windows are differences of those."""
        program = self.program(GEIGER_MODE="aggregate")
        for _ in range(3):
            program.allocate(20000)
            self.assertEqual(self.agent(self.store).returncode, 0)
            time.sleep(1)  # The program writes its counts about as often.
        program.end()
        self.assertEqual(self.agent(self.store).returncode, 0)
        self.assert_all_there()
        self.assertGreater(len(self.rows("SELECT 1 FROM windows WHERE samples > 0")), 1)

    def test_a_spool_sent_twice(self):
        """By a copy of the host, say, and long after: the store keeps each window once."""
        program = self.program()
        for _ in range(3):
            program.allocate()
            self.agent("http://127.0.0.1:9/")
        shutil.copytree(self.path("spool"), self.path("copy"))
        program.end()
        with self.collector() as url:
            self.assertEqual(self.agent(url).returncode, 0)
            traces, self.traces = self.traces, self.path("none")
            self.assertEqual(self.agent(url, spool="copy").returncode, 0)
            self.traces = traces
        self.assertEqual(os.listdir(self.path("copy/waiting")), [])
        self.assert_all_there()

    def test_what_comes_too_late_is_a_gap(self):
        program = self.program()
        program.allocate()
        self.agent("http://127.0.0.1:9/")
        program.end()
        self.agent("http://127.0.0.1:9/")
        waiting = len(os.listdir(self.path("spool/waiting")))
        # The store was down for so long that it keeps these days no more.
        with self.collector(shift="+100d") as url:
            self.assertIn("was refused: 422", self.agent(url).stderr)
            self.assertEqual(self.agent(url).returncode, 0)
        self.assertEqual(len(os.listdir(self.path("spool/refused"))), waiting)
        self.assertEqual(self.rows("SELECT COUNT(*) FROM windows"), [(0,)])
        ((reason,),) = self.rows("SELECT DISTINCT reason FROM gaps")
        self.assertIn("refused: 422", reason)

    def test_an_agent_that_comes_too_late_tells_a_gap(self):
        program = self.program()
        program.end()
        done = self.agent(self.store, shift="+8d")
        self.assertIn("too old", done.stderr)
        self.assertEqual(self.rows("SELECT COUNT(*) FROM windows"), [(0,)])
        self.assertEqual(self.rows("SELECT reason FROM gaps"), [("too old",)])

    def test_store_is_down_and_back(self):
        program = self.program()
        for _ in range(4):
            program.allocate()
            done = self.agent("http://127.0.0.1:9/")
            self.assertEqual(done.returncode, 1)
            self.assertIn("not sent", done.stderr)
        program.end()
        with self.collector() as url:
            self.assertEqual(self.agent(url).returncode, 0)
        self.assert_all_there()

    def test_collector_killed(self):
        """What it answered with 200 is there."""
        program = self.program()
        for _ in range(6):
            program.allocate()
            collector = subprocess.Popen(
                [GEIGER, "collect", "--store", self.store, "--listen", "127.0.0.1:0",
                 "--token-file", self.tokens], stdout=subprocess.PIPE, text=True)
            url = collector.stdout.readline().split()[0]
            self.assertEqual(self.agent(url).returncode, 0)
            collector.kill()
            collector.communicate()
        program.end()
        with self.collector() as url:
            self.agent(url)
        self.assert_all_there()

    def test_collector_killed_while_it_writes(self):
        """Whatever part of a document was in the file, it is sent again and counts once."""
        harness.require("strace")
        program, kills = self.program(), 0
        with self.collector():
            pass  # The tables are there.
        for write in range(12, 36, 3):  # Of a thread; the one that opens the file writes less often.
            program.allocate()
            collector = subprocess.Popen(
                ["strace", "-fqqq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e",
                 f"inject=pwrite64:signal=KILL:when={write}", GEIGER, "collect", "--store", self.store,
                 "--listen", "127.0.0.1:0", "--token-file", self.tokens], stdout=subprocess.PIPE, text=True)
            url = collector.stdout.readline().split()[0]
            kills += self.agent(url).returncode != 0
            collector.terminate()
            collector.communicate(timeout=PATIENCE)
        self.assertGreaterEqual(kills, 5)
        program.end()
        with self.collector() as url:
            self.assertEqual(self.agent(url).returncode, 0)
        self.assert_all_there()

    def test_collector_stopped_before_it_listens(self):
        """Its threads begin late; it must end for all that."""
        harness.require("strace")
        collector = subprocess.Popen(
            ["strace", "-fqqq", "-o", "/dev/null", "-e", "trace=rseq", "-e",
             "inject=rseq:delay_enter=300000", GEIGER, "collect", "--store", self.store, "--listen",
             "127.0.0.1:0", "--token-file", self.tokens], stdout=subprocess.PIPE, text=True)
        self.assertIn("http://127.0.0.1:", collector.stdout.readline())
        own = pathlib.Path(f"/proc/{collector.pid}/task/{collector.pid}/children").read_text().split()
        self.end(collector, int(own[0]))

    def test_disk_full(self):
        place = self.path("small")
        os.mkdir(place)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", place]).returncode:
            self.skipTest("mounting is not permitted")
        try:
            program = self.program()
            filler = os.path.join(place, "filler")
            with self.collector() as url:
                self.assertEqual(self.agent(url, spool="small").returncode, 0)
                with contextlib.suppress(OSError), open(filler, "wb", 0) as file:
                    while True:
                        file.write(bytes(4096))
                program.allocate(30000)
                done = self.agent(url, spool="small")
                self.assertIn("No space left on device; the next window will have it", done.stderr)
                os.remove(filler)
                program.allocate()
                program.end()
                done = self.agent(url, spool="small")
        finally:
            subprocess.run(["umount", place], check=True)
        self.assertEqual(harness.problems_of_agent(done.stderr), [])
        self.assert_all_there()

    def test_spool_full(self):
        program = self.program()
        sent = 0
        for _ in range(8):
            program.allocate(20000)
            done = self.agent("http://127.0.0.1:9/", "--spool-bytes", "40kB")
            sent += 1
        self.assertIn("dropped before it was sent: the spool is full", done.stderr)
        size = sum(file.stat().st_size for file in pathlib.Path(self.path("spool/waiting")).iterdir())
        self.assertLessEqual(size, 41_000)
        program.end()
        with self.collector() as url:
            self.assertEqual(self.agent(url).returncode, 0)
        ((first, last, reason),) = self.rows("SELECT first, last, reason FROM gaps")
        self.assertEqual(reason, "spool full")
        sequences = [row[0] for row in self.rows("SELECT sequence FROM windows ORDER BY started")]
        self.assertEqual(sequences, list(range(sequences[0], sequences[0] + len(sequences))))
        self.assertGreater(sequences[0], 0)  # The oldest are missing, and only they.
        self.assertLess(last, self.rows("SELECT MIN(started) FROM windows")[0][0] + 2)

    def test_64_mib_of_memory(self):
        """Suffice for an agent. A collector that gets thousands of counts 200 times at once lives, and has those
        hosts send again for which it has no memory."""
        document = self.captured_of(self.program(GEIGER_INTERVAL="512"), 60000)
        for trace in pathlib.Path(self.traces).iterdir():  # The agent sends another program's.
            trace.unlink()
        self.program(GEIGER_INTERVAL="512").allocate(60000)
        with self.collector(prefix=memory(64)) as url:
            done = self.agent(url, prefix=memory(64))
            self.assertEqual((done.returncode, harness.problems_of_agent(done.stderr)), (0, []))
            answers = self.post_200_times(url, document)
        self.assertLessEqual(set(answers), {0, 200, 408, 429, 500, 503})
        self.assertGreater(answers.count(200), 0)
        self.assertEqual(self.rows("SELECT COUNT(*), COUNT(DISTINCT process) FROM windows"), [(2, 2)])
        ((rows,),) = self.rows("SELECT MAX(row_count) FROM windows")
        self.assertGreater(rows, 2000)

    def test_out_of_memory(self):
        """An agent that ends for lack of memory, wherever that is, loses nothing and sends nothing twice."""
        program, failures = self.program(GEIGER_INTERVAL="4096"), 0
        with self.collector() as url:
            for limit in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32):
                program.allocate()
                failed = self.agent(url, prefix=memory(limit))
                failures += failed.returncode != 0
                self.assertNotIn("std::", failed.stderr)
                if limit % 2:
                    program.allocate()
                    self.assertEqual(self.agent(url, prefix=memory(64)).returncode, 0)
            program.end()
            done = self.agent(url, prefix=memory(64))
            self.assertEqual((done.returncode, harness.problems_of_agent(done.stderr)), (0, []))
        self.assertGreaterEqual(failures, 2)
        self.assert_all_there()

    def test_no_threads(self):
        """The stacks of a collector's threads do not fit into its memory."""
        done = subprocess.run(
            ["prlimit", f"--as={384 << 20}", "--stack=8388608", GEIGER, "collect", "--store", self.store,
             "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Ageiger: cannot start 64 threads \(.*\n\Z")

    def captured(self):
        """A packed document, as an agent sends it."""
        return self.captured_of(self.program(), 3000)

    def captured_of(self, program, objects):
        program.allocate(objects)
        document = self.spooled()
        program.end()
        return document

    def spooled(self):
        self.agent("http://127.0.0.1:9/", spool="captured")
        (document,) = pathlib.Path(self.path("captured/waiting")).iterdir()
        return document.read_bytes()

    def test_documents_are_small(self):
        """At most 16 kB per 1,200 rows, where stacks are deep and come from all over a library."""
        subprocess.run(["/usr/bin/python3", "-c", DEEP], check=True, timeout=PATIENCE,
                       env=recorded(self.traces, GEIGER_INTERVAL="131072", GEIGER_SEED="1",
                                    PYTHONHASHSEED="0"))
        document = self.spooled()
        self.assertEqual(self.agent(self.store).returncode, 0)
        ((rows,),) = self.rows("SELECT row_count FROM windows")
        self.assertGreater(rows, 1200)
        self.assertLess(len(document), 16_000 * rows / 1200)

    def post(self, url, body, token=TOKENS[0], method="POST", **headers):
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=PATIENCE)
        connection.request(method, "/", body, {"Content-Type": "application/octet-stream",
                                               "Authorization": "Bearer " + token, **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer

    def post_or_0(self, url, document):
        try:
            return self.post(url, document)[0]
        except ConnectionError:  # No room in the queue of connections; agents come back, too.
            return 0

    def post_200_times(self, url, document):
        """The answers, at once; then it is taken."""
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            answers = list(pool.map(lambda _: self.post_or_0(url, document), range(200)))
        self.assertEqual(self.post_or_0(url, document), 200)
        return answers

    def test_what_is_refused(self):
        document = self.captured()
        with self.collector("--keep-days", "1") as url:
            status, _, answer = self.post(url, document)
            self.assertEqual(status, 200)
            self.assertRegex(answer.getheader("Date"), r"^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$")
            self.assertEqual(self.post(url, document)[0], 200)  # Known.
            self.assertEqual(self.post(url, b"nonsense")[0], 400)
            # Only said to be so large: it is not read.
            self.assertEqual(self.post(url, b"", **{"Content-Length": str((8 << 20) + 1)})[0], 413)
            self.assertEqual(self.post(url, document, token="a-token-of-nobody")[0], 401)
            # Agents ask for the time, which is no document.
            self.assertEqual(self.post(url, None, token="a-token-of-nobody", method="GET")[0], 401)
            self.assertEqual(self.post(url, document, method="PUT")[0], 405)
            self.assertEqual(self.post(url, document, method="GET")[0], 200)
            self.assertEqual(self.post(url, document, **{"Content-Encoding": "gzip"})[0], 415)
            # Revoked without a restart.
            self.write_tokens(TOKENS[1:])
            self.assertEqual(self.post(url, document)[0], 401)
            self.assertEqual(self.post(url, document, token=TOKENS[1])[0], 200)
            self.assertEqual(self.post(url, None, token=TOKENS[1])[0], 400)
        refusals = dict(self.rows("SELECT reason, documents FROM refusals"))
        self.assertEqual(refusals, {"malformed": 2, "too large": 1, "no valid token": 2})
        self.assertEqual(self.rows("SELECT COUNT(*) FROM windows"), [(1,)])

    def test_other_times_and_contents(self):
        """Of one trace, pushed under other conditions: the key is the same, the contents differ."""
        program = self.program()
        program.allocate(1000)
        with self.collector() as url:
            self.assertEqual(self.agent(url, spool="one", grid="1h").returncode, 0)
            program.allocate(1000)
            done = self.agent(url, spool="two", grid="1h")
            program.end()
        self.assertIn("was refused: 409 its window is stored with different contents", done.stderr)
        self.assertEqual(len(os.listdir(self.path("two/refused"))), 1)
        self.assertEqual(self.rows("SELECT reason, documents FROM refusals"), [("conflict", 1)])
        self.assertEqual(len(self.rows("SELECT * FROM gaps WHERE reason LIKE 'refused: 409%'")), 0)
        # The gap waits for the next time.
        with self.collector() as url:
            self.agent(url, spool="two", grid="1h")
        self.assertEqual(len(self.rows("SELECT * FROM gaps WHERE reason LIKE 'refused: 409%'")), 1)

    def test_too_old_and_too_new(self):
        document = self.captured()
        for shift, what in (("+100d", "too old"), ("-3d", "too new")):
            with self.collector(shift=shift) as url:
                self.assertEqual(self.post(url, document)[0], 422)
            self.assertEqual(dict(self.rows("SELECT reason, documents FROM refusals"))[what], 1)
        self.assertEqual(self.rows("SELECT COUNT(*) FROM windows"), [(0,)])

    def test_clock_off_by_two_hours(self):
        """The document has the collector's time, and keeps by how much the host's was off."""
        program = self.program()
        program.allocate()
        started = time.time()
        for shift in ("+2h", "-2h"):
            with self.collector(shift=shift) as url:
                done = self.agent(url, spool=shift)
                self.assertEqual((done.returncode, harness.problems_of_agent(done.stderr)), (0, []))
        windows = self.rows("SELECT started, skew_ms FROM windows ORDER BY started")
        program.end()
        for (time_of, skew), hours in zip(windows, (-2, 2)):
            self.assertAlmostEqual(time_of - started, hours * 3600, delta=30)
            self.assertAlmostEqual(skew, -hours * 3_600_000, delta=30_000)

    def test_429_is_heeded(self):
        """Retry-After is waited for, and nothing is sent before."""
        times = []

        class Busy(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                times.append(time.monotonic())
                self.rfile.read(int(self.headers["Content-Length"]))
                busy = len(times) == 1
                self.send_response(429 if busy else 200)
                if busy:
                    self.send_header("Retry-After", "2")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                self.send_error(404)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        program = self.program()
        program.end()
        agent = subprocess.Popen(self.agent_command(f"http://127.0.0.1:{server.server_port}/"),
                                 stderr=subprocess.PIPE, text=True, env=self.environment())
        deadline = time.monotonic() + PATIENCE
        while len(times) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        agent.terminate()
        self.assertIn("not sent: 429", agent.communicate()[1])
        self.assertGreaterEqual(times[1] - times[0], 2)

    def test_200_at_once(self):
        """All are kept in the end; those that do not fit are told to come back."""
        document = self.captured()

        with self.collector() as url:
            answers = self.post_200_times(url, document)
        self.assertLessEqual(set(answers), {0, 200, 429})
        self.assertGreater(answers.count(200), 20)
        self.assertEqual(self.rows("SELECT COUNT(*) FROM windows"), [(1,)])

    def test_hostile_bytes(self):
        """Damaged documents are refused; the collector goes on."""
        document, chance = self.captured(), random.Random(1)
        with self.collector() as url:
            for _ in range(150):
                damaged = bytearray(document)
                for _ in range(chance.randrange(1, 5)):
                    damaged[chance.randrange(len(damaged))] = chance.randrange(256)
                damaged = damaged[:chance.randrange(len(damaged))] if chance.random() < 0.3 else damaged
                if damaged != document:
                    self.assertEqual(self.post(url, bytes(damaged))[0], 400)
            self.assertEqual(self.post(url, document)[0], 200)

    def test_directories_that_are_not_there(self):
        self.traces = self.path("none")
        done = self.agent(self.store)
        self.assertEqual(done.returncode, 0)
        self.assertIn("none: No such file or directory; its traces are followed once", done.stderr)

    def test_urls_and_files_of_tokens(self):
        for to, code, why in (
                ("http://collector.example/", 1, "http:// is for this host only"),
                ("https://me:secret@collector.example/", 1, "a URL must not contain secrets"),
                ("ftp://collector.example/", 2, "choose from PATH, file://PATH, clickhouse+https://")):
            done = self.agent(to)
            self.assertEqual(done.returncode, code)
            self.assertIn(why, done.stderr)
        for mode, what in ((0o644, "read"), (0o602, "write")):
            os.chmod(self.tokens, mode)
            self.assertIn(f"every user can {what} it", self.agent("http://127.0.0.1:9/").stderr)
        with_curl = subprocess.run(["ldd", GEIGER], capture_output=True, text=True).stdout
        self.assertNotIn("curl", with_curl)


if __name__ == "__main__":
    unittest.main()
