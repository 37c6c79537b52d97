#!/usr/bin/env python3
"""Connections that send, or read, a byte now and then do not keep others from being answered.

usage: GEIGER_BUILD_DIR=BUILD slow_connections.py [TEST...]

The slow ones go on until the test ends: a server that waits for them answers too late for every
patience. No test measures how long an answer takes.
"""
import http.client
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 60  # seconds; only what hangs takes that long
TOKEN = "a-token-for-slow-connections"
MOST_BODY = 8 << 20
NOBODY = 65534
HEADERS = (f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{{port}}\r\nAuthorization: Bearer {TOKEN}\r\n"
           "Content-Type: application/octet-stream\r\n"
           f"Content-Length: {MOST_BODY}\r\n\r\n")
KINDS = {  # What a slow connection sends at first, and whether it goes on byte by byte.
    "silent": ("", False),
    "headers": ("POST / HTTP/1.1\r\nHost: ", True),
    "body": (HEADERS, True),
    "long body": (HEADERS + 20000 * "x", True),
    "stranger": (HEADERS.replace(TOKEN, "a-token-that-nobody-has"), True),
    "reader": (f"GET /{TOKEN}/ HTTP/1.1\r\nHost: 127.0.0.1:{{port}}\r\n\r\n", False),
}


class SlowConnections:
    """A number of them to one port. One that the server ends is opened again."""

    def __init__(self, port, kind, number):
        self.port, self.number = port, number
        begin, self.drips = KINDS[kind]
        self.reads = kind == "reader"
        self.begin = begin.format(port=port).encode()
        self.opened = self.begun = 0
        self.answers = set()
        self.rests = {}  # What a connection has not sent of its beginning; None: it has begun.
        self.ends, self.have_begun = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.go_on)
        self.thread.start()
        assert self.have_begun.wait(PATIENCE)

    def go_on(self):
        while not self.ends.wait(0.2):
            for connection in list(self.rests):
                self.go_on_with(connection)
            if self.begun >= self.number:
                self.have_begun.set()
            while len(self.rests) < self.number:
                connection = socket.socket()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.setblocking(False)
                connection.connect_ex(("127.0.0.1", self.port))
                self.rests[connection] = self.begin
                self.opened += 1

    def go_on_with(self, connection):
        """Sends, or reads, its next bytes."""
        rest = self.rests[connection]
        try:
            came = self.received(connection)
            if came is not None and not (came and self.reads):
                self.answers.add(came[9:12])
                connection.close()
                del self.rests[connection]
            elif rest is not None:
                connection.getpeername()
                self.rests[connection] = rest[connection.send(rest):] or None
                self.begun += self.rests[connection] is None
            elif self.drips:
                connection.send(b"x")
        except OSError:
            pass  # Not connected yet, no room, or the next round will see its end.

    @staticmethod
    def received(connection):
        """None if nothing has come; nothing at the end."""
        try:
            return connection.recv(512)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def is_going_on(self):
        return self.thread.is_alive()

    def end(self):
        self.ends.set()
        self.thread.join()
        for connection in self.rests:
            connection.close()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        (few, most) = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (few, most))
        cls.directory = tempfile.mkdtemp(prefix="slow-connections-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.geiger("run", "-q", "--interval", "4KiB", "-o", "run.geiger", "--",
                   "/usr/bin/python3", "-c", "print(len([bytes(1000 + i) for i in range(2000)]))")

    @classmethod
    def geiger(cls, *words, code=0):
        done = subprocess.run([GEIGER, *words], cwd=cls.directory, capture_output=True, text=True,
                              timeout=2 * PATIENCE)
        assert done.returncode == code, (words, done)
        return done

    def serve(self, *words):
        """The port of a server, which runs until the test ends."""
        process = subprocess.Popen([*words], cwd=self.directory, stdout=subprocess.PIPE, text=True)

        def end():
            process.send_signal(signal.SIGTERM)
            try:
                self.assertEqual(process.wait(PATIENCE), 0)
            finally:
                process.kill()
                process.stdout.close()
        self.addCleanup(end)
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                return int(found[1])
        raise AssertionError("no address")

    def slow(self, *arguments):
        slow = SlowConnections(*arguments)
        self.addCleanup(slow.end)
        return slow


