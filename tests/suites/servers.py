"""Servers under a load whose replies are known: PostgreSQL as another user, nginx."""
import contextlib
import hashlib
import os
import pwd
import signal
import socket
import subprocess
import time

import postgres
from conditions import NotHere, digest, require

QUERIES = (
    "SELECT count(*), sum(length(b)) FROM (SELECT string_agg(md5(i::text), ',') AS b"
    " FROM generate_series(1, 200000) i GROUP BY i % 1000) t",
    "SELECT count(*) FROM pgbench_accounts a JOIN pgbench_accounts b USING (bid)"
    " WHERE a.aid % 400 = 0 AND b.aid % 500 = 0",
    "SELECT count(*) FROM pgbench_history")
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]


def wait_until(is_ready, seconds=60):
    for _ in range(int(seconds / 0.05)):
        if is_ready():
            return True
        time.sleep(0.05)
    return False


def end(process, how=signal.SIGTERM):
    """Asks a server to stop and waits; its exit status."""
    process.send_signal(how)
    try:
        return str(process.wait(60))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "hangs"


class Postgres:
    """initdb, the server with its processes, and pgbench.

    `outside`: geiger runs as root and changes the user inside, so that the server may not write
    into the run directory: nothing is recorded then, and nothing may break.
    """
    needs = "postgresql"

    def __init__(self, name, outside):
        self.name = f"servers/{name}"
        self.outside = outside

    def run(self, surroundings):
        if os.geteuid() != 0:
            raise NotHere("root, to become postgres")
        try:
            self.binaries = postgres.binaries()
        except FileNotFoundError as missing:
            raise NotHere(str(missing)) from missing
        user = pwd.getpwnam("postgres")
        for folder in (surroundings.directory, surroundings.traces):
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.data = surroundings.directory / "data"
        result = {f"initdb {key}": value for key, value in self.initdb(surroundings).items()}
        result.update(self.serve(surroundings))
        return result

    def command(self, surroundings, *words):
        """A program of the server's, with the user changed on either side of geiger."""
        words = [str(word) for word in words]
        prefix = surroundings.prefix()
        return [*prefix, *AS_POSTGRES, *words] if self.outside else [*AS_POSTGRES, *prefix, *words]

    def initdb(self, surroundings):
        words = self.command(surroundings, self.binaries / "initdb", "-D", self.data, "-U",
                             "geiger", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        done = subprocess.run(words, cwd="/", capture_output=True, timeout=300, check=False)
        return {"status": str(done.returncode), "stdout": digest(done.stdout)}

    def serve(self, surroundings):
        # Socket paths are short by law: at most 107 characters.
        folder = f"/tmp/geiger-suites-{os.getpid()}"
        os.mkdir(folder)
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        words = self.command(surroundings, self.binaries / "postgres", "-D", self.data, "-k", folder,
                             "-c", "listen_addresses=", "-c", "fsync=off")
        server = subprocess.Popen(words, cwd="/", stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  start_new_session=True)
        try:
            ready = wait_until(lambda: self.client(folder, "psql", "-c", "SELECT 1").returncode == 0)
            result = {"ready": str(ready), **self.load(folder)}
            result["server status"] = end(server)
            return result
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            subprocess.run(["rm", "-r", folder], check=False)

    def client(self, folder, program, *words):
        return subprocess.run([str(self.binaries / program), "-h", folder, "-U", "geiger", *words,
                               "postgres"], capture_output=True, timeout=300, check=False)

    def load(self, folder):
        """What clients see: the numbers that do not depend on time."""
        created = self.client(folder, "pgbench", "-i", "-q", "-s", "2")
        bench = self.client(folder, "pgbench", "-c", "8", "-j", "2", "-t", "150")
        done = [line for line in bench.stdout.splitlines()
                if b"actually processed" in line or b"failed transactions" in line]
        answers = self.client(folder, "psql", "-X", "-A", "-t", *[
            word for query in QUERIES for word in ("-c", query)])
        return {"pgbench -i": str(created.returncode), "pgbench": str(bench.returncode),
                "transactions": b" ".join(done).decode(), "answers": answers.stdout.decode()}


class Nginx:
    """Two workers that compress; 1,500 requests, a reload in between."""
    name = "servers/nginx"
    needs = "nginx-light"
    configuration = """
worker_processes 2;
pid {0}/pid;
error_log {0}/error;
events {{ worker_connections 256; }}
http {{
  access_log {0}/access; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  gzip on; gzip_min_length 1; gzip_types *;
  server {{ listen unix:{1}; root {0}/www; location /list/ {{ autoindex on; }} }}
}}
"""

    def run(self, surroundings):
        require("/usr/sbin/nginx")
        directory = surroundings.directory
        (directory / "www" / "list").mkdir(parents=True)
        for number in range(30):
            path = directory / "www" / "list" / f"file{number}"
            path.write_text(f"line {number}\n" * (50 * number + 1))
            os.utime(path, (0, 0))
        address = f"/tmp/geiger-nginx-{os.getpid()}"
        (directory / "conf").write_text(self.configuration.format(directory, address))
        for path in (directory, *directory.parents):
            path.chmod(path.stat().st_mode | 0o111)
        server = surroundings.start(["/usr/sbin/nginx", "-c", directory / "conf", "-g",
                                     "daemon off;"])
        try:
            result = {"ready": str(wait_until(lambda: os.path.exists(address)))}
            result["before"] = self.ask(address, 750)
            os.kill(int((directory / "pid").read_text()), signal.SIGHUP)
            result["after a reload"] = self.ask(address, 750)
            os.kill(int((directory / "pid").read_text()), signal.SIGQUIT)
            result["server status"] = str(server.wait(60))
            result["requests logged"] = str(len((directory / "access").read_text().splitlines()))
            return result
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(address)

    def ask(self, address, count):
        """One digest of all replies; headers that tell the time are left out."""
        sum_ = hashlib.sha256()
        for number in range(count):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(30)
                connection.connect(address)
                name = "list/" if number % 31 == 30 else f"list/file{number % 31}"
                connection.sendall(f"GET /{name} HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n".encode())
                head, _, body = read_all(connection).partition(b"\r\n\r\n")
                sum_.update(head.split(b"\r\n")[0] + body)
        return sum_.hexdigest()[:16]


def read_all(connection):
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


SUITES = [Postgres("postgres", outside=False), Postgres("postgres, geiger as root", outside=True),
          Nginx()]
