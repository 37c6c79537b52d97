"""Programs that print the same whenever they run, and must print the same under the runtime.

Compared: exit status, stdout, stderr without our own lines, and the files they write.
"""
import os
import subprocess
import tarfile

from conditions import PROGRAMS, digest, outcomes_of, require

HOME = {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
NOBODY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
          for what, value in (("NAME", "Nobody"), ("EMAIL", "nobody@example.org"),
                              ("DATE", "2024-01-01T00:00:00Z"))}


class Identical:
    """One command, or several in a row.

    prepare(directory) makes what the commands read, always bare.
    """

    def __init__(self, name, needs, commands, files=(), prepare=None, env=None):
        self.name = f"programs/{name}"
        self.needs = " ".join(needs)
        self.paths = needs
        self.commands = commands
        self.files = files
        self.prepare = prepare
        self.env = env or {}

    def run(self, surroundings):
        require(*self.paths)
        directory = surroundings.directory
        if self.prepare:
            self.prepare(directory)
        env = {**HOME, "HOME": str(directory), **self.env}
        result = {}
        for number, command in enumerate(self.commands, 1):
            outcome = surroundings.run(command, env=env)
            for key, value in outcomes_of(outcome).items():
                result[f"{number} {key}"] = value
        for name in self.files:
            path = directory / name
            result[name] = digest(path.read_bytes()) if path.exists() else "absent"
        return result


def bare(directory, *command):
    subprocess.run(command, cwd=directory, check=True, capture_output=True, timeout=300,
                   env={**os.environ, **HOME, **NOBODY, "HOME": str(directory)})


def make_files(directory):
    """A tree of 300 files, 6 MB, the same each time."""
    for number in range(300):
        folder = directory / "tree" / f"part{number % 12}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}").write_text(
            "".join(f"{number} {line} {line * 7919 % 1009}\n" for line in range(1500)))


def make_archive(directory):
    make_files(directory)
    with tarfile.open(directory / "tree.tar", "w") as archive:
        archive.add(directory / "tree", "tree", filter=anonymous)


def anonymous(member):
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def make_repository(directory):
    bare(directory, "git", "init", "-q", "repository")
    for number in range(30):
        path = directory / "repository" / f"file{number % 9}"
        path.write_text("".join(f"line {line} of {number}\n" for line in range(400 + number)))
        bare(directory / "repository", "git", "add", ".")
        bare(directory / "repository", "git", "commit", "-q", "-m", f"Change number {number}")


def compile_c(directory):
    bare(directory, "gcc", "-O0", "-g", "-no-pie", "-o", "work", PROGRAMS / "work.c")


def compile_rust(directory):
    bare(directory, rustc(), "-O", "-o", "work", PROGRAMS / "work.rs")


def compile_go(directory):
    bare(directory, "go", "build", "-o", "work", PROGRAMS / "work.go")


def compile_java(directory):
    bare(directory, "javac", "-d", ".", PROGRAMS / "Work.java")


def rustc():
    """The compiler itself: rustup's front end would run a shell of its own around it."""
    found = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True,
                           check=False).stdout.strip()
    return os.path.join(found, "bin", "rustc") if found else "rustc"


GIT = ["git", "-C", "repository", "--no-pager"]
ARCHIVE = ["tar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "-cf"]

SUITES = [
    Identical("java", ["java", "javac"], [["java", "-Xss512k", "-cp", ".", "Work"]],
              prepare=compile_java),
    Identical("java, serial collector, interpreter", ["java", "javac"],
              [["java", "-XX:+UseSerialGC", "-Xint", "-Xss512k", "-Xmx200m", "-cp", ".", "Work"]],
              prepare=compile_java),
    Identical("javac", ["javac"], [["javac", "-d", ".", PROGRAMS / "Work.java"]],
              files=["Work.class"]),
    Identical("node", ["/usr/bin/node"], [["/usr/bin/node", PROGRAMS / "work.js"]]),
    Identical("g++ -O2", ["g++"], [["g++", "-O2", "-g", "-c", PROGRAMS / "unit.cc", "-o", "unit.o"]],
              files=["unit.o"]),
    Identical("g++ -O2 -flto, linked", ["g++"],
              [["g++", "-O2", "-flto=2", PROGRAMS / "unit.cc", PROGRAMS / "main.cc", "-o", "work"],
               ["./work"]]),
    Identical("clang", ["clang"],
              [["clang++", "-O2", "-g", "-c", PROGRAMS / "unit.cc", "-o", "unit.o"]],
              files=["unit.o"]),
    Identical("rustc", ["rustc"],
              [[rustc(), "-O", "-Ccodegen-units=4", "--emit=obj", "-o", "work.o",
                PROGRAMS / "work.rs"]], files=["work.o"]),
    Identical("rust", ["rustc"], [["./work"]], prepare=compile_rust),
    Identical("go", ["go"], [["./work"]], prepare=compile_go),
    Identical("perl", ["perl"], [["perl", PROGRAMS / "work.pl"]],
              env={"PERL_HASH_SEED": "1", "PERL_PERTURB_KEYS": "0"}),
    Identical("python with sqlite", ["/usr/bin/python3.11"],
              [["/usr/bin/python3.11", PROGRAMS / "work.py"]], files=["work.db", "work.pickle"],
              env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}),
    Identical("ruby", ["ruby"], [["ruby", PROGRAMS / "work.rb"]]),
    Identical("lua", ["lua5.4"], [["lua5.4", PROGRAMS / "work.lua"]]),
    Identical("bash, 300 subshells", ["bash"], [["bash", PROGRAMS / "work.sh"]]),
    Identical("gdb", ["gdb", "gcc"],
              [["gdb", "-nx", "-batch", "-x", PROGRAMS / "work.gdb", "./work"]],
              prepare=compile_c),
    Identical("sqlite3", ["sqlite3"],
              [["sqlite3", "work.db", f".read {PROGRAMS / 'tables.sql'}"]], files=["work.db"]),
    Identical("tar", ["tar"],
              [[*ARCHIVE, "new.tar", "tree"], ["tar", "-xf", "new.tar", "--one-top-level=out"],
               ["diff", "-r", "tree", "out/tree"]], files=["new.tar"], prepare=make_files),
    Identical("xz -T2", ["xz"],
              [["xz", "-T2", "--block-size=1MiB", "-k", "tree.tar"],
               ["xz", "-T2", "-dc", "tree.tar.xz"]], files=["tree.tar.xz"], prepare=make_archive),
    Identical("git", ["git"],
              [[*GIT, "log", "-p", "--stat", "--all"], [*GIT, "fsck", "--strict"],
               [*GIT, "repack", "-adfq", "--threads=2"], [*GIT, "blame", "file3"],
               ["git", "clone", "-q", "--no-local", "repository", "clone"],
               ["git", "-C", "clone", "rev-list", "--all", "--objects"]],
              prepare=make_repository),
    Identical("coreutils", ["sort"],
              [["sh", "-c", "cat tree/*/* | sort --parallel=2 -S 1M | uniq -c | sort -rn | md5sum"],
               ["find", "tree", "-type", "f", "-name", "*7", "-exec", "wc", "-c", "{}", "+"],
               ["sh", "-c", "awk '{ s[$3] += $2 } END { for (k in s) print k, s[k] }' tree/*/* |"
                " sort | md5sum; exit 3"]], prepare=make_files),
]
