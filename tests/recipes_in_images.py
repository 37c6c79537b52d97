#!/usr/bin/env python3
"""The image of recipes/Dockerfile: built step by step in a bare Debian, started as Docker and as
Kubernetes (recipes/pod.yaml) start it, recorded by the commands that the recipes name.

Docker itself takes no part: bare_debian.py does what the instructions say. Skipped where no
Debian can be made; ctest then shows the test as skipped, with the reason in its output.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import bare_debian
import harness
import trace_reader
from harness import MIB

GEIGER = str(harness.BUILD / "bin" / "geiger")
RECIPES = harness.ROOT / "recipes"
PATIENCE = 60  # seconds; only what hangs takes that long
SKIPPED = 77

# The network of a container: nothing but its own loopback, which somebody must switch on.
LOOPBACK_UP = ("import fcntl, socket, struct\n"
               "fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh14x', b'lo', 1))\n")
REQUESTS = LOOPBACK_UP + """
import sys, time, urllib.request
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    try:
        urllib.request.urlopen('http://127.0.0.1:8000/', timeout=5).read()
    except OSError:
        time.sleep(0.1)
"""


def commands_of(recipe, prefix):
    """What a recipe's comment tells to run inside the container."""
    found = re.findall(rf"(?m)^#   {re.escape(prefix)} (.*)$", (RECIPES / recipe).read_text())
    return [line.split() for line in found]


class Images(harness.ProcessTest):
    @classmethod
    def setUpClass(cls):
        bare_debian.require()
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="images-", dir=harness.BUILD))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.directory.chmod(0o755)
        geiger, root = cls.directory / "geiger", cls.directory / "root"
        root.mkdir()
        subprocess.run(["cmake", "--install", harness.BUILD, "--prefix", geiger / "opt/geiger"],
                       check=True, capture_output=True, timeout=PATIENCE)
        cls.image = bare_debian.Image((RECIPES / "Dockerfile").read_text(), root,
                                      {"geiger:latest": geiger})

    def start(self, **options):
        container = bare_debian.Container(self.image, **options)
        self.addCleanup(container.end)
        end = time.monotonic() + PATIENCE
        while not container.pid() or container.start_outside(
                [sys.executable, "-c", REQUESTS, "0.2"]).wait() != 0:
            self.assertLess(time.monotonic(), end, "not started")
            self.assertIsNone(container.process.poll(), "ended at once")
            time.sleep(0.1)
        status = pathlib.Path(f"/proc/{container.pid()}/status").read_text()
        self.assertRegex(status, rf"(?m)^Seccomp:\t{2 if container.filter else 0}$")
        return container

    def while_serving(self, container, command):
        """A command inside while requests come from outside."""
        requests = container.start_outside([sys.executable, "-c", REQUESTS, str(PATIENCE)])
        try:
            return container.execute(command, timeout=PATIENCE)
        finally:
            requests.kill()
            requests.wait()

    def record(self, container, recipe, prefix):
        """Carries out what the recipe says, with samples between start and stop."""
        commands = commands_of(recipe, prefix)
        self.assertEqual([words[-1] for words in commands][-3:], ["start", "stop", "/traces"])
        for command in commands:
            done = self.while_serving(container, command)
            self.assertEqual((done.returncode, done.stdout.count("inert")), (0, 0), done.stderr)
            if command[-1] == "start":
                self.await_samples(container)

    def await_samples(self, container):
        end = time.monotonic() + PATIENCE
        while True:
            self.while_serving(container, ["sleep", "0.5"])
            status = container.execute(["geiger", "ctl", "1", "status", "--json"]).stdout
            if json.loads(status)["processes"][0]["samples"] > 20:
                return
            self.assertLess(time.monotonic(), end, status)

    def assert_readable(self, container):
        """A copy of the directory, as `docker cp` and `kubectl cp` make it, read outside. A complaint
        would be of programs that differ from those inside: their names must be in the trace."""
        archive, copy = self.directory / "copy.tar", self.directory / "copy"
        with archive.open("wb") as file:
            container.execute(["tar", "cf", "-", "traces"], stdout=file)
        self.assertLess(archive.stat().st_size, MIB)
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        subprocess.run(["tar", "xf", archive, "-C", copy], check=True)
        (path,) = (copy / "traces").glob("*.geiger")
        self.assertGreater(len(trace_reader.read(path).samples), 20)
        for verb in ("summary", "doctor", "table"):
            done = subprocess.run([GEIGER, verb, copy / "traces"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), verb)

    def test_the_dockerfile(self):
        container = self.start()
        listed = container.execute(commands_of("Dockerfile", "docker exec example")[0])
        self.assertRegex(listed.stdout, r"(?m)^ *1  dormant .* python3")
        self.record(container, "Dockerfile", "docker exec example")
        self.assert_readable(container)
        for path in (self.image.root / "traces").iterdir():
            path.unlink()

    def test_the_pod(self):
        """An emptyDir and ids as Kubernetes gives them: the group may write, and is inherited."""
        traces = self.directory / "emptyDir"
        traces.mkdir()
        os.chown(traces, 0, 65534)
        traces.chmod(0o2777)
        container = self.start(mounts=[(traces, "/traces")], user=(65534, 65534))
        self.record(container, "pod.yaml", "kubectl exec example --")
        self.assert_readable(container)


if __name__ == "__main__":
    program = unittest.main(exit=False)
    for test, reason in program.result.skipped:
        print(f"skipped: {test}: {reason}", file=sys.stderr)
    sys.exit(1 if not program.result.wasSuccessful() else SKIPPED if program.result.skipped else 0)
