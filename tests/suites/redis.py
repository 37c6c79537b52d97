"""Units of redis's own test suite, from Debian's source, against Debian's server.

The driver (tclsh) and every server it starts run under the runtime; the server is linked
with jemalloc and asks it malloc_usable_size.
"""
import pathlib
import re
import shutil
import tempfile

import debian_sources
from conditions import harness, require

UNITS = ("unit/type/hash unit/type/list unit/type/string unit/keyspace unit/dump unit/scripting unit/lazyfree"
         " unit/multi unit/auth unit/bitops").split()
KEPT = harness.BUILD / "suites" / "redis"  # the sources, once per build
LINE = re.compile(r"^\[(ok|err|exception|ignore|skip)\]: (.*?)(?: \(\d+ ms\))?(?: in tests/.*)?$")


def sources():
    """The folder of the unpacked sources, with src/ as a build would have left it."""
    if not KEPT.exists():
        with tempfile.TemporaryDirectory() as directory:
            folder = debian_sources.Sources(pathlib.Path(directory)).unpack("redis", "redis-*")
            for name in ("redis-server", "redis-cli", "redis-benchmark", "redis-check-aof",
                         "redis-check-rdb", "redis-sentinel"):
                (folder / "src" / name).symlink_to(f"/usr/bin/{name}")
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder, KEPT)
    return KEPT


class Redis:
    """One unit; an outcome for each of its tests."""
    needs = "redis-server redis-tools tcl, deb-src of redis"

    def __init__(self, unit):
        self.name = f"redis/{unit.removeprefix('unit/')}"
        self.unit = unit

    def run(self, surroundings):
        require("redis-server", "redis-cli", "tclsh")
        folder = surroundings.directory / "redis"
        shutil.copytree(sources(), folder, symlinks=True,
                        ignore=shutil.ignore_patterns("deps", "modules", "*.c"))
        outcome = surroundings.run(["tclsh", "tests/test_helper.tcl", "--single", self.unit,
                                    "--clients", "1"], cwd=folder)
        result = {"status": str(outcome.status)}
        for line in outcome.stdout.decode(errors="replace").splitlines():
            match = LINE.match(re.sub(r"\x1b\[[0-9;]*m", "", line))
            if match:
                result[unique(result, match[2])] = match[1]
        return result


def unique(result, name):
    """Tests of one name are distinguished by their order."""
    number = 2
    candidate = name
    while candidate in result:
        candidate = f"{name} #{number}"
        number += 1
    return candidate


SUITES = [Redis(unit) for unit in UNITS]
