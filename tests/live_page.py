#!/usr/bin/env python3
"""The page of `geiger serve` in Chromium: its numbers grow with the program, and are those of
`geiger table` on the same trace; it asks nobody but the server.

usage: live_page.py WEB

WEB is where web_page.sh has built the page and installed what its tests need.
"""
import json
import pathlib
import re
import subprocess
import sys
import threading
import unittest

import live

WEB = pathlib.Path(sys.argv.pop(1)).resolve()
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def bytes_in(text):
    """Of "15.26 MiB exactly": the bytes, and by how much rounding may have changed them."""
    digits, unit = re.match(r"([\d.,]+) (B|[KMG]iB)", text).groups()
    decimals = len(digits.partition(".")[2])
    return float(digits.replace(",", "")) * UNITS[unit], 0.51 * UNITS[unit] / 10 ** decimals


class Reader:
    """web/tests/live.ts on an address."""

    def __init__(self, address):
        command = [WEB / "node_modules/.bin/vite-node", "tests/live.ts", "--", address]
        self.process = subprocess.Popen(command, cwd=WEB, stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE)
        # Ends the waiting for what a page never shows.
        self.patience = threading.Timer(2 * live.PATIENCE, self.process.kill)
        self.patience.start()

    def until(self, is_it):
        """What the page shows, from the first time on that `is_it` says so."""
        for line in self.process.stdout:
            shown = json.loads(line)
            if is_it(shown):
                return shown
        raise AssertionError("the reader has gone")

    def leave(self):
        """Closes the page: what it had to complain of."""
        self.process.stdin.write("leave\n")
        self.process.stdin.flush()
        return json.loads(list(self.process.stdout)[-1])


@unittest.skipUnless((WEB / "dist/live.html").exists(), f"{WEB} has no page: tests/web_page.sh")
class LivePage(live.Serving):
    def reader(self, address):
        reader = Reader(address)
        self.addCleanup(reader.process.stdout.close)
        self.addCleanup(reader.process.wait)
        self.addCleanup(reader.process.kill)
        self.addCleanup(reader.process.stdin.close)
        self.addCleanup(reader.patience.cancel)
        return reader

    def serve_page(self, pid):
        template = (WEB / "dist/live.html").read_text(encoding="utf-8")
        return self.serve(pid, template=template)

    def test_grows_with_the_program(self):
        pid, tell, _ = self.running(1)
        self.serve_page(pid)
        reader = self.reader(f"{self.base}/")
        before = bytes_in(reader.until(lambda shown: shown["total"])["total"])[0]
        for _ in range(2):
            tell("a 8000000 1000")
            run, = pathlib.Path(self.directory).glob("geiger-*.*")
            # An eighth of it lives on. The page may have looked in the middle.
            truth = self.document("table", str(run), "--kind", "live")["total"]["bytes"]["value"]
            self.assertGreater(truth, before + 900_000)

            def is_truth(shown, truth=truth):
                total, rounding = bytes_in(shown["total"] or "0 B")
                return abs(total - truth) <= rounding
            reader.until(is_truth)
            before = truth
        left = reader.leave()
        self.assertEqual(left["complaints"], [])
        self.assertEqual(left["violations"], [])
        self.assertGreater(len(left["requests"]), 3)
        for address in left["requests"]:
            self.assertTrue(address.startswith(f"{self.base}/"), address)

    def test_says_so_where_the_token_is_wrong(self):
        pid, _, _ = self.running(1)
        self.serve_page(pid)
        reader = self.reader(f"http://127.0.0.1:{self.port}/not-the-token/")
        shown = reader.until(lambda shown: shown["body"])
        self.assertIn("the token is missing or wrong", shown["body"])
        left = reader.leave()
        self.assertEqual(left["status"], 403)

    def test_says_so_where_the_server_has_gone(self):
        pid, _, _ = self.running(1)
        server = self.serve_page(pid)
        reader = self.reader(f"{self.base}/")
        total = reader.until(lambda shown: shown["total"])["total"]
        server.kill()
        gone = reader.until(lambda shown: "geiger:" in shown["body"])
        # What was known stays in view.
        self.assertEqual(gone["total"], total)


if __name__ == "__main__":
    unittest.main(verbosity=1)
