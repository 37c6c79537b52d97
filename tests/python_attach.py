#!/usr/bin/env python3
"""Attaches to a Python web server under load and leaves it again: no request fails, and what is
recorded has the names of the program.

    python_attach.py [--cycles N]      (default 20)
"""
import collections
import contextlib
import http.client
import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import unittest

import harness
import pythons
import trace_reader

GEIGER = harness.BUILD / "bin" / "geiger"
SCRIPT = harness.ROOT / "tests" / "python" / "server.py"
LOADERS = 3
REQUESTS_OF_A_CONNECTION = 20
HANDLERS = "Handler.do_GET", "do_GET"  # 3.11 and later have qualified names


class Load:
    """Threads that ask the server until the end of the context."""

    def __init__(self, port):
        self.port, self.is_over = port, False
        self.answered, self.failed = [0] * LOADERS, []
        self.threads = [threading.Thread(target=self.ask_all, args=(i,)) for i in range(LOADERS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def ask_all(self, loader):
        numbers = itertools.count(loader, LOADERS)
        while not self.is_over:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, 60)) as server:
                for number in itertools.islice(numbers, REQUESTS_OF_A_CONNECTION):
                    self.ask(loader, server, number)

    def ask(self, loader, server, number):
        try:
            server.request("GET", f"/{number}")
            answer = server.getresponse()
            body = answer.read()
            is_right = answer.status == 200 and body.count(b'"id"') == number % 50
            self.answered[loader] += is_right
            if not is_right:
                self.failed.append((number, answer.status, body))
        except (OSError, http.client.HTTPException) as error:
            self.failed.append((number, error))
            server.close()


class PythonAttach(unittest.TestCase):
    cycles = 20

    def start(self, python):
        server = subprocess.Popen([python, SCRIPT], stdout=subprocess.PIPE, text=True,
                                  env=harness.environment([]))
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stdout.close)
        return server, int(server.stdout.readline())

    def attach(self, pid, directory):
        """A recording of an instant, and how long the program stood still for it, in ms."""
        path = os.path.join(directory, "r.geiger")
        done = subprocess.run([GEIGER, "attach", "--duration", "30ms", "--interval", "8KiB", "-f",
                               "--no-symbolize", "-o", path, str(pid)], text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return trace_reader.read(path), float(re.search(r"stopped for ([\d.]+) ms", done.stderr)[1])

    def check(self, trace, seen):
        trace.check()
        for sample in trace.samples:
            words = map(trace.interpreted, trace.stacks[sample.stack].frames)
            codes = [word[0] for word in words if word is not None]
            seen["samples"] += 1
            seen["without frames"] += not codes
            seen["without a name"] += not all(code.name and code.file for code in codes)
            seen["of a request"] += any(code.name in HANDLERS for code in codes)

    def test_a_web_server_under_load(self):
        for python in pythons.some_interpreters():
            with self.subTest(python), tempfile.TemporaryDirectory() as directory:
                server, port = self.start(python)
                seen, stops = collections.Counter(), []
                with Load(port) as load:
                    for _ in range(self.cycles):
                        trace, stop = self.attach(server.pid, directory)
                        self.check(trace, seen)
                        stops.append(stop)
                        self.assertIsNone(server.poll())
                print(f"{python}: {len(stops)} attaches, {sum(load.answered)} requests, "
                      f"{len(load.failed)} failed; stopped for {statistics.median(stops):.2f} ms, at "
                      f"most {max(stops):.2f}; {dict(seen)}", flush=True)
                self.assertEqual(load.failed, [])
                self.assertEqual(seen["without a name"], 0)
                self.assertLess(seen["without frames"], 0.01 * seen["samples"])
                self.assertGreater(seen["of a request"], 0.3 * seen["samples"])


if __name__ == "__main__":
    if "--cycles" in sys.argv:
        at = sys.argv.index("--cycles")
        PythonAttach.cycles = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
