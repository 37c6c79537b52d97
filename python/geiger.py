"""Labels, marks and recordings of single blocks for Python programs.

    import geiger

    with geiger.label("tenant", "acme"):          # allocations of this thread from here on
        handle(request)

    @geiger.label("phase=parse")                  # functions, generators, coroutines
    def parse(text): ...

    await geiger.labelled(fetch(), "tenant", "acme")
    geiger.label_tasks()                          # labels stay with their asyncio task
    geiger.name_threads()                         # threading.Thread(name=...) in reports
    geiger.mark("cache warm")                     # an instant: geiger table --from "cache warm"
    geiger.stop(); ...; geiger.start()            # a part that is not recorded

    with geiger.Tracker("block.geiger"):          # records a block of a program that is not recorded
        build_index()

`geiger table --by label` and `--label tenant=acme` read labels. In a program that is not recorded
all but Tracker does nothing. In IPython and Jupyter `%load_ext geiger` adds %%geiger, and `pytest -p
geiger` the marks limit_memory and limit_leaks. This file stands alone: copy it into your project, or set
PYTHONPATH=$(geiger --python-path). It runs on CPython 3.8 and later.
"""
import collections.abc
import functools
import inspect
import re
import sys
import threading
import time

__all__ = ["Tracker", "carry", "is_recorded", "label", "label_tasks", "labelled", "mark",
           "name_threads", "start", "stop"]

_LOOK_EVERY = 1.0  # seconds; geiger may attach at any time
_AUTOMATIC_NAME = re.compile(r"(Task-\d+|None)$")  # None: CPython 3.13.0 with a task factory
_PR_SET_NAME = 15
_PR_SET_PTRACER = 0x59616d61


