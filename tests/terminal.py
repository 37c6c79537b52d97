#!/usr/bin/env python3
"""What geiger makes of the terminal it writes to, of mistyped words, and its exit codes.

usage: terminal.py GEIGER
"""
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
COLOR = "\x1b["
PLAIN = {name: value for name, value in os.environ.items()
         if name not in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS")}


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-terminal-")
        subprocess.run([GEIGER, "run", "-q", "--interval", "1KiB", "-o", "a b.geiger", "--", "perl",
                        "-e", 'my %h; $h{$_} = "x" x 300 for 1..20000'], cwd=cls.here, check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def piped(self, *words, **environment):
        return subprocess.run([GEIGER, *words], cwd=self.here, capture_output=True, text=True,
                              env={**PLAIN, "LC_ALL": "C.UTF-8", **environment}, timeout=120,
                              check=False)

    def shown(self, *words, columns=80, stdout=None, code=0, **environment):
        """On a terminal that is both standard output and standard error; `code` None: any failure."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        env = {**PLAIN, "LC_ALL": "C.UTF-8", "TERM": "xterm", **environment}
        with subprocess.Popen([GEIGER, *words], cwd=self.here, env=env, stdin=follower,
                              stdout=follower if stdout is None else stdout,
                              stderr=follower) as process:
            os.close(follower)
            seen = b""
            while True:
                try:
                    part = os.read(leader, 65536)
                except OSError:  # The other end is closed.
                    break
                seen += part
            os.close(leader)
            ended = process.wait(timeout=60)
            self.assertTrue(ended == code if code is not None else ended in (1, 2), seen)
        return seen.decode().replace("\r\n", "\n")

    def text_shown(self, *words):
        return re.sub("\x1b\\[[0-9;]*m", "", self.shown(*words))

    def test_colors(self):
        table = ("table", "a b.geiger")
        for expected, shows, words, environment in (
                (True, self.shown, (), {}),
                (False, self.shown, (), {"NO_COLOR": "1"}),
                (True, self.shown, (), {"NO_COLOR": ""}),
                (False, self.shown, (), {"CLICOLOR": "0"}),
                (True, self.shown, (), {"CLICOLOR": "1"}),
                (False, self.shown, (), {"TERM": "dumb"}),
                (False, self.shown, ("--color", "never"), {}),
                (True, self.shown, ("--color=always",), {"NO_COLOR": "1", "TERM": "dumb"}),
                (False, self.shown, (), {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"})):
            self.assertEqual(COLOR in shows(*table, *words, **environment), expected,
                             (words, environment))
        for expected, words, environment in (
                (False, (), {}), (True, (), {"CLICOLOR_FORCE": "1"}),
                (False, (), {"CLICOLOR_FORCE": "0"}), (True, ("--color", "always"), {}),
                (False, ("--color", "never"), {"CLICOLOR_FORCE": "1"})):
            self.assertEqual(COLOR in self.piped(*table, *words, **environment).stdout, expected,
                             (words, environment))

    def widest(self, text):
        return max(len(line) for line in re.sub("\x1b\\[[0-9;]*m", "", text).splitlines())

    def test_widths(self):
        tree = ("tree", "a b.geiger", "-q")
        self.assertLessEqual(self.widest(self.shown(*tree, columns=80)), 80)
        self.assertLessEqual(self.widest(self.shown(*tree, columns=70)), 70)
        self.assertLessEqual(self.widest(self.shown(*tree, columns=200, COLUMNS="72")), 72)
        self.assertLessEqual(self.widest(self.piped(*tree, COLUMNS="76").stdout), 76)
        table = ("table", "a b.geiger")
        narrow, wide = (self.piped(*table, COLUMNS=columns).stdout for columns in ("80", "140"))
        self.assertLessEqual(self.widest(narrow), 80)
        self.assertRegex(narrow, "(?m)^ +self +(share +)?samples  function$")
        self.assertRegex(wide, "(?m)^ +self +total +share +samples  function$")
        self.assertRegex(self.piped(*table, "--sort", "total", COLUMNS="60").stdout,
                         "(?m)^ +total +samples  function$")
        for wrong in ("", "0", "-5", "x", "99999999999999999999", "80x"):
            self.assertEqual(self.piped(*tree, COLUMNS=wrong).stdout, self.piped(*tree).stdout)

    def test_what_run_says_is_as_wide_as_standard_error(self):
        """The program's output, and geiger's with it, is often redirected."""
        words = ["run", "-f", "-o", "c.geiger", "--", "perl", "-e", 'my %h; $h{$_} = "x" x 300 for 1..20000']
        for columns in (60, 80):
            said = self.shown(*words, columns=columns, stdout=subprocess.DEVNULL)
            lines = [line for line in said.splitlines() if "\r" not in line]
            self.assertIn("allocated ", " ".join(lines))
            self.assertGreater(len(lines), 4)
            self.assertLessEqual(self.widest("\n".join(lines)), columns, said)

    def test_complaints_are_as_wide_as_standard_error(self):
        for words in (("table", "--kind", "xyzzy"), ("table", "a b.geiger", "--by", "holder")):
            said = self.shown(*words, columns=70, code=None)
            self.assertGreaterEqual(len(said.splitlines()), 2)
            self.assertLessEqual(self.widest(said), 70, said)
            self.assertEqual(said.split(), self.piped(*words).stderr.split())

    def helps(self):
        """The words that print each help text, those of verbs below verbs too."""
        waiting = [()]
        while waiting:
            verb = waiting.pop()
            yield (*verb, "--help")
            parts = self.piped(*verb, "--help").stdout.split("Subcommands:\n")
            waiting += [(*verb, name) for part in parts[1:]
                        for name in re.findall(r"(?m)^  ([a-z][\w-]*)", part.split("\n\n")[0])]

    def test_widths_of_help(self):
        helps = list(self.helps())
        self.assertGreater(len(helps), 30)
        for words in helps:
            text = self.piped(*words).stdout
            self.assertLessEqual(self.widest(text), 80, words)
            # What is indented as an example stays whole.
            narrow = [line for line in self.piped(*words, COLUMNS="60").stdout.splitlines()
                      if not re.match(r"Usage|  \S| {3,10}\S", line)]
            self.assertLessEqual(max(map(len, narrow)), 60, words)
        self.assertLessEqual(self.widest(self.shown("run", "--help", columns=72)), 72)
        # Lines that fit are as they were written, others are filled again.
        self.assertIn("or auto,\n", self.shown("run", "--help", columns=140))
        self.assertRegex(self.shown("run", "--help"), r"or auto, the\s+smallest")

    def test_next_step_on_a_terminal_only(self):
        for words in (["table"], ["tree"], ["stats"], ["lifetimes"], ["leaks"], ["symbolize"]):
            shown = self.text_shown(*words, "a b.geiger")
            self.assertRegex(shown, r"(?m)^geiger: next: geiger \w+ .*'a b\.geiger'", words)
            self.assertNotIn("next:", self.piped(*words, "a b.geiger").stderr)
        for words in (["table", "-q"], ["table", "--json"]):
            self.assertNotIn("next:", self.shown(*words, "a b.geiger"))

    def test_what_is_suggested_works(self):
        line = re.search(r"(?m)^geiger: next: geiger (.*)$", self.text_shown("table", "a b.geiger"))
        done = subprocess.run(["sh", "-c", f'exec "$0" {line.group(1)}', GEIGER], cwd=self.here,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, line)

    def refused(self, *words):
        done = self.piped(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        sentence, hint = done.stderr.splitlines()
        self.assertRegex(hint, r"^Try 'geiger.* --help'\.$")
        return sentence

    def assert_moves_no_cursor(self, done):
        said = (done.stdout + done.stderr).replace("\n", "")
        self.assertEqual(re.findall("[\0-\x1f\x7f-\x9f\u202e]", said), [], said)

    def test_hostile_programs_and_words(self):
        name = "x\x1b[31m\ny=cmd\u202e"
        shutil.copy("/bin/sleep", os.path.join(self.here, name))
        with subprocess.Popen([GEIGER, "run", "-q", "--dormant", "--", "./" + name, "60"],
                              cwd=self.here) as run:
            children = f"/proc/{run.pid}/task/{run.pid}/children"
            pid, deadline = "", time.monotonic() + 60
            while "dormant" not in self.piped("ctl", pid or str(run.pid)).stdout:
                self.assertLess(time.monotonic(), deadline)
                with open(children, encoding="ascii") as found:
                    pid = found.read().strip()
            for words in ([], [pid], [pid, "mark", "m"], [pid, "stop"]):
                done = self.piped("ctl", *words)
                self.assert_moves_no_cursor(done)
            self.assertIn(name, self.piped("ctl", pid, "--json").stdout.encode().decode(
                "unicode_escape").replace("\\/", "/"))
            os.kill(int(pid), signal.SIGKILL)
        for words in ([name], ["table", name], ["table", "--kind", name], ["table", name + "--x"],
                      ["table", "--" + name], ["run", "--", "./absent" + name], ["export", name],
                      ["run", "--" + name], ["ctl", name], ["attach", name], ["help", name]):
            done = self.piped(*words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assert_moves_no_cursor(done)
        # Where nothing can be written the program runs all the same.
        self.assert_moves_no_cursor(self.piped("run", "-o", name + "/x", "--", "true"))

    def test_did_you_mean(self):
        for line, meant in (("tabel", "table"), ("table --knid live", "--kind"),
                            ("table --kind=lve", "live"), ("table --by stak", "stack"),
                            ("diff --by modul a b", "module"), ("export pprf", "pprof"),
                            ("export pprof --outptu x", "--output"), ("ctl 1 strat", "start"),
                            ("run --intervall 4KiB true", "--interval"), ("help tabel", "table"),
                            ("completion bsh", "bash"), ("table --color alwys", "always")):
            self.assertIn(f"did you mean '{meant}'?", self.refused(*line.split()))

    def test_what_is_far_off_is_told_what_there_is(self):
        self.assertIn("(choose from allocated, live, peak", self.refused("table", "--kind", "xyzzy"))
        self.assertIn("choose from pprof, otlp, speedscope", self.refused("export", "xyzzy-format"))
        self.assertIn("choose from pprof, otlp, speedscope", self.refused("export"))
        self.assertIn("unknown option '--xyzzy'", self.refused("table", "--xyzzy"))

    def test_bad_numbers_are_refused(self):
        """Of every option that takes one, in one line that quotes the word."""
        count = 0
        for words in list(self.helps()):
            for option, kind in re.findall(r"(?m)^  (?:-\w, *)?(--[\w-]+) (N|P|PORT|DAYS|PID|SHARE|TIME)\b",
                                           self.piped(*words).stdout):
                for bad in ("foo", "-1", "nan"):
                    said = self.refused(*words[:-1], f"{option}={bad}")
                    if "is required" in said or "no program given" in said:
                        continue
                    self.assertRegex(said, f"(?m)^geiger: .*'{bad}'", (words, option))
                    count += 1
        self.assertGreater(count, 100)
        for line, said in (("leaks --top foo", "--top: invalid number 'foo' (0 or more)"),
                           ("stats --threads -1", "--threads: invalid number '-1' (0 or more)"),
                           ("serve --port 70000", "--port: invalid number '70000' (0 to 65535)"),
                           ("tree --min-percent 101", "--min-percent: invalid number '101' (0 to 100)"),
                           ("advise --least 500%", "--least: invalid share '500%' (above 0% and up to 100%)"),
                           ("holders --limit 0", "--limit: must be above 0"),
                           ("run --duration 0 true", "--duration: must be above 0")):
            self.assertIn(said, self.refused(*line.split()))

    def test_exit_codes(self):
        for code, words in ((0, ["summary", "a b.geiger"]), (1, ["summary", "absent"]),
                            (2, ["summary", "--ci", "2"]),
                            (3, ["check", "--max-bytes", "1KiB", "a b.geiger"]),
                            (0, ["check", "--max-bytes", "1GiB", "a b.geiger"]),
                            (2, [])):
            self.assertEqual(self.piped(*words).returncode, code, words)

    def test_a_pipe_that_closes_is_no_crash(self):
        for words in ("tree 'a b.geiger'", "table 'a b.geiger' --json", "completion zsh", "help"):
            done = subprocess.run(["bash", "-c", f'"$0" {words} | head -c 1 >/dev/null; '
                                   'echo "${PIPESTATUS[0]}"', GEIGER], cwd=self.here,
                                  capture_output=True, text=True, check=False)
            self.assertIn(int(done.stdout), (0, 1, 141), words)


if __name__ == "__main__":
    unittest.main()
