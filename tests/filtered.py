#!/usr/bin/python3
"""Runs a command under a system call filter that others publish: the default profile of a container
runtime, as JSON, or one of systemd's groups. Debian: python3-seccomp, which only Debian's own
Python sees.

    filtered.py PROFILE.json COMMAND...       calls that it does not allow fail, as it says
    filtered.py @GROUP COMMAND...             they kill the process, as SystemCallFilter= does
    filtered.py @GROUP:EPERM COMMAND...       they fail, as with SystemCallErrorNumber=
"""
import errno
import json
import os
import subprocess
import sys

import seccomp

# What Docker leaves to the root of a container.
CAPABILITIES = {"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID",
                "CAP_KILL", "CAP_MKNOD", "CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP",
                "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT"}


def action_of(name, error):
    return seccomp.ALLOW if name == "SCMP_ACT_ALLOW" else seccomp.ERRNO(error)


def comparison_of(rule):
    comparison = getattr(seccomp, rule["op"].removeprefix("SCMP_CMP_"))
    if comparison == seccomp.MASKED_EQ:
        return seccomp.Arg(rule["index"], comparison, rule["value"], rule.get("valueTwo", 0))
    return seccomp.Arg(rule["index"], comparison, rule["value"])


def matches(conditions, default):
    """Whether this machine, and a container without further capabilities, is meant."""
    if not conditions:
        return default
    caps, arches = (set(conditions.get(name) or ()) for name in ("caps", "arches"))
    has_caps = caps <= CAPABILITIES if default else bool(caps & CAPABILITIES)
    is_arch = not arches or "amd64" in arches
    return has_caps and is_arch if default else has_caps or (arches and is_arch)


def add(program, action, name, *comparisons):
    try:
        program.add_rule(action, name, *comparisons)
    except (OSError, RuntimeError, ValueError):
        pass  # Unknown to this libseccomp, or what the default does.


def of_profile(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    default = profile.get("defaultErrnoRet", errno.EPERM)
    program = seccomp.SyscallFilter(action_of(profile["defaultAction"], default))
    for rule in profile["syscalls"]:
        if not matches(rule.get("includes"), True) or matches(rule.get("excludes"), False):
            continue
        action = action_of(rule["action"], rule.get("errnoRet", default))
        for name in rule["names"]:
            add(program, action, name, *map(comparison_of, rule.get("args") or ()))
    return program


def calls_of(group):
    text = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True,
                          capture_output=True, text=True).stdout
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            yield from calls_of(word)
        elif word and not word.startswith("#"):
            yield word


def of_group(words):
    group, _, error = words.partition(":")
    program = seccomp.SyscallFilter(seccomp.ERRNO(getattr(errno, error)) if error else
                                    seccomp.KILL_PROCESS)
    for name in {*calls_of(group), *calls_of("@default")}:
        add(program, seccomp.ALLOW, name)
    return program


if __name__ == "__main__":
    chosen, command = sys.argv[1], sys.argv[2:]
    (of_group if chosen.startswith("@") else of_profile)(chosen).load()
    os.execvp(command[0], command)
