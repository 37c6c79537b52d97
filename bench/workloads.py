"""The programs that are measured: what to run, and how long it takes bare."""
import collections
import os
import pathlib
import subprocess
import tempfile

Workload = collections.namedtuple("Workload", "name command env cwd")


def build_loops(directory):
    """Compiles the C++ loops as a user would: optimized, without frame pointers."""
    source = pathlib.Path(__file__).resolve().parent / "loops.cc"
    program = os.path.join(directory, "loops")
    subprocess.run(["g++", "-std=c++20", "-O2", "-fno-builtin", "-pthread", "-o", program,
                    str(source)], check=True)
    return program


def make_repository(directory, commits):
    """A git repository with enough history for `git log` to allocate."""
    repository = os.path.join(directory, "repository")
    os.mkdir(repository)
    env = {**os.environ, "HOME": directory, "GIT_CONFIG_NOSYSTEM": "1"}
    for name in ("AUTHOR", "COMMITTER"):
        env.update({f"GIT_{name}_NAME": "Nobody", f"GIT_{name}_EMAIL": "nobody@example.org"})
    stream = []
    for number in range(commits):
        text = f"line {number}\n" * (number % 50 + 1)
        stream.append(
            f"commit refs/heads/main\nmark :{number + 1}\n"
            f"committer Nobody <nobody@example.org> {1700000000 + number} +0000\n"
            f"data 7\nchange\n\n"
            f"M 100644 inline file{number % 40}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "init", "-q", "-b", "main", repository], check=True, env=env)
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], check=True, env=env,
                   input="".join(stream).encode())
    return repository


PYTHON = """
import json
rows = [dict(id=i, name='name %d' % i, tags=list(range(i % 20))) for i in range({rows})]
text = json.dumps(rows)
for _ in range({rounds}):
    json.loads(text)
"""
PERL = ('my %h; for my $r (1..{rounds}) {{ $h{{$_ % 5000}} .= "x$_" for 1..50000; %h = () }}'
        ' print scalar(keys %h)')
SQLITE = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<{rows})"
          " SELECT count(*), sum(length(hex(randomblob(64)))) FROM c ORDER BY 1")
UNIT = ("#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n"
        "#include <vector>\nint f(std::map<std::string, std::vector<int>>& m, const char* t)"
        " { std::regex r(t); std::sort(m[t].begin(), m[t].end()); return m.size(); }\n")


def real_programs(directory, scale=1.0):
    """scale 1: about half a second each; callgrind wants less."""
    unit = os.path.join(directory, "unit.cc")
    pathlib.Path(unit).write_text(UNIT if scale >= 1 else UNIT.replace("<regex>", "<set>").replace(
        "std::regex r(t); ", ""))
    rows = os.path.join(directory, "rows.py")
    pathlib.Path(rows).write_text(PYTHON.format(rows=5000, rounds=max(1, int(12 * scale))))
    repository = make_repository(directory, int(40000 * scale))
    home = {"HOME": directory, "GIT_CONFIG_NOSYSTEM": "1"}
    return [
        Workload("git", ["git", "--no-pager", "log", "--stat"], home, repository),
        Workload("sqlite", ["sqlite3", ":memory:", SQLITE.format(rows=int(700000 * scale))], {},
                 directory),
        Workload("json", ["/usr/bin/python3", "-S", rows], {"PYTHONMALLOC": "malloc"}, directory),
        Workload("perl", ["/usr/bin/perl", "-e", PERL.format(rounds=max(1, int(25 * scale)))],
                 {"PERL_HASH_SEED": "1"}, directory),
        Workload("g++", ["g++", "-O2", "-S", "-o", "/dev/null", unit], {}, directory),
    ]


# Script of bench/python -> turns that take about a second.
PYTHON_SCRIPTS = {"json_records": 250, "django_requests": 400, "json_dumps": 6000, "pickles": 800,
                  "nbody": 200000, "richards": 5000, "regexes": 1000, "deltablue": 4000}


def python_programs(directory, interpreter="/usr/bin/python3", scale=1.0):
    """Scripts with pymalloc and the same hashes in every run."""
    scripts = pathlib.Path(__file__).resolve().parent / "python"
    return [Workload(name, [interpreter, str(scripts / f"{name}.py"), str(max(1, int(turns * scale)))],
                     {"PYTHONHASHSEED": "1"}, directory)
            for name, turns in PYTHON_SCRIPTS.items()]


def loops(directory):
    program = build_loops(directory)
    return [Workload("fix64", [program, "fix64", "40000000"], {}, directory),
            Workload("mix", [program, "mix", "6000000"], {}, directory),
            Workload("threads", [program, "threads", "3000000"], {}, directory)]


def scratch():
    """A directory that goes away; traces are written into it too."""
    return tempfile.TemporaryDirectory(prefix="geiger-bench-")