class Collecting(Case):
    def setUp(self):
        self.store = os.path.join(tempfile.mkdtemp(dir=self.directory), "fleet.db")

    def collector(self, *options):
        return self.serve(GEIGER, "collect", "--store", self.store, "--listen", "127.0.0.1:0",
                          *options)

    def tokens(self):
        path = pathlib.Path(self.directory, "tokens")
        path.write_text(TOKEN + "\n")
        path.chmod(0o600)
        return ("--token-file", str(path))

    def assert_pushes(self, port, kind, number, *options):
        slow = self.slow(port, kind, number)
        began = time.monotonic()
        self.geiger("push", "--service", "shop", "--version", "1", *options, "run.geiger",
                    f"http://127.0.0.1:{port}/")
        print(f"{kind} {number}: answered after {time.monotonic() - began:.2f} s, "
              f"{slow.opened} slow connections, answers {slow.answers}", file=sys.stderr)
        self.assertTrue(slow.is_going_on())
        self.assertLessEqual(slow.answers, {b"", b"408"})

    def test_without_a_token(self):
        for kind in ("silent", "headers", "body", "long body"):
            with self.subTest(kind):
                self.assert_pushes(self.collector(), kind, 128)

    def test_with_tokens(self):
        tokens = self.tokens()
        for kind in ("headers", "body", "stranger"):
            with self.subTest(kind):
                self.assert_pushes(self.collector(*tokens), kind, 128, *tokens)

    def test_a_thousand(self):
        for kind in ("headers", "body", "long body"):
            with self.subTest(kind):
                self.assert_pushes(self.collector(), kind, 1000)

    def test_bodies_take_the_memory_that_came_of_them(self):
        """64 MiB are for documents; here twice as much is announced, and threads are free."""
        self.assert_pushes(self.collector(), "long body", 16)

    def test_a_slow_document_is_taken(self):
        """As long as no thread is short."""
        connection = http.client.HTTPConnection("127.0.0.1", self.collector(), timeout=PATIENCE)
        connection.putrequest("POST", "/")
        connection.putheader("Content-Type", "application/octet-stream")
        connection.putheader("Content-Length", "3")
        connection.endheaders()
        for byte in (b"a", b"b", b"c"):
            time.sleep(3)
            connection.send(byte)
        self.assertIn(b"not a geiger document", connection.getresponse().read())

    def test_a_drip_ends_though_it_hinders_none(self):
        slow = self.slow(self.collector(), "headers", 1)
        end = time.monotonic() + 2 * PATIENCE
        while slow.opened == 1 and time.monotonic() < end:
            time.sleep(0.5)
        self.assertEqual(slow.answers, {b"408"})

    @unittest.skipIf(os.geteuid() != 0, "needs to become another user")
    def test_another_user_takes_threads_from_himself_alone(self):
        """A slow sender of this user stays, whatever number of connections another user opens."""
        port = self.collector()
        (mine, _) = KINDS["long body"]
        ours = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        ours.sendall(mine.format(port=port).encode())
        script = ("import slow_connections, sys, time\n"
                  f"slow_connections.SlowConnections({port}, 'long body', 300)\n"
                  "print('open', flush=True)\nsys.stdin.read()\nimport os; os._exit(0)\n")
        theirs = subprocess.Popen(["/usr/bin/python3", "-c", script], user=NOBODY, group=NOBODY,
                                  extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, cwd="/", env={"PYTHONPATH": os.path.dirname(__file__),
                                                           "GEIGER_BUILD_DIR": str(harness.BUILD)})
        self.addCleanup(theirs.communicate)
        self.assertEqual(theirs.stdout.readline(), "open\n")
        self.geiger("push", "--service", "shop", "--version", "1", "run.geiger",
                    f"http://127.0.0.1:{port}/")
        ours.sendall(bytes(MOST_BODY - 20000))
        self.assertEqual(ours.recv(100)[9:12], b"400")  # It is no document, and came whole.
        ours.close()


class Serving(Case):
    def installed(self):
        """geiger with a large page."""
        root = pathlib.Path(tempfile.mkdtemp(dir=self.directory, prefix="installed-"))
        (root / "bin").mkdir()
        subprocess.run(["cp", GEIGER, root / "bin/geiger"], check=True)
        (root / "lib").symlink_to(harness.BUILD / "lib")
        (root / "share/geiger").mkdir(parents=True)
        policy = "default-src 'none'; script-src 'sha256-x'; connect-src 'self'"
        (root / "share/geiger/live.html").write_text(
            f'<!doctype html>\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            + "x" * 1_000_000)
        return str(root / "bin/geiger")

    def test_pages(self):
        for kind in ("silent", "headers", "reader"):
            with self.subTest(kind):
                port = self.serve(self.installed(), "serve", "--token", TOKEN, "run.geiger")
                slow = self.slow(port, kind, 128)
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
                connection.request("GET", f"/{TOKEN}/live.json")
                self.assertEqual(connection.getresponse().status, 200)
                connection.close()
                print(f"{kind} pages: {slow.opened} slow connections, answers {slow.answers}",
                      file=sys.stderr)
                self.assertTrue(slow.is_going_on())


if __name__ == "__main__":
    unittest.main()
