#!/usr/bin/env python3
"""What docs/guide/production.md says about services, done literally: nginx, redis and postgres under load
with their own users, in the plain tree, in a chroot, and in pid and mount namespaces of their own.

The commands are those of the page's section "A walk through". `production.py --figures N` does all
of it N times and prints the table of "Services in production" in docs/internals/measurements.md.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import bare_debian
import harness
import pauses
import postgres
import trace_reader
from harness import MIB

GEIGER = str(harness.BUILD / "bin" / "geiger")
PAGE = harness.ROOT / "docs/guide/production.md"
PATIENCE = 60
DORMANT = {"GEIGER_MODE": "dormant", "GEIGER_INTERVAL": "16384",
           "LD_PRELOAD": str(harness.preload_entry())}
FIGURES = []  # A row of the table for each service and place.


def walk_through():
    """The commands of the page."""
    section = PAGE.read_text().split("## A walk through\n", 1)[1].split("\n## ", 1)[0]
    return re.search(r"```sh\n(.*?)```", section, re.S)[1]


def ids_of(name, root):
    """The user and group of a name in this root; nobody's, if it has none."""
    passwd = pathlib.Path(root, "etc/passwd").read_text()
    found = re.search(rf"(?m)^{name}:[^:]*:(\d+):(\d+):", passwd)
    return tuple(map(int, found.groups())) if found else (65534, 65534)


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


