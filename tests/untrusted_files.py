#!/usr/bin/env python3
"""Files that are written by hand, maybe by somebody else: rules, budgets, suppressions; and
expressions on the command line.

usage: untrusted_files.py GEIGER CORPUS

CORPUS is fuzz/corpus/trace. Owners are only tried as root.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
CORPUS = pathlib.Path(sys.argv.pop(1)).resolve()
NOBODY = 65534
OTHER = 54321
RULES = ".geiger-rules"
# Whether a file is read shows in the complaint about it.
UNREADABLE = "mine f\n"
NESTED = "(" * 60000
HOSTILE = {
    "nested": NESTED,
    "nested and closed": NESTED + "x" + ")" * 60000,
    "repeated": "a{1000}{1000}{1000}",
    "repeated in groups": "((a{1000}){1000}){1000}",
    "alternatives": "|" * 120000,
    "unfinished": "[",
}


class Untrusted(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.mkdtemp(prefix="geiger-untrusted-")
        self.addCleanup(shutil.rmtree, self.here, ignore_errors=True)
        os.chmod(self.here, 0o777)
        shutil.copy(CORPUS / "hostile_names", self.path("a.geiger"))
        os.chmod(self.path("a.geiger"), 0o644)

    def path(self, name):
        return os.path.join(self.here, name)

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_bytes(
            text if isinstance(text, bytes) else text.encode())
        return name

    def run_geiger(self, *words, user=None):
        env = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        owner = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        return subprocess.run([GEIGER, *words], cwd=self.here, env=env, capture_output=True,
                              timeout=60, check=False, **owner)

    def assert_refused(self, done, *said):
        """One short line says what and where, maybe with the command for help; exit code 2."""
        lines = [line for line in done.stderr.decode().splitlines()
                 if not line.startswith("Try 'geiger ")]
        self.assertEqual((done.returncode, len(lines), done.stdout), (2, 1, b""), done)
        self.assertTrue(lines[0].startswith("geiger: "), lines)
        self.assertLess(len(lines[0]), 300)
        for part in said:
            self.assertIn(part, lines[0])


class Expressions(Untrusted):
    def test_options(self):
        for option in ("--focus", "--ignore", "--hide"):
            for name, expression in HOSTILE.items():
                with self.subTest(option, expression=name):
                    done = self.run_geiger("table", option, expression, "a.geiger")
                    self.assert_refused(done, f"{option} '{expression[:20]}")

    def test_rules(self):
        for name, expression in HOSTILE.items():
            with self.subTest(name):
                self.write(RULES, f"# ours\nhide {expression}\n")
                self.assert_refused(self.run_geiger("table", "a.geiger"), RULES + ":2: '")
                self.write("our.rules", f"hide {expression}\n")
                os.remove(self.path(RULES))
                done = self.run_geiger("tree", "--rules", "our.rules", "a.geiger")
                self.assert_refused(done, "our.rules:1: '")

    def test_a_line_as_large_as_the_file(self):
        self.write(RULES, "own " + "|" * ((1 << 20) - 4))
        self.assert_refused(self.run_geiger("table", "a.geiger"), RULES + ":1: 'own |||")
        self.write(RULES, "own " + "|" * (1 << 20))
        self.assert_refused(self.run_geiger("table", "a.geiger"), RULES, "too large")

    def test_many_rules(self):
        self.write(RULES, "own (a|b)*a(a|b){18}c\n" * 1000)
        self.assertEqual(self.run_geiger("table", "a.geiger").returncode, 0)
        self.write(RULES, "own a\n" * 1001)
        self.assert_refused(self.run_geiger("table", "a.geiger"), RULES + ":1001: more than 1000")

    def test_bytes_that_are_no_text(self):
        for expression in (b"\xff\xfe[\x80-\xff]+", b"a\0b", b"\xc3"):
            self.write(RULES, b"hide " + expression + b"\n")
            done = self.run_geiger("table", "a.geiger")
            self.assertEqual((done.returncode, done.stderr), (0, b""), done)
        self.write(RULES, "hide main\n".encode("utf-16"))
        self.assert_refused(self.run_geiger("table", "a.geiger"), RULES + ":1: invalid role")

    def test_budgets_and_suppressions(self):
        for name, text in (("budget", f"max-bytes 1MiB {NESTED}"), ("budget", NESTED),
                           ("budget", "max-bytes 1MiB " + "*a" * 100000)):
            self.write(name, text + "\n")
            done = self.run_geiger("check", "a.geiger", "a.geiger", "--budget", name)
            self.assert_refused(done, f"{name}:1: '")
        for text in (f"leak:{NESTED}", NESTED, "leak:" + "*a" * 100000):
            self.write("known", text + "\n")
            done = self.run_geiger("leaks", "a.geiger", "--suppressions", "known")
            self.assert_refused(done, "known:1: '")


class RulesOfTheDirectory(Untrusted):
    def assert_read(self, user=None):
        done = self.run_geiger("table", "a.geiger", user=user)
        self.assert_refused(done, RULES + ":1: invalid role 'mine'")

    def assert_ignored(self, reason, user=None):
        done = self.run_geiger("table", "a.geiger", user=user)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stderr.decode(), f"geiger: ./{RULES} is ignored: {reason} "
                                               f"(to use it: --rules {RULES})\n")

    def test_of_the_caller(self):
        self.write(RULES, UNREADABLE)
        self.assert_read()
        os.chmod(self.path(RULES), 0o664)  # As with umask 002; the group is the caller's.
        self.assert_read()
        os.remove(self.path(RULES))
        done = self.run_geiger("table", "a.geiger")
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_that_others_may_write(self):
        self.write(RULES, UNREADABLE)
        os.chmod(self.path(RULES), 0o666)
        self.assert_ignored("other users may write it")
        self.assert_refused(self.run_geiger("table", "--rules", RULES, "a.geiger"),
                            RULES + ":1: invalid role 'mine'")

    def test_other_files(self):
        self.write("elsewhere", UNREADABLE)
        for target in ("elsewhere", "nowhere"):
            os.symlink(target, self.path(RULES))
            self.assert_ignored("it is a symbolic link")
            os.remove(self.path(RULES))
        os.mkfifo(self.path(RULES))
        self.assert_ignored("it is not a regular file")
        os.remove(self.path(RULES))
        os.mkdir(self.path(RULES))
        self.assert_ignored("it is not a regular file")

    def test_is_said_once(self):
        os.symlink("/dev/null", self.path(RULES))
        done = self.run_geiger("diff", "a.geiger", "a.geiger")
        self.assertEqual(done.stderr.decode().count(RULES + " is ignored"), 1, done)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_of_others(self):
        try:
            self.run_geiger("--version", user=NOBODY)
        except PermissionError:
            self.skipTest("other users cannot reach the build")
        self.write(RULES, UNREADABLE)
        for owner, user in ((NOBODY, NOBODY), (0, NOBODY)):
            os.chown(self.path(RULES), owner, owner)
            self.assert_read(user)
        for owner, user in ((OTHER, None), (OTHER, NOBODY)):
            os.chown(self.path(RULES), owner, owner)
            self.assert_ignored("it is owned by another user", user)
        os.chown(self.path(RULES), 0, OTHER)
        os.chmod(self.path(RULES), 0o664)
        self.assert_ignored("other users may write it", NOBODY)
        os.chmod(self.path(RULES), 0o600)
        self.assert_ignored("Permission denied", NOBODY)


if __name__ == "__main__":
    unittest.main()
