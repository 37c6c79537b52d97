"""A bare Debian, made once by debootstrap in the build, and containers in copies of it: the steps
of a Dockerfile, and programs with namespaces of their own, as Docker and Kubernetes start them.
"""
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import harness

RELEASE = "bookworm"
MIRROR = os.environ.get("TRY_MIRROR", "http://deb.debian.org/debian")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROFILE = "/usr/share/containers/seccomp.json"  # Debian: golang-github-containers-common
# One tree for all tests of services.
SERVICES = ("nginx-light", "redis-server", "postgresql", "systemd-sysv", "python3")
LONGEST = 300  # seconds; of a step that fetches packages


def require():
    """Skips where no tree can be made: needs root, debootstrap and a mirror."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "-p", "-f", "true"],
                                           capture_output=True).returncode != 0:
        raise unittest.SkipTest("needs root, and the right to mount")
    harness.require("debootstrap", "nsenter", "setpriv")
    try:
        urllib.request.urlopen(f"{MIRROR}/dists/{RELEASE}/Release", timeout=20).close()
    except (urllib.error.URLError, OSError) as error:
        raise unittest.SkipTest(f"no answer from {MIRROR}: {error}") from error


def kept_tree(name, fill):
    """The tree roots/`name` of the build. The first test to need it makes it with `fill(tree)`, and
    others wait; a failure of `fill` leaves none."""
    roots = harness.BUILD / "roots"
    roots.mkdir(exist_ok=True)
    kept = roots / name
    with open(roots / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            making = pathlib.Path(tempfile.mkdtemp(dir=roots))
            try:
                fill(making)
            except BaseException:
                shutil.rmtree(making)
                raise
            making.rename(kept)
    return kept


def run_or_skip(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, **options)
    if done.returncode != 0:
        raise unittest.SkipTest(f"{words[0]}: {done.stdout[-300:]}{done.stderr[-300:]}")


def bare_tree():
    """The tree that copies are made of; kept in the build for the next time."""
    def fill(tree):
        run_or_skip("debootstrap", "--variant=minbase", RELEASE, tree, MIRROR)
        tree.chmod(0o755)
    return kept_tree(RELEASE, fill)


def tree_with(*packages):
    """A tree with these packages, also kept in the build: for programs that only change their root.
    Nothing is started when they are installed."""
    def fill(tree):
        subprocess.run(["cp", "-a", "--reflink=auto", f"{bare_tree()}/.", tree], check=True)
        shutil.copy("/etc/resolv.conf", tree / "etc/resolv.conf")
        refuses = tree / "usr/sbin/policy-rc.d"
        refuses.write_text("#!/bin/sh\nexit 101\n")
        refuses.chmod(0o755)
        proxies = {name: value for name, value in os.environ.items() if name.endswith("_proxy")}
        run_or_skip(
            "unshare", "-m", "-p", "-f", "-R", tree, "--mount-proc", "-w", "/", "sh", "-ec",
            "apt-get update -q && apt-get install -qy --no-install-recommends " + " ".join(packages),
            env={"PATH": SYSTEM_PATH, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C", **proxies})
    return kept_tree("-".join((RELEASE, *packages)), fill)


def instructions_of(text):
    """(name, rest) of each instruction of a Dockerfile, with continued lines joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", text)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def expanded(text, variables):
    r"""$NAME and ${NAME} are replaced, \$ is a dollar sign."""
    def replace(found):
        return "$" if found[0] == "\\$" else variables.get(found[1] or found[2], "")
    return re.sub(r"\\\$|\$\{(\w+)\}|\$(\w+)", replace, text)


