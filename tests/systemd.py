#!/usr/bin/env python3
"""What recipes/geiger.service says of services under systemd: Debian's nginx, redis and postgres with
their own units, and the example. systemd is process 1 of namespaces, in a bare Debian.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import bare_debian
import harness
import trace_reader

GEIGER = str(harness.BUILD / "bin" / "geiger")
RECIPE = harness.ROOT / "recipes" / "geiger.service"
PATIENCE = 60
CLUSTER = "postgresql@15-main"

# Process 1 finds what systemd expects of a container.
BOOT = """
mount --make-rprivate /
mount --bind {root} {root}
cd {root}
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
  touch dev/$name
  mount --bind /dev/$name dev/$name
done
mkdir dev/shm dev/pts old
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
pivot_root . old
umount -l /old
exec env -i container=other PATH={path} /lib/systemd/systemd --log-target=null
"""

# Requests to all services, without an end.
LOAD = """
import socket, time, urllib.request
redis = None
while True:
    try:
        redis = redis or socket.create_connection(("127.0.0.1", 6379))
        redis.sendall(b"SET key %s\\r\\n" % (b"x" * 4000))
        redis.recv(100)
        for port in (80, 8000):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()
    except OSError:
        time.sleep(0.1)  # systemd takes a service to be active before it listens.
"""


def cgroup2():
    """Where its hierarchy is mounted; None if it is not."""
    found = re.search(r"(?m)^\S+ (\S+) cgroup2 \S*rw", pathlib.Path("/proc/mounts").read_text())
    return found and pathlib.Path(found[1])


@unittest.skipUnless(os.geteuid() == 0 and cgroup2(), "needs root and cgroup2")
class Systemd(unittest.TestCase):
    def setUp(self):
        bare_debian.require()
        kept = bare_debian.tree_with(*bare_debian.SERVICES)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="systemd-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", f"{kept}/.", self.root], check=True)
        self.root.chmod(0o755)
        shutil.copytree(harness.BUILD / "lib" / "geiger", self.root / "usr/lib/geiger")
        (self.root / "usr/sbin/policy-rc.d").unlink()
        self.follow_the_recipe()
        self.boot()

    def follow_the_recipe(self):
        units = self.root / "etc/systemd/system"
        text = RECIPE.read_text()
        shutil.copy(RECIPE, units / "example.service")
        lines = re.findall(r"(?m)^Environment=.*$", text)
        for name in ("nginx", "redis-server"):
            dropin = units / f"{name}.service.d"
            dropin.mkdir()
            (dropin / "geiger.conf").write_text("\n".join(["[Service]", *lines, ""]))
        self.assertIn("/etc/postgresql/VERSION/CLUSTER/environment", text)
        with open(self.root / "etc/postgresql/15/main/environment", "a", encoding="utf-8") as file:
            for line in lines:
                name, value = line.removeprefix("Environment=").strip('"').split("=", 1)
                file.write(f"{name} = '{value}'\n")

    def boot(self):
        group = pathlib.Path(tempfile.mkdtemp(prefix="geiger-", dir=cgroup2()))
        self.addCleanup(self.remove_group, group)
        self.outer = subprocess.Popen(
            ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", "unshare", "-p", "-f",
             "-m", "-u", "-i", "-n", "-C", "--kill-child", "sh", "-ec",
             BOOT.format(root=self.root, path=bare_debian.SYSTEM_PATH)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.shut_down)
        for _ in range(PATIENCE * 5):
            state = self.inside("systemctl", "is-system-running", check=False)
            if state in ("running", "degraded"):
                return
            time.sleep(0.2)
        self.skipTest(f"systemd does not run here as process 1 of namespaces: {state}")

    def shut_down(self):
        self.outer.kill()
        self.outer.wait()

    @staticmethod
    def remove_group(group):
        for _ in range(PATIENCE * 10):  # Its processes are being killed.
            try:
                for path in sorted(group.rglob("*/"), reverse=True):
                    path.rmdir()
                group.rmdir()
                return
            except OSError:
                time.sleep(0.1)

    def first(self):
        """Process 1, as it is numbered here; None before it is made."""
        children = pathlib.Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children")
        numbers = children.read_text().split()
        return int(numbers[0]) if numbers else None

    def entering(self, *words):
        return ["nsenter", "-t", str(self.first()), "-m", "-p", "-n", "-u", "-i", "-C", "-r", "-w",
                "env", "-i", f"PATH={bare_debian.SYSTEM_PATH}", *words]

    def inside(self, *words, check=True):
        done = subprocess.run(self.entering(*words), stdout=subprocess.PIPE, text=True, check=check,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=PATIENCE)
        return done.stdout.strip()

    def start_load(self):
        programs = [["python3", "-c", LOAD],
                    ["su", "postgres", "-c",
                     "yes \"select count(distinct i::text) from generate_series(1, 20000) i;\" | psql"]]
        for program in programs:
            process = subprocess.Popen(self.entering(*program), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)

    def process_with(self, title):
        """The one with this in its command line, below process 1."""
        for _ in range(10 * PATIENCE):
            todo = [self.first()]
            while todo:
                pid = todo.pop()
                try:
                    if title in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                        return pid
                    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                        todo += map(int, (task / "children").read_text().split())
                except OSError:
                    pass
            time.sleep(0.1)
        raise AssertionError(f"no process {title}")

    def geiger(self, *words):
        done = subprocess.run([GEIGER, *map(str, words)], cwd=self.root / "root", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
                              env=harness.environment([]))
        self.assertEqual(done.returncode, 0, (words, done.stdout))
        return done.stdout

    def record(self, title):
        pid = self.process_with(title)
        self.geiger("ctl", pid, "interval", "4KiB")
        self.geiger("ctl", pid, "start", "--despite-seccomp", "--wait", f"{PATIENCE // 2}s")
        self.geiger("ctl", pid, "segment", "--wait", f"{PATIENCE // 2}s")
        trace = re.search(r"(?m)^ *trace +(\S+)", self.geiger("ctl", pid, "status"))[1]
        self.geiger("ctl", pid, "stop", "--wait", f"{PATIENCE // 2}s")
        paths = list(pathlib.Path(trace).parent.glob("*.geiger"))
        self.assertGreater(len(paths), 1)
        samples = 0
        for path in paths:
            read = trace_reader.read(str(path))
            read.check()
            samples += len(read.samples)
        self.assertGreater(samples, 0)

    def test_services(self):
        self.inside("systemctl", "start", "example")
        for unit in ("nginx", "redis-server", CLUSTER, "example"):
            with self.subTest(unit):
                self.assertEqual(self.inside("systemctl", "is-active", unit, check=False), "active",
                                 self.inside("systemctl", "status", "--no-pager", unit, check=False))
        self.start_load()
        for title in (b"nginx: worker", b"redis-server", b"postgres postgres [local]", b"http.server"):
            with self.subTest(title):
                self.record(title)


if __name__ == "__main__":
    unittest.main()
