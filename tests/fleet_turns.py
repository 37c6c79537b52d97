#!/usr/bin/env python3
"""Agents that wake sleeping programs: who records, for how long, and what is left behind.

usage: GEIGER_BUILD_DIR=BUILD fleet_turns.py [TEST...]
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 120  # seconds; only what hangs takes that long
NEVER = "0.0000001%"


class Sleeper:
    """A dormant program; this one allocates all the time, so that it notices requests."""

    DEMO = """
import sys, threading
print("here", flush=True)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
while not stop.is_set():
    kept = [bytes(200 + i % 3000) for i in range(200)]
    stop.wait(0.02)
"""

    def __init__(self, test, demo=DEMO):
        environment = harness.environment([], {
            "LD_PRELOAD": str(harness.preload_entry()), "GEIGER_MODE": "dormant",
            "GEIGER_DIR": test.traces, "XDG_RUNTIME_DIR": test.runtime, "GEIGER_INTERVAL": "4096",
            "OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.version=1.1"})
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", demo],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)
        test.addCleanup(self.end)
        # An agent calls the programs that sleep when a turn begins, none that start later.
        self.process.stdout.readline()
        test.wait_for(lambda: test.state_of(self) == "dormant", "it sleeps")

    def end(self):
        if self.process.poll() is None:
            self.process.communicate(timeout=PATIENCE)


def minds(pid, number):
    """Whether a process catches or blocks a signal."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    masks = re.findall(r"(?m)^Sig(?:Blk|Cgt):\s*(\w+)$", status)
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