class Image:
    """The tree that a Dockerfile makes, and the settings of programs in it."""

    def __init__(self, dockerfile, root, stages):
        """`stages`: for each name of a FROM that is not Debian, the tree that it stands for."""
        self.root, self.stages = pathlib.Path(root), stages
        self.environment, self.user, self.command = {"PATH": SYSTEM_PATH}, "root", None
        self.arguments = {}
        for name, rest in instructions_of(dockerfile):
            getattr(self, "do_" + name.lower())(rest)

    def do_arg(self, rest):
        name, _, value = rest.partition("=")
        self.arguments[name] = value

    def do_from(self, rest):
        base, *alias = expanded(rest, self.arguments).split()
        if alias:
            self.stages[alias[1]] = self.stages[base]
            return
        assert base == "debian:12-slim", base
        subprocess.run(["cp", "-a", "--reflink=auto", f"{bare_tree()}/.", self.root], check=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")

    def do_run(self, rest):
        proxies = {name: value for name, value in os.environ.items() if name.endswith("_proxy")}
        done = subprocess.run(
            ["unshare", "-m", "-p", "-f", "-R", self.root, "--mount-proc", "-w", "/",
             *self.as_user(), "/bin/sh", "-c", rest],
            env={**self.environment, **proxies}, capture_output=True, text=True, timeout=LONGEST)
        if done.returncode != 0:
            raise AssertionError(f"RUN {rest}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def do_copy(self, rest):
        words = shlex.split(rest)
        stage, source, target = words[0].removeprefix("--from="), words[1], words[2]
        subprocess.run(["cp", "-aT", f"{self.stages[stage]}{source}", f"{self.root}{target}"],
                       check=True)

    def do_env(self, rest):
        lexer = shlex.shlex(rest, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.escape = True, ""
        for word in lexer:
            name, _, value = word.partition("=")
            self.environment[name] = expanded(value, self.environment)

    def do_user(self, rest):
        self.user = rest.strip()

    def do_volume(self, rest):
        """A directory of the image keeps its owner and contents in a new volume."""

    def do_cmd(self, rest):
        self.command = [*json.loads(rest)]

    def as_user(self):
        passwd = (self.root / "etc/passwd").read_text()
        uid, gid = re.search(rf"(?m)^{self.user}:[^:]*:(\d+):(\d+):", passwd).groups()
        return as_ids(uid, gid)


def as_ids(uid, gid):
    return ["setpriv", "--reuid", str(uid), "--regid", str(gid), "--clear-groups"]


def has_filter():
    return os.path.exists(PROFILE) and subprocess.run(
        ["/usr/bin/python3", "-c", "import seccomp"], capture_output=True).returncode == 0


class Container:
    """The program of an image in namespaces of its own, where it is process 1, and under the system
    call filter of container runtimes, if that is installed."""

    def __init__(self, image, mounts=(), user=None):
        """`mounts`: pairs of a directory here and a path inside; `user`: ids that replace the
        image's."""
        self.image = image
        self.filter = (["/usr/bin/python3", str(harness.ROOT / "tests/filtered.py"), PROFILE]
                       if has_filter() else [])
        self.variables = [f"{name}={value}" for name, value in image.environment.items()]
        self.user = as_ids(*user) if user else image.as_user()
        binds = "".join(f"mount --bind {source} {image.root}{target}\n" for source, target in mounts)
        self.process = subprocess.Popen(
            ["unshare", "-m", "-p", "-f", "-n", "-i", "-u", "sh", "-euc",
             f'{binds}mount -t proc proc {image.root}/proc; exec "$@"', "sh",
             *self.filter, "chroot", image.root, *self.user, "env", "-i", *self.variables, *image.command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def pid(self):
        """Outside; None until it has been made."""
        path = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        children = path.read_text().split() if self.process.poll() is None else []
        return int(children[0]) if children else None

    def execute(self, command, **options):
        """As `docker exec` and `kubectl exec` do."""
        if "stdout" not in options:
            options.update(capture_output=True, text=True)
        return subprocess.run(
            ["nsenter", "-t", str(self.pid()), "-m", "-p", "-n", "-i", "-u", *self.filter, "chroot",
             self.image.root, *self.user, "env", "-i", *self.variables, *command], **options)

    def start_outside(self, command):
        """Only its network is the container's."""
        return subprocess.Popen(["nsenter", "-t", str(self.pid()), "-n", *command],
                                stderr=subprocess.DEVNULL)

    def end(self):
        """Process 1 takes all others with it."""
        if self.pid():
            os.kill(self.pid(), signal.SIGKILL)
        self.process.wait()
