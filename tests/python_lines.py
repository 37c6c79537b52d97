"""Line tables of Python's own library, as each interpreter of this machine reads them, against
our reader. Without its tests, which are half of its lines and nothing new.

The test `decode/python_lines_test` reads a file of tables with the line of every instruction.
This script writes such files: of the whole library for each interpreter that is found, and with
--update the small one that the unit test reads, tests/vectors/python_lines.tsv.
"""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests" / "vectors" / "python_lines.tsv"

# Runs in the interpreter that is examined, so in what Python 3.8 understands.
DUMP = r'''
import dis, os, sys, types

def stretches(code):
    """(first byte, end, line or None) of each stretch."""
    if hasattr(code, "co_lines"):
        return [(a, b, line) for a, b, line in code.co_lines() if a < b]
    starts = list(dis.findlinestarts(code))
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, None))
    ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
    return [(a, b, line) for (a, line), b in zip(starts, ends) if a < b]

def write(code):
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    lines = " ".join("%d-%d:%s" % (a, b, "" if line is None else line)
                     for a, b, line in stretches(code))
    print("%x\t%d\t%s\t%s" % (sys.hexversion, code.co_firstlineno, table.hex(), lines))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            write(constant)

def dump(path):
    try:
        with open(path, "rb") as file:
            write(compile(file.read(), path, "exec", dont_inherit=True))
    except (SyntaxError, UnicodeError, ValueError):
        pass

import warnings
warnings.simplefilter("ignore")
for argument in sys.argv[1:]:
    if os.path.isfile(argument):
        dump(argument)
    for directory, folders, files in os.walk(argument):
        folders[:] = sorted(set(folders) - {"site-packages", "dist-packages", "test", "tests",
                                         "__pycache__"})
        for name in sorted(files):
            if name.endswith(".py"):
                dump(os.path.join(directory, name))
'''

# Cells, stretches without a line, lines that go back, steps of more than 127 lines.
SNIPPET = '''
import contextlib
def plain(a, b=1): return a + b
def closure(a):
    def inner(b):
        return (a,
                b)
    return [inner(i) for i in range(a) if i
            if i > 1]
class Thing:
    "Text."
    def __init__(self, value):
        self.value = value
    async def coroutine(self):
        async with self as other:
            await other
        async for each in self:
            yield each
def tries():
    try:
        with contextlib.suppress(OSError) as a, open("/dev/null") as b:
            print(a, b)
    except (ValueError,
            TypeError) as error:
        raise KeyError from error
    finally:
        del a
    while True:
        if a: continue
        break
@contextlib.contextmanager
def generates():
    yield
    x = {"a": 1,

         "b": plain(
             2,
             3)}
    return lambda: x
def far():
    first = 1
''' + "\n" * 300 + '''
    second = plain(
''' + "\n" * 200 + '''
        first)
    return second
'''


def interpreters():
    """Paths by version, one of each minor version from 3.8 on."""
    found = {}
    candidates = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    candidates += [shutil.which("python3"), "/usr/bin/python3"]
    for path in candidates:
        if not path or not os.path.exists(path):
            continue
        version = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 capture_output=True, text=True, check=False).stdout.strip()
        if version.startswith("3.") and int(version[2:]) >= 8:
            found.setdefault(version, path)
    return found


def dump(interpreter, *paths):
    """The lines of a file of tables."""
    return subprocess.run([interpreter, "-c", DUMP, *paths], capture_output=True, text=True,
                          check=True).stdout


def library_of(interpreter):
    """The folder of the interpreter's own library."""
    return subprocess.run([interpreter, "-c", "import os; print(os.path.dirname(os.__file__))"],
                          capture_output=True, text=True, check=True).stdout.strip()


def update():
    """Rewrites the vectors of the unit test."""
    with tempfile.TemporaryDirectory() as folder:
        snippet = pathlib.Path(folder) / "snippet.py"
        snippet.write_text(SNIPPET)
        texts = [dump(path, snippet) for _, path in sorted(interpreters().items())]
    VECTORS.write_text("".join(texts))


class PythonLines(unittest.TestCase):
    def test_every_table_of_the_library(self):
        """As the interpreter reads it, each instruction."""
        for version, interpreter in interpreters().items():
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                tables = pathlib.Path(folder) / "tables.tsv"
                tables.write_text(dump(interpreter, library_of(interpreter)))
                count = len(tables.read_text().splitlines())
                self.assertGreater(count, 1000)
                done = subprocess.run([os.environ["GEIGER_INGEST_TEST"],
                                       "--gtest_filter=*AsTheInterpreter*"],
                                      env={**os.environ, "GEIGER_PYTHON_LINES": str(tables)},
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout[-2000:])
                print(f"{version}: {count} tables alike")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
