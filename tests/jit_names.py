#!/usr/bin/env python3
"""Functions of scripts and methods of Java have their names, and the program notices nothing."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
SOURCES = pathlib.Path(__file__).resolve().parent / "jit"
PATIENCE = 120


class JitNames(harness.ProcessTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="jit-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def geiger(self, *words, **variables):
        return subprocess.run([GEIGER, *map(str, words)], cwd=self.directory, text=True,
                              capture_output=True, timeout=PATIENCE, check=False,
                              env=harness.environment([], variables))

    def record(self, *words, **variables):
        done = self.geiger("run", "-q", "-f", "-o", "r.geiger", *words, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def rows(self, *options, kind="peak"):
        done = self.geiger("table", "--json", "--kind", kind, *options, "r.geiger")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["rows"]

    def maps(self):
        """Those that are left of the run; other programs of this machine may write maps too."""
        summary = json.loads(self.geiger("summary", "--json", "r.geiger").stdout)
        paths = [pathlib.Path(f"/tmp/perf-{process['pid']}.map") for process in summary["processes"]]
        self.assertTrue(paths)
        return [path for path in paths if path.exists()]

    def assert_names_script(self, row):
        self.assertEqual((row["name"], row["line"]), ("remember", 5), row)
        self.assertEqual(row["file"], str(SOURCES / "server.js"))


class Node(JitNames):
    def setUp(self):
        super().setUp()
        harness.require("node")

    def test_the_script_is_to_blame(self):
        bare = subprocess.run(["node", SOURCES / "server.js"], capture_output=True, text=True,
                              check=True, timeout=PATIENCE).stdout
        said = self.record("--node", "--interval", "16KiB", "--", "node", SOURCES / "server.js")
        self.assertEqual(said, bare)
        self.assert_names_script(self.rows()[0])
        # 500 times 64 KiB, but for the first calls. The peak has fewer where it is in a compilation.
        allocated = {row["name"]: row for row in self.rows("--top", "0", kind="allocated")}
        self.assert_names_script(allocated["remember"])
        self.assertGreater(allocated["remember"]["self"]["bytes"]["hi"], 450 * 64 * harness.KIB)
        self.assertEqual(self.maps(), [])
        self.assertEqual(os.listdir(self.directory), ["r.geiger"])

    def test_own_code_is_what_is_left(self):
        self.record("--node", "--interval", "16KiB", "--", "node", SOURCES / "server.js")
        done = self.geiger("tree", "--json", "--kind", "peak", "--min-percent", "20", "r.geiger")
        names = [node["name"] for node in json.loads(done.stdout)["nodes"]]
        self.assertEqual(names[1:], ["handler", "remember"])
        plumbing = {row["name"] for row in self.rows("--plumbing", "--sort", "total", "--top", "0")}
        self.assertTrue({"handler", "emit", "Builtins_JSEntry"} <= plumbing, plumbing)

    def test_a_map_of_the_users_stays(self):
        self.record("--node", "--", "node", "-e", "0", NODE_OPTIONS="--perf-basic-prof-only-functions")
        (left,) = self.maps()
        left.unlink()

    def test_names_may_be_looked_up_later(self):
        self.record("--node", "--no-symbolize", "--interval", "16KiB", "--", "node",
                    SOURCES / "server.js")
        (kept,) = self.maps()
        self.addCleanup(kept.unlink)
        self.assertEqual(self.geiger("symbolize", "r.geiger").returncode, 0)
        self.assert_names_script(self.rows()[0])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_in_namespaces_of_its_own(self):
        """Another process id, and a /tmp that only this process sees. Optimized code, which comes after
        some seconds, would have `remember` as a part of its caller."""
        process = subprocess.Popen(
            ["unshare", "-m", "-p", "--fork", "--kill-child", "sh", "-c",
             f"{harness.own_tmp(self.directory)} && exec node --no-opt --perf-basic-prof-only-functions "
             '--interpreted-frames-native-stack "$0" stay', SOURCES / "server.js"],
            stdout=subprocess.PIPE, text=True, env=harness.environment([]))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGKILL)
        self.assertEqual(process.stdout.readline(), "500 3\n")
        (child,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for seconds in (1, 4, 16):  # A busy machine may not let it run in one of them.
            done = self.geiger("attach", "-f", "--duration", f"{seconds}s", "--interval", "16KiB", "-o",
                               "r.geiger", child)
            self.assertEqual(done.returncode, 0, done.stderr)
            if json.loads(self.geiger("summary", "--json", "r.geiger").stdout)["samples"] > 100:
                break
        self.assert_names_script(self.rows()[0])


class Java(JitNames):
    def setUp(self):
        super().setUp()
        harness.require("java", "javac")
        subprocess.run(["javac", "-d", self.directory, SOURCES / "Leak.java"], check=True)

    def test_the_method_is_to_blame(self):
        # Compilations are waited for: how many rounds are interpreted meanwhile is up to the machine.
        said = self.record("--java", "--interval", "4KiB", "--", "java", "-Xbatch",
                           "-cp", ".", "app.Leak")
        self.assertEqual(said, "20000\n")
        rows = self.rows("--sort", "total", "--top", "0", kind="allocated")
        names = {row["name"]: row for row in rows}
        # 20,000 times 1 KiB, but for the first rounds, which were interpreted. In the end the one
        # method is a part of the other.
        own = [names[f"app.Leak.{name}(int)"] for name in ("remember", "serve") if
               f"app.Leak.{name}(int)" in names]
        self.assertGreater(sum(row["self"]["bytes"]["hi"] for row in own), 15000 * 1024)
        self.assertNotIn("Interpreter", names)
        self.assertEqual(self.maps(), [])

    def test_only_java(self):
        done = self.geiger("run", "--java", "--", "sh", "-c", "exit 3")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'sh' is not java", done.stderr)
        self.assertEqual([name for name in os.listdir(self.directory) if "geiger" in name], [])


if __name__ == "__main__":
    unittest.main()