class Service:
    """A service under load from one client: `pid` is the process that does the work."""

    name = user = needs = None

    def __init__(self, test, variables, prefix=(), root="/"):
        self.test, self.prefix, self.root = test, list(prefix), root
        if not list(pathlib.Path(root).glob(self.needs)):
            raise unittest.SkipTest(f"not installed: {self.needs}")
        (self.port,) = harness.free_ports(1)
        self.ids = ids_of(self.user, root)
        self.directory = tempfile.mkdtemp(prefix=f"{self.name}-", dir=os.path.join(root, "var/tmp"))
        os.chmod(self.directory, 0o755)
        test.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        os.chown(self.directory, *self.ids)
        self.inside = "/" + os.path.relpath(self.directory, root)
        self.prepare()
        self.process = subprocess.Popen(
            [*self.prefix, "env", *(f"{name}={value}" for name, value in variables.items()),
             *self.command()], env=harness.environment([]), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        test.addCleanup(self.stop)
        for _ in range(PATIENCE * 20):
            try:
                self.ask()
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise AssertionError(f"{self.name} does not answer")
        self.load = pauses.Client(self.ask)
        self.pid = self.worker()

    def as_user(self):
        return ["setpriv", f"--reuid={self.ids[0]}", f"--regid={self.ids[1]}", "--clear-groups"]

    def stop(self):
        self.load.end()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def descendants(self):
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            todo += children_of(pid)
        return found

    def the_one(self, is_it):
        for _ in range(PATIENCE * 20):
            for pid in self.descendants():
                try:
                    title = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                    if is_it(title):
                        return pid
                except OSError:
                    pass
            time.sleep(0.05)
        raise AssertionError(f"{self.name} has no worker")


class Nginx(Service):
    """Root's master, and a worker of www-data, who may write nowhere in the directory."""

    name, user, needs = "nginx", "www-data", "usr/sbin/nginx"

    def prepare(self):
        pathlib.Path(self.directory, "page").mkdir()
        text = b"".join(b"%d" % number for number in range(40000))
        pathlib.Path(self.directory, "page", "index.html").write_bytes(text)
        temporary = " ".join(f"{kind}_temp_path {self.inside}/{kind};" for kind in
                             ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        pathlib.Path(self.directory, "nginx.conf").write_text(f"""
            user www-data; worker_processes 1; daemon off; pid {self.inside}/pid;
            error_log {self.inside}/error.log; events {{ worker_connections 64; }}
            http {{ access_log off; {temporary} gzip on; gzip_types *;
                server {{ listen 127.0.0.1:{self.port}; root {self.inside}/page; }} }}""")

    def command(self):
        return ["/usr/sbin/nginx", "-c", f"{self.inside}/nginx.conf"]

    def ask(self):
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n"
                               b"Connection: close\r\n\r\n")
            while connection.recv(1 << 16):
                pass

    def worker(self):
        return self.the_one(lambda title: title.startswith(b"nginx: worker"))


class Redis(Service):
    name, user, needs = "redis", "redis", "usr/bin/redis-server"

    def prepare(self):
        self.client, self.count = None, 0

    def command(self):
        return [*self.as_user(), "redis-server", "--port", str(self.port), "--save", "", "--dir",
                self.inside]

    def ask(self):
        if self.client is None:
            self.client = socket.create_connection(("127.0.0.1", self.port), 5)
            self.test.addCleanup(self.client.close)
        self.count += 1
        self.client.sendall(b"SET key%d %s\r\n" % (self.count % 50, b"x" * 4000))
        self.client.recv(100)

    def worker(self):
        return self.the_one(lambda title: title.startswith(b"redis-server"))


class Postgres(Service):
    """The backend of one connection, which has written its title over the environment."""

    name, user, needs = "postgres", "postgres", "usr/lib/postgresql/*/bin/initdb"
    fresh = {}  # Root -> a data directory as initdb made it, which takes longer than a copy.

    def prepare(self):
        self.client = None
        self.binaries = postgres.binaries()
        data = pathlib.Path(self.directory, "data")
        if self.root not in self.fresh:
            subprocess.run([*self.prefix, *self.as_user(), str(self.binaries / "initdb"), "-D",
                            f"{self.inside}/data", "-A", "trust", "-U", "postgres", "--no-sync"],
                           check=True, capture_output=True, cwd="/", env=harness.environment([]))
            kept = pathlib.Path(tempfile.mkdtemp(prefix="initdb-"))
            unittest.addModuleCleanup(shutil.rmtree, kept, ignore_errors=True)
            subprocess.run(["cp", "-a", data, kept], check=True)
            self.fresh[self.root] = kept / "data"
        else:
            subprocess.run(["cp", "-a", self.fresh[self.root], data], check=True)

    def command(self):
        return [*self.as_user(), str(self.binaries / "postgres"), "-D", f"{self.inside}/data", "-p",
                str(self.port), "-k", self.inside, "-c", "listen_addresses=127.0.0.1"]

    def ask(self):
        if self.client is None or self.client.poll() is not None:
            if self.client:
                self.client.communicate()
            self.client = subprocess.Popen(
                [str(self.binaries / "psql"), "-h", "127.0.0.1", "-p", str(self.port), "-U",
                 "postgres", "-qAt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, env=harness.environment([]))
        self.client.stdin.write("select count(distinct i::text) from generate_series(1, 2000) i;\n")
        self.client.stdin.flush()
        if self.client.stdout.readline() != "2000\n":
            raise ConnectionError

    def worker(self):
        return self.the_one(lambda title: b"postgres postgres" in title)

    def stop(self):
        self.load.end()
        if self.client:  # The server waits for it.
            self.client.kill()
            self.client.communicate()
        super().stop()


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Production(harness.ProcessTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="production-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def walk(self, service):
        """Does what the page says, as root in a directory of root's; what was said."""
        environment = harness.environment([], {
            "PATH": f"{os.path.dirname(GEIGER)}:{os.environ['PATH']}", "PID": str(service.pid)})
        script = f"PS4='{pauses.PROMPT}'; set -ex\n" + walk_through().replace("sudo ", "")
        try:
            done = subprocess.run(["bash", "-c", script], cwd=self.directory, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=PATIENCE)
        except subprocess.TimeoutExpired as late:
            self.fail(f"{service.name} hangs after\n{(late.output or b'').decode()}")
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def check(self, service):
        """The walk; its figures."""
        begin = time.time()
        time.sleep(1)  # What its client waits without us.
        walked = time.time()
        said = self.walk(service)
        end = time.time()
        self.assertIsNone(service.process.poll())
        self.assertTrue(service.load.requests)
        (copy,) = pathlib.Path(self.directory).glob("copy*")
        paths = list(copy.rglob("*.geiger"))
        traces = [trace_reader.read(str(path)) for path in paths]
        self.assertGreater(len(traces), 1)  # Segments, by request and by condition.
        for path in paths:
            self.assertLess(path.stat().st_size, 64 * MIB)
        for trace in traces:
            trace.check()
        self.assertNotIn("DEFECT", said)
        self.assertIn("load begins", said)
        samples = sum(len(trace.samples) for trace in traces)
        self.assertGreater(samples, 0)
        waited = {name: service.load.longest(*times)
                  for name, *times in pauses.steps(said, end)}
        return {"traces": len(traces), "KiB": sum(path.stat().st_size for path in paths) // 1024,
                "samples": samples, "dropped": sum(sum(trace.header.drops) for trace in traces),
                "median": service.load.median(begin, walked),
                "without": service.load.longest(begin, walked), "start": waited["start"],
                "snapshots": waited["sleep"], "segment": waited["segment"], "stop": waited["stop"]}

    def attach(self, service):
        """To a service without the library, for a second; the longest that its client waited."""
        begin = time.time()
        done = subprocess.run([GEIGER, "attach", "--interval", "16KiB", "--duration", "1s",
                               str(service.pid)], cwd=self.directory, timeout=PATIENCE, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIsNone(service.process.poll())
        (path,) = pathlib.Path(self.directory).glob("geiger-*/*.geiger")
        trace = trace_reader.read(str(path))
        trace.check()
        self.assertTrue(trace.samples, done.stdout)
        return service.load.longest(begin, time.time())

    def services(self, place, prefix=(), root="/", to_attach=None):
        """Each of the services that are installed, one after the other. `to_attach`: the prefix of
        one that is attached to, if it needs another."""
        for service in (Nginx, Redis, Postgres):
            with self.subTest(service.name):
                try:
                    running = service(self, DORMANT, prefix, root)
                except unittest.SkipTest as reason:
                    print(f"{service.name}: {reason}", file=sys.stderr)
                    continue
                figures = {"service": service.name, "in": place, **self.check(running)}
                running.stop()
                self.clear()
                running = service(self, {}, to_attach or prefix, root)
                figures["attach"] = self.attach(running)
                running.stop()
                self.clear()
                print(*pauses.table([figures]), sep="\n", file=sys.stderr)
                FIGURES.append(figures)

    def clear(self):
        for path in pathlib.Path(self.directory).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def test_in_the_plain_tree(self):
        self.services("the plain tree")

    def test_in_namespaces(self):
        """Own process ids, own mounts, a /tmp of its own."""
        harness.require("unshare")
        self.services("namespaces", [
            "unshare", "--pid", "--fork", "--mount-proc", "--mount", "sh", "-c",
            f'{harness.own_tmp(self.directory)} && exec "$@"', "sh"])

    def test_in_a_chroot(self):
        """A bare Debian with the services in it."""
        bare_debian.require()
        root = bare_debian.tree_with(*bare_debian.SERVICES)
        library = harness.preload_library().parent
        shutil.copytree(library, f"{root}{library}", dirs_exist_ok=True)
        with_proc = ["unshare", "--mount", "sh", "-c",
                     f'mount -t proc proc {root}/proc && exec chroot {root} "$@"', "sh"]
        self.services("a chroot", ["chroot", str(root)], str(root), with_proc)


def print_figures(rounds):
    for _ in range(rounds):
        if not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful():
            sys.exit(1)
    print(*pauses.table(FIGURES), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--figures"]:
        print_figures(int(sys.argv[2]))
    else:
        unittest.main()