class _Runtime:
    """geiger's library in this process. Its functions hold the GIL: they never wait."""

    def __init__(self):
        import ctypes
        import os
        # By its soname, because a library that was attached is in no global scope.
        library = ctypes.PyDLL("libgeiger-preload.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        self.set = library.geiger_set_label_v1
        self.set.argtypes, self.set.restype = [ctypes.c_uint32], ctypes.c_uint32
        self._define = library.geiger_define_label_v1
        self._define.argtypes, self._define.restype = [ctypes.c_char_p, ctypes.c_uint32], ctypes.c_uint32
        self._library = library
        self._ids = {}  # (around, text) -> id; the runtime has 65,536 at most
        self._parts = {}  # id -> (around, text)

    def label_within(self, around, text):
        """The id of a label within another; that other one if there are too many."""
        found = self._ids.get((around, text))
        if found is None:
            found = self._define(text.encode("utf-8", "replace"), around)
            if found == 0:
                return around
            self._parts[found] = (around, text)
            self._ids[around, text] = found
        return found

    def function(self, name):
        """A function that older versions lack: they ignore the call."""
        return getattr(self._library, name, lambda _: 0)

    def current(self):
        before = self.set(0)
        self.set(before)
        return before

    def without_task(self, label_id):
        """The label without parts that name a task: its id."""
        around, text = self._parts.get(label_id, (None, ""))
        if around is None:
            return label_id
        rest = self.without_task(around)
        if text.startswith("task="):
            return rest
        return label_id if rest == around else self.label_within(rest, text)


class _Thread(threading.local):
    """What this thread left with each label that it is in: None while it was not recorded."""

    def __init__(self):
        self.outer = []


_thread = _Thread()
_found = None
_next_look = 0.0


def _runtime():
    """The runtime, or None. It never goes away, but may come later."""
    global _found, _next_look
    if _found is None and time.monotonic() >= _next_look:
        _next_look = time.monotonic() + _LOOK_EVERY
        try:
            _found = _Runtime()
        except (AttributeError, ImportError, OSError):
            pass
    return _found


def is_recorded():
    """Whether geiger's runtime is in this process."""
    return _runtime() is not None


def _text_of(key, value):
    return str(key) if value is None else f"{key}={value}"


class label:
    """A label, for `with` and as a decorator: label("request"), label("tenant", "acme"). Labels
    nest. Within a coroutine the label lasts until the next await; see labelled(), label_tasks()."""

    __slots__ = ("text",)

    def __init__(self, key, value=None):
        self.text = _text_of(key, value)

    def __enter__(self):
        runtime = _runtime()
        before = None
        if runtime is not None:
            before = runtime.current()
            runtime.set(runtime.label_within(before, self.text))
        _thread.outer.append(before)
        return self

    def __exit__(self, *_):
        before = _thread.outer.pop() if _thread.outer else None
        if before is not None:
            _found.set(before)

    def __call__(self, function):
        if inspect.isasyncgenfunction(function):
            raise TypeError("asynchronous generators cannot be labelled: label what they await")
        text = self.text
        if inspect.iscoroutinefunction(function):
            async def labelled_function(*args, **kwargs):
                return await _steps_of(function(*args, **kwargs), lambda: _inside(text))
        elif inspect.isgeneratorfunction(function):
            def labelled_function(*args, **kwargs):
                return (yield from _steps_of(function(*args, **kwargs), lambda: _inside(text)))
        else:
            def labelled_function(*args, **kwargs):
                with label(text):
                    return function(*args, **kwargs)
        return functools.wraps(function)(labelled_function)


class _Steps:
    """Runs a generator or coroutine step by step: its own labels are in force during a step, those
    of its caller between two. What it entered itself is kept across the steps."""

    def __init__(self, steps, first_label):
        self._steps = steps
        self._first_label = first_label  # its label at the first step
        self._label = None
        self._outer = []

    def _step(self, advance, *args):
        runtime = _runtime()
        if runtime is None:
            return advance(*args)
        if self._label is None:
            self._label = self._first_label()
        outside, outer = runtime.set(self._label), _thread.outer
        _thread.outer = self._outer
        try:
            return advance(*args)
        finally:
            _thread.outer = outer
            self._label = runtime.set(outside)

    def send(self, value):
        return self._step(self._steps.send, value)

    def throw(self, *args):
        return self._step(self._steps.throw, *args)

    def close(self):
        return self._step(self._steps.close)

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def __getattr__(self, name):
        return getattr(self._steps, name)  # gi_frame, cr_frame, __name__: what debuggers ask for

    def __repr__(self):
        return repr(self._steps)


class _Coroutine(_Steps, collections.abc.Coroutine):
    def __await__(self):
        return self


class _Generator(_Steps, collections.abc.Generator):
    pass


def _steps_of(steps, first_label):
    if isinstance(steps, collections.abc.Coroutine):
        return _Coroutine(steps, first_label)
    return _Generator(steps, first_label)


def _inside(text):
    """The label of this text within the one in force, at the instant of the call."""
    return _found.label_within(_found.current(), text)


def labelled(coroutine, key, value=None):
    """The coroutine with a label that is in force whenever it runs, and not while it waits.

        await geiger.labelled(fetch(), "tenant", "acme")
        asyncio.create_task(geiger.labelled(fetch(), "tenant", "acme"))
    """
    text = _text_of(key, value)
    return _steps_of(coroutine, lambda: _inside(text))


def carry(function):
    """The function, to be called in other threads with the label that is in force here and now:
    pool.submit(geiger.carry(work), item)."""
    runtime = _runtime()
    if runtime is None:
        return function
    here = runtime.current()

    @functools.wraps(function)
    def with_label(*args, **kwargs):
        before = runtime.set(here)
        try:
            return function(*args, **kwargs)
        finally:
            runtime.set(before)
    return with_label


def _name_of(task, coroutine):
    """The task's name, if somebody gave it one: numbers would be a label for every task."""
    name = task.get_name() if task is not None else ""
    if name and not _AUTOMATIC_NAME.match(name):
        return name
    return getattr(coroutine, "__qualname__", type(coroutine).__name__)


def label_tasks(loop=None):
    """From now on each task that the loop makes keeps the labels that it enters across awaits. It
    begins with those in force where it was made, and within them `task=NAME`; tasks without a name
    are named after their coroutine's function. `loop`: the running one."""
    import asyncio
    loop = loop or asyncio.get_running_loop()
    make = loop.get_task_factory() or (lambda loop, coroutine, **how:
                                       asyncio.Task(coroutine, loop=loop, **how))

    def make_labelled(loop, coroutine, **how):
        runtime = _runtime()
        around = 0 if runtime is None else runtime.without_task(runtime.current())

        def first_label():
            # Now, because names are given after the task is made.
            name = _name_of(asyncio.current_task(loop), coroutine)
            return _found.label_within(around, f"task={name}")
        if isinstance(coroutine, collections.abc.Coroutine):
            coroutine = _Coroutine(coroutine, first_label)
        return make(loop, coroutine, **how)
    loop.set_task_factory(make_labelled)


def name_threads():
    """From now on threads that `threading` starts have their Thread.name as their name in the
    system too, of which Linux keeps 15 bytes. CPython does so itself from 3.14 on."""
    if sys.version_info >= (3, 14) or getattr(threading.Thread.start, "is_geigers", False):
        return
    import ctypes
    prctl = ctypes.PyDLL(None).prctl
    start = threading.Thread.start

    @functools.wraps(start)
    def start_named(self):
        run = self.run

        def run_named():
            self.__dict__.pop("run", None)  # Also ends the cycle of references.
            prctl(_PR_SET_NAME, ctypes.c_char_p(self.name.encode("utf-8", "replace")[:15]), 0, 0, 0)
            run()
        self.run = run_named
        try:
            start(self)
        except BaseException:
            self.__dict__.pop("run", None)
            raise
    start_named.is_geigers = True
    threading.Thread.start = start_named


def mark(name):
    """Marks this instant, for --from, --to, --at NAME and `geiger marks`. Whether it was recorded."""
    runtime = _runtime()
    return runtime is not None and runtime.function("geiger_write_mark_v1")(str(name).encode()) != 0


def stop():
    """No allocation of this process is recorded until start(), which the file says nothing about.
    Frees are, so that what is live stays right."""
    _pause(1)


def start():
    """Recording goes on after stop()."""
    _pause(0)


def _pause(is_paused):
    runtime = _runtime()
    if runtime is not None:
        runtime.function("geiger_pause_v1")(is_paused)


def _geiger(*arguments):
    """The command line of geiger."""
    import shutil
    command = shutil.which("geiger")
    if command is None:
        raise FileNotFoundError("geiger is not in PATH")
    return [command, *arguments]


def _let_trace(who):
    """Lets a process trace this one, where Yama allows that to parents only."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as scope:
            is_restricted = scope.read().strip() == "1"
    except OSError:
        return
    if is_restricted:
        import ctypes
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(who), 0, 0, 0)


class Tracker:
    """Records what a block allocates, in all threads, in this process and in those that it starts:

        with geiger.Tracker("block.geiger"):
            build_index()

    `geiger attach` does so from outside; its options (geiger attach --help) may follow the file,
    which is replaced: Tracker("block.geiger", "--interval", "16KiB"). What was allocated before the
    block is not in the file. In a process that is recorded already the block gets two marks instead,
    "block.geiger begin" and "block.geiger end". RuntimeError: the process could not be attached."""

    def __init__(self, file, *options):
        import os
        self.file = os.fspath(file)
        # Quiet, it would not say that it has attached.
        self._options = [option for option in options if option not in ("-q", "--quiet")]
        self._attached = None

    def __enter__(self):
        import os
        import subprocess
        if mark(self.file + " begin"):
            return self
        self._attached = subprocess.Popen(
            _geiger("attach", "-f", "-o", self.file, *self._options, str(os.getpid())),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True)  # ^C is for the program.
        _let_trace(self._attached.pid)
        said = ""
        for line in self._attached.stderr:
            said += line
            if "attached to" in line:
                break
        else:
            self._attached.wait()
            self._attached = None
            raise RuntimeError(said.strip())
        _forget_last_look()
        return self

    def __exit__(self, *_):
        import signal
        if self._attached is None:
            mark(self.file + " end")
            return
        _let_trace(self._attached.pid)
        self._attached.send_signal(signal.SIGINT)
        self._attached.communicate()
        self._attached = None
        _let_trace(0)


def _forget_last_look():
    """geiger is in this process now: the next call finds it."""
    global _next_look
    _next_look = 0.0


def load_ipython_extension(ipython):
    """%load_ext geiger: the magic %%geiger."""
    def geiger_cell(line, cell):
        """Records the cell and prints who held the memory at its peak, or another report:

            %%geiger [REPORT OPTIONS]        such as: tree --frames python
        """
        import os
        import shlex
        import subprocess
        import tempfile
        with tempfile.TemporaryDirectory(prefix="geiger-") as directory:
            file = os.path.join(directory, "cell.geiger")
            with Tracker(file, "--interval", "64KiB"):
                ipython.run_cell(cell)
            report = shlex.split(line) or ["table", "--kind", "peak", "--by", "line", "--top", "10"]
            done = subprocess.run(_geiger(report[0], "-q", *report[1:], file), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(done.stdout, end="")
    ipython.register_magic_function(geiger_cell, "cell", "geiger")


# The plugin of pytest, loaded by -p geiger. The two marks mean what they mean to pytest-memray.

def pytest_addoption(parser):
    parser.getgroup("geiger").addoption(
        "--geiger-interval", metavar="SIZE",
        help="sampling interval of limit_memory and limit_leaks (default: a 256th of the limit)")


def pytest_configure(config):
    config.addinivalue_line("markers", 'limit_memory("24 MB"): what the test holds at its peak')
    config.addinivalue_line(
        "markers", 'limit_leaks("1 MB", warmups=False): what any one stack of the test leaves behind')
    config.pluginmanager.register(_limits_of(config), "geiger limits")


_UNITS = {"": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def _bytes_of(text):
    """24 of "24 B", 24,000,000 of "24 MB", 25,165,824 of "24 MiB"."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)(i?)B?\s*", str(text))
    if found is None:
        raise ValueError(f"invalid size {text!r} (example: 24 MB)")
    number, prefix, binary = found.groups()
    exponent = _UNITS[prefix] if prefix else 0
    return int(float(number) * (1024 if binary else 1000) ** exponent)


