"""The interpreters of Python that tests run: that of the machine, those of pyenv, and those in
GEIGER_PYTHONS, from 3.8 on and with the global lock."""
import functools
import os
import pathlib
import re
import subprocess

import harness


@functools.cache
def interpreters():
    """Their paths, in a small case that of the machine. Asked once: a test starts none of them again to
    learn the same."""
    found = ["/usr/bin/python3"]
    if harness.IS_SMALL:
        return tuple(found)
    pyenv = pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")
    found += map(str, sorted(pyenv, key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))]))
    found += filter(None, os.environ.get("GEIGER_PYTHONS", "").split(":"))
    usable = []
    for path in found:
        if not os.path.exists(path):
            continue
        said = subprocess.run([path, "-c", "import sys, sysconfig; print(sys.version_info[:2] >= (3, 8),"
                               " sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"],
                              capture_output=True, text=True, check=True).stdout.split()
        if said == ["True", "0"]:
            usable.append(path)
    return tuple(usable)


def some_interpreters():
    """The machine's, the oldest and the newest; all with GEIGER_ALL_PYTHONS=1."""
    found = list(interpreters())
    if os.environ.get("GEIGER_ALL_PYTHONS"):
        return found
    return list(dict.fromkeys(found[:2] + found[-1:]))