class FleetTurns(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="fleet-turns-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.store, self.traces, self.runtime = (
            os.path.join(self.directory, name) for name in ("fleet.db", "traces", "runtime"))
        for path in (self.traces, self.runtime):
            os.mkdir(path, 0o700)
        self.turns = pathlib.Path(self.traces, "turns")

    def environment(self):
        return {**os.environ, "XDG_RUNTIME_DIR": self.runtime}

    def geiger(self, *words, code=0):
        done = subprocess.run([GEIGER, *words], capture_output=True, text=True, timeout=PATIENCE,
                              env=self.environment())
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    @contextlib.contextmanager
    def agent(self, *options, end=signal.SIGTERM):
        process = subprocess.Popen(
            [GEIGER, "agent", "--to", self.store, "--watch", self.traces, "--spool",
             os.path.join(self.directory, "spool"), "--grid", "1s", "--host", "web-1", *options],
            stderr=subprocess.PIPE, text=True, env=self.environment())
        self.wait_for(lambda: process.poll() is not None or minds(process.pid, signal.SIGTERM),
                      "it can be ended")
        try:
            yield process
        finally:
            process.send_signal(end)
            self.said = process.communicate(timeout=PATIENCE)[1]
        if end == signal.SIGTERM:
            self.assertEqual(process.returncode, 0, self.said)

    def rows(self, query):
        """Of the store; none as long as it has no tables."""
        with contextlib.closing(sqlite3.connect(self.store)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'windows'").fetchall():
                return []
            return database.execute(query).fetchall()

    def facts_of(self, program):
        told = json.loads(self.geiger("ctl", str(program.process.pid), "--json"))
        return told["processes"][0]

    def state_of(self, program):
        return self.facts_of(program)["state"]

    def wait_for(self, what, why):
        deadline = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), deadline, why)
            time.sleep(0.05)

    def test_turns_are_recorded_and_the_rest_is_known(self):
        program = Sleeper(self)
        with self.agent("--record", "2s/5s", "--share", "100%"):
            for kind in ("recorded_ms > 0", "recorded_ms = 0"):
                self.wait_for(lambda kind=kind: len(self.rows(
                    f"SELECT 1 FROM windows WHERE {kind}")) >= 3, kind)
        self.assertEqual(harness.problems_of_agent(self.said), [])
        # The second turn or later has ended by now or with the agent.
        self.wait_for(lambda: self.state_of(program) == "dormant", "it sleeps again")
        windows = self.rows("SELECT DISTINCT service, version, host, executable FROM windows")
        self.assertEqual(windows, [("shop", "1.1", "web-1", os.path.realpath("/usr/bin/python3"))])
        # In a window of a second a program may not get to run on a busy machine.
        self.assertEqual(self.rows("SELECT MAX(from_start), MAX(samples) > 0, MAX(rss_byte_seconds) > 0 "
                                   "FROM windows WHERE recorded_ms > 0"), [(0, 1, 1)])
        # Windows without a recording are of whole steps, but for the program's first.
        self.assertLessEqual(set(self.rows("SELECT DISTINCT alive_ms FROM windows "
                                           "WHERE recorded_ms = 0 AND alive_ms = 1000")), {(1000,)})
        (part,) = json.loads(self.geiger("fleet", "top", "--store", self.store, "--json"))["fleet"]
        self.assertGreater(part["expected_hours"], part["recorded_hours"])
        self.assertEqual((part["hosts"], part["recorded_hosts"]), (1, 1))
        # What was sent is removed, by this agent or the next one.
        with self.agent("--record", "2s/5s", "--share", NEVER):
            self.wait_for(lambda: not list(self.turns.iterdir()), "traces of turns go")
        program.end()
        self.assertEqual(program.process.returncode, 0)

    def test_programs_that_do_not_allocate_are_recorded_when_they_do(self):
        """Whether a program answers at once or later, the agent has nothing to complain of."""
        program = Sleeper(self, """
import sys
print("here", flush=True)
for line in sys.stdin:
    kept = [bytes(200 + i % 3000) for i in range(2000)]
""")
        with self.agent("--record", "1h/1h"):
            self.wait_for(lambda: self.facts_of(program).get("asked_to_record"), "it is called")
            program.process.stdin.write(b"now\n")
            program.process.stdin.flush()
            self.wait_for(lambda: self.state_of(program) == "recording", "its turn")
        self.assertEqual(harness.problems_of_agent(self.said), [])

    def test_hosts_that_are_not_drawn_only_say_that_they_run(self):
        program = Sleeper(self)
        with self.agent("--record", "1s/1s", "--share", NEVER):
            self.wait_for(lambda: len(self.rows("SELECT 1 FROM windows")) >= 3, "windows")
            self.assertEqual(self.state_of(program), "dormant")
        self.assertEqual(self.rows("SELECT SUM(recorded_ms), SUM(row_count) FROM windows"), [(0, 0)])
        self.assertEqual(list(self.turns.iterdir()), [])

    def test_killed_in_a_turn(self):
        """The next agent ends the turn, and counts what was recorded once."""
        program = Sleeper(self)
        with self.agent("--record", "1h/1h", end=signal.SIGKILL):
            self.wait_for(lambda: self.state_of(program) == "recording", "its turn")
            self.wait_for(lambda: self.rows("SELECT 1 FROM windows WHERE samples > 0"), "a window")
        self.assertEqual(self.state_of(program), "recording")
        copy = os.path.join(self.directory, "copy")
        with self.agent("--record", "1h/1h", "--share", NEVER):
            self.wait_for(lambda: self.state_of(program) == "dormant", "the turn is over")
            with contextlib.suppress(FileNotFoundError, shutil.Error):
                shutil.copytree(self.turns, copy)
            self.wait_for(lambda: not list(self.turns.iterdir()), "the trace goes")
        self.assertEqual(self.rows("SELECT * FROM gaps"), [])
        sequences = [row[0] for row in self.rows(
            "SELECT sequence FROM windows WHERE recorded_ms > 0 ORDER BY started")]
        self.assertEqual(sequences, list(range(len(sequences))))
        if os.path.exists(copy) and os.listdir(copy):  # It may be gone sooner.
            told = json.loads(self.geiger("summary", "--json", copy))["processes"]
            self.assertEqual(self.rows("SELECT SUM(samples) FROM windows"), [(told[0]["samples"],)])

    def test_recordings_of_others_go_on(self):
        program = Sleeper(self)
        own = os.path.join(self.directory, "own")
        os.mkdir(own)
        self.geiger("ctl", str(program.process.pid), "start", "--directory", own, "--wait", "20s")
        with self.agent("--record", "1s/2s"):
            time.sleep(4)
            self.assertEqual(self.state_of(program), "recording")
        self.assertEqual(self.state_of(program), "recording")
        self.assertEqual(list(self.turns.iterdir()), [])

    def test_usage(self):
        for words, why in ((("--record", "2m"), "example: 2m/1h"), (("--share", "5%"), "--record"),
                           (("--record", "2m/1h", "--share", "5"), "example: 5%")):
            done = subprocess.run([GEIGER, "agent", "--to", self.store, "--watch", self.traces,
                                   *words], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
