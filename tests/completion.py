#!/usr/bin/env python3
"""The completion scripts in the shells that they are for.

usage: completion.py GEIGER
"""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60  # Seconds, after which a shell that answers nothing has failed.


def script(shell):
    return subprocess.run([GEIGER, "completion", shell], capture_output=True, text=True,
                          check=True).stdout


class Shell(unittest.TestCase):
    """What a shell offers for a line that ends at the cursor: `offers(line)`."""

    @classmethod
    def setUpClass(cls):
        if cls is Shell:
            raise unittest.SkipTest("the cases stand in it, the shells below")
        if not shutil.which(cls.shell):
            raise unittest.SkipTest(f"{cls.shell} is missing")
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="geiger-completion-"))
        for name in ("geiger-perl.1", "geiger perl.2"):
            (cls.directory / name).mkdir()
        (cls.directory / "a.geiger").touch()
        cls.script = cls.directory / cls.file
        cls.script.write_text(script(cls.shell))
        # The processes with geiger in them are asked of the geiger of PATH.
        binaries = cls.directory / "bin"
        binaries.mkdir()
        stand_in = binaries / "geiger"
        stand_in.write_text("#!/bin/sh\necho '  pid  state  interval  program  trace'\n"
                            "echo ' 4711  dormant  4096  asleep  -'\n")
        stand_in.chmod(0o755)
        cls.environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}",
                           "HOME": str(cls.directory), "LC_ALL": "C.UTF-8", "TERM": "dumb"}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory, ignore_errors=True)

    def run_shell(self, *words):
        return subprocess.run([self.shell, *words], capture_output=True, text=True,
                              cwd=self.directory, env=self.environment, timeout=PATIENCE,
                              check=False)

    def assert_offers(self, line, words, none_of=()):
        offered = self.offers(line)
        self.assertLessEqual(set(words), offered, line)
        self.assertFalse(set(none_of) & offered, line)

    def test_verbs(self):
        self.assert_offers("geiger ", ["run", "table", "export", "completion"])
        self.assert_offers("geiger ta", ["table"], ["tree"])

    def test_formats(self):
        self.assert_offers("geiger export ", ["pprof", "folded"], ["table"])

    def test_options_of_a_verb(self):
        self.assert_offers("geiger table --", ["--kind", "--by", "--json"], ["--max-growth"])
        self.assert_offers("geiger check --max-", ["--max-growth", "--max-bytes"])
        self.assert_offers("geiger export pprof --", ["--output", "--kind"])

    def test_values(self):
        self.assert_offers("geiger table --kind ", ["live", "peak", "stranded"], ["a.geiger"])
        self.assert_offers("geiger table --by l", ["label", "lifetime"], ["stack"])
        self.assert_offers("geiger completion ", ["bash", "zsh", "fish"])

    def test_runs(self):
        self.assert_offers("geiger table a", ["a.geiger"])

    def test_processes(self):
        self.assert_offers("geiger ctl ", ["4711"])

    def test_programs(self):
        self.assert_offers("geiger run perldoe", [])
        self.assert_offers("geiger run --interval 4KiB bas", ["bash"])


class Bash(Shell):
    shell, file = "bash", "geiger.bash"

    def offers(self, line):
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        done = self.run_shell(
            "--norc", "-c", f"source geiger.bash; COMP_WORDS=({quoted}); "
            f"COMP_CWORD={len(words) - 1}; _geiger; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        # compopt refuses to work out of a real completion, and only that.
        self.assertNotRegex(done.stderr, "(?m)^(?!.*compopt).+$", line)
        return set(done.stdout.split("\n"))

    def test_a_value_behind_the_sign(self):
        # readline divides at "=".
        done = self.run_shell("--norc", "-c", "source geiger.bash; "
                              "COMP_WORDS=(geiger table --kind = li); COMP_CWORD=4; _geiger; "
                              "echo ${COMPREPLY[@]}")
        self.assertEqual(done.stdout, "live live-usable live-overhead\n")

    def test_names_with_blanks_stay_whole(self):
        self.assert_offers("geiger table geiger", ["geiger perl.2", "geiger-perl.1"])

    def test_is_clean(self):
        self.assertEqual(self.run_shell("-n", "geiger.bash").stderr, "")


class Fish(Shell):
    shell, file = "fish", "geiger.fish"

    def offers(self, line):
        done = self.run_shell("--no-config", "-c", f"source geiger.fish; complete -C '{line}'")
        self.assertEqual(done.stderr, "", line)
        return {word.split("\t")[0] for word in done.stdout.splitlines()}


class Zsh(Shell):
    shell, file = "zsh", "_geiger"

    def offers(self, line):
        """Types the line and the key that lists, and reads the screen until the marker."""
        read, write = pty.openpty()
        shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=write, stdout=write, stderr=write,
                                 cwd=self.directory, env=self.environment, close_fds=True,
                                 start_new_session=True)
        os.close(write)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        setup = ("PS1=; setopt no_beep; unset zle_bracketed_paste; "
                 # The first shell writes down which functions zsh has; the others need not look.
                 "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d $PWD/.zcompdump; "
                 "LISTMAX=10000; zstyle ':completion:*' list-packed no; "
                 "say-done() { zle -M the-end-of-it; }; zle -N say-done; "
                 "bindkey '^Xe' say-done; bindkey '^Xl' list-choices; "
                 "stty -echo cols 200 rows 400; "
                 "print -r ready-to''-go\n")
        os.write(read, setup.encode())
        self.read_until(read, b"ready-to-go")
        os.write(read, line.encode() + b"\x18l\x18e")
        shown = self.read_until(read, b"the-end-of-it").decode(errors="replace")
        return set(shown.replace("\r", "\n").split())

    def read_until(self, descriptor, marker):
        seen, deadline = b"", time.monotonic() + PATIENCE
        while marker not in seen:
            if time.monotonic() > deadline:
                self.fail(f"zsh says {seen!r}")
            if select.select([descriptor], [], [], 1)[0]:
                seen += os.read(descriptor, 65536)
        return seen

    def test_is_clean(self):
        self.assertEqual(self.run_shell("-n", "_geiger").stderr, "")


if __name__ == "__main__":
    unittest.main()
