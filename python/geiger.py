"""Labels and thread names for Python programs that geiger records.

    import geiger

    with geiger.label("tenant", "acme"):          # allocations of this thread from here on
        handle(request)

    @geiger.label("phase=parse")                  # functions, generators, coroutines
    def parse(text): ...

    await geiger.labelled(fetch(), "tenant", "acme")
    geiger.label_tasks()                          # labels stay with their asyncio task
    geiger.name_threads()                         # threading.Thread(name=...) in reports

`geiger table --by label` and `--label tenant=acme` read them. In a program that is not recorded
all of this does nothing. This file stands alone: copy it into your project, or set
PYTHONPATH=$(geiger --python-path). It runs on CPython 3.8 and later.
"""
import collections.abc
import functools
import inspect
import re
import sys
import threading
import time

__all__ = ["carry", "is_recorded", "label", "label_tasks", "labelled", "name_threads"]

_LOOK_EVERY = 1.0  # seconds; geiger may attach at any time
_AUTOMATIC_NAME = re.compile(r"(Task-\d+|None)$")  # None: CPython 3.13.0 with a task factory
_PR_SET_NAME = 15


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