def _beyond(file, limit, *arguments):
    """What is said of the total of a table, or of each row of a table of stacks, that is not surely
    within the limit."""
    import json
    import subprocess
    table = json.loads(subprocess.run(_geiger("table", "--json", "--top", "0", *arguments, file),
                                      stdout=subprocess.PIPE, check=True).stdout)
    by_row = "stack" in arguments
    for row in table["rows"] if by_row else [{"self": table["total"], "name": "the test"}]:
        measured = row["self"]["bytes"]
        if measured["hi"] > limit and (measured["lo"] > limit or not by_row or row["self"]["samples"]):
            is_sure = measured["lo"] > limit
            yield is_sure, (f"{row['short_name'] if by_row else row['name']}: "
                            f"{measured['value'] / 1e6:.3g} MB [{measured['lo'] / 1e6:.3g}, "
                            f"{measured['hi'] / 1e6:.3g}], limit {limit / 1e6:.3g} MB")


_LIMITS = {"limit_memory": ("held at its peak", ("--kind", "peak")),
           "limit_leaks": ("left behind", ("--kind", "live", "--by", "stack"))}


def _limits_of(config):
    import gc
    import os
    import tempfile
    import warnings
    import pytest

    def check(item, marker, file):
        verb, arguments = _LIMITS[marker.name]
        sure = []
        for is_sure, what in _beyond(file, _bytes_of(marker.args[0]), *arguments):
            if is_sure:
                sure.append(f"{verb} more than allowed: {what}")
            else:
                warnings.warn(pytest.PytestWarning(f"{item.name} may have {verb} more than allowed: "
                                                   f"{what}; a smaller --geiger-interval decides"))
        return sure

    class Limits:
        """In a recorded process tests get their label and marks, and `geiger check` judges them."""

        @pytest.hookimpl(hookwrapper=True)
        def pytest_pyfunc_call(self, pyfuncitem):
            markers = [marker for marker in map(pyfuncitem.get_closest_marker, _LIMITS) if marker]
            with label("test", pyfuncitem.nodeid):
                if not markers:
                    yield
                    return
                if any(marker.kwargs.get("warmups") for marker in markers):
                    pyfuncitem.obj(**{name: pyfuncitem.funcargs[name]
                                      for name in pyfuncitem._fixtureinfo.argnames})
                least = min(_bytes_of(marker.args[0]) for marker in markers)
                interval = config.getoption("--geiger-interval") or str(max(least // 256, 1))
                with tempfile.TemporaryDirectory(prefix="geiger-") as directory:
                    file = os.path.join(directory, "test.geiger")
                    with Tracker(file, "--interval", interval):
                        yield
                        gc.collect()  # Cycles are no leak.
                    pyfuncitem.geiger_beyond = [
                        what for marker in markers if os.path.exists(file)
                        for what in check(pyfuncitem, marker, file)]

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = (yield).get_result()
            beyond = getattr(item, "geiger_beyond", [])
            if call.when == "call" and report.passed and beyond:
                report.outcome, report.longrepr = "failed", "\n".join(beyond)

    return Limits()
