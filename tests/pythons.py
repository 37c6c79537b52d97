"""The interpreters of Python that tests run: that of the machine, those of pyenv, and those in
GEIGER_PYTHONS, from 3.8 on and with the global lock."""
import os
import pathlib
import subprocess


def interpreters():
    """Their paths."""
    found = ["/usr/bin/python3"]
    found += sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")))
    found += filter(None, os.environ.get("GEIGER_PYTHONS", "").split(":"))
    for path in found:
        if not os.path.exists(path):
            continue
        said = subprocess.run([path, "-c", "import sys, sysconfig; print(sys.version_info[:2] >= (3, 8),"
                               " sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"],
                              capture_output=True, text=True, check=True).stdout.split()
        if said == ["True", "0"]:
            yield path
