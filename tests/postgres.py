"""A PostgreSQL server of one's own: in a temporary directory, on a Unix socket, gone afterwards."""
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile


def binaries():
    """Where the newest installed server is; Debian keeps it out of the path."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"),
                   key=lambda path: int(path.parent.parent.name))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    if not initdb:
        raise FileNotFoundError("no PostgreSQL server here: tools/setup.sh slow installs it")
    return pathlib.Path(initdb).resolve().parent


class Server:
    """Use as a context. The server refuses to be root, so root runs it as `postgres`."""

    def __init__(self):
        self.binaries = binaries()
        self.directory = None
        self.is_root = os.geteuid() == 0

    def __enter__(self):
        # Socket paths are short by law: at most 107 characters.
        self.directory = tempfile.mkdtemp(prefix="geiger-pg-", dir="/tmp")
        try:
            if self.is_root:
                os.chown(self.directory, pwd.getpwnam("postgres").pw_uid, -1)
            self.run("initdb", "-D", self.data(), "-U", "geiger", "-A", "trust", "-E", "UTF8",
                     "--locale=C", "--no-sync")
            self.run("pg_ctl", "-D", self.data(), "-w", "-l", self.directory + "/log", "-o",
                     f"-k {self.directory} -c listen_addresses= -c fsync=off -c jit=off", "start")
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.run("pg_ctl", "-D", self.data(), "-m", "immediate", "stop")
        finally:
            self.remove()

    def data(self):
        return self.directory + "/data"

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, program, *words):
        command = [str(self.binaries / program), *words]
        if self.is_root:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
        # A server that inherited a pipe would keep its reader waiting.
        done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=120, check=False)
        if done.returncode != 0:
            log = pathlib.Path(self.directory, "log")
            said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            raise RuntimeError(f"{program} failed ({done.returncode})\n{said}")

    def psql(self, script):
        """Runs a script; returns its rows as lists of strings, separated by tabs."""
        command = [str(self.binaries / "psql"), "-h", self.directory, "-U", "geiger", "-d",
                   "postgres", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(command, input=script.encode(), capture_output=True, timeout=120,
                              check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr.decode(errors="replace")[-2000:])
        return [line.split("\t") for line in done.stdout.decode().splitlines()]
