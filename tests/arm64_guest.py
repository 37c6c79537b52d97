#!/usr/bin/python3
"""The first process of the system that tests/arm64_system.py boots: runs tests, then powers off.

It prints what each verb says first, to be read by people, then a line per file of tests:
"guest: FILE: exit code N". The last line is "guest: over".
"""
import contextlib
import ctypes
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path("/geiger")
BUILD = HERE / "build"
GEIGER = str(BUILD / "bin" / "geiger")
ENVIRONMENT = {"PATH": "/usr/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TERM": "dumb",
               "GEIGER_BUILD_DIR": str(BUILD), "PYTHONDONTWRITEBYTECODE": "1",
               "XDG_RUNTIME_DIR": "/run/geiger"}
MOUNTS = (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("devpts", "/dev/pts"),
          ("tmpfs", "/tmp"), ("tmpfs", "/run"))
# What runs here without programs that only a whole system has, and within the time that tests
# allow for on a processor: a reading of `run` takes so long here that its budget has no second one.
TESTS = {
    "attach.py": ["Hosts", "Programs.test_python", "Refusals.test_orders_at_the_wrong_time",
                  "Refusals.test_static", "Refusals.test_traced"],
    "control.py": ["Windows", "Requests.test_of_a_life", "Requests.test_marks_of_an_idle_program",
                   "Requests.test_of_a_program_under_run",
                   "Children.test_of_a_sleeper_are_called_by_themselves"],
    "content.py": ["Exact", "Sampled", "Stored"],
    "holders.py": ["KnownBlocks.test_every_kind_is_told", "KnownBlocks.test_nothing_points_to_what_is_alone",
                   "KnownBlocks.test_nothing_is_brought_into_the_process",
                   "KnownBlocks.test_what_time_does_not_allow_is_undecided",
                   "KnownBlocks.test_the_answer_of_a_controller_is_stored",
                   "KnownBlocks.test_the_process_may_be_named", "KnownBlocks.test_the_text_names_what_is_lost",
                   "Stored", "AtExit", "Frames", "Registers", "MovingBlocks", "Growing", "Outside",
                   "Refusals.test_what_is_neither_a_run_nor_a_recorded_process"],
    "holders_core.py": ["OfTheKernel", "OfOtherPages", "Refused"],
    "holders_snapshot.py": ["OfManyThreads", "OfAllKinds"],
    "rss.py": ["Rss.test_a_running_process_is_read_on_the_spot"],
    "run_behaviour.py": [GEIGER, "Codes.test_exit_codes", "Codes.test_deaths_by_signal",
                         "Signals.test_signals_to_geiger_alone_are_passed_on",
                         "Signals.test_stop_and_continue"],
}


def show(*command):
    """Runs `command` as a person would type it."""
    print("$", *command, flush=True)
    done = subprocess.run([GEIGER if word == "geiger" else word for word in command],
                          env=ENVIRONMENT, cwd="/tmp", stdin=subprocess.DEVNULL, timeout=300,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        print(f"guest: exit code {done.returncode}", flush=True)


@contextlib.contextmanager
def allocating(threads, **variables):
    """The host that allocates without a pause: its process."""
    host = subprocess.Popen([str(BUILD / "hosts" / "attached"), "loops", str(threads)],
                            env=ENVIRONMENT | variables, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    host.stdout.readline()
    yield str(host.pid)
    host.stdin.close()
    if host.wait(60) != 0:
        print(f"guest: exit code {host.returncode}", flush=True)


def show_verbs():
    show("geiger", "doctor", "--machine")
    loops = str(BUILD / "hosts" / "loops")
    show("geiger", "run", "--interval", "16KiB", "-o", "loops.geiger", "--", loops, "malloc+free",
         "10000000", "2")
    for verb in ("doctor", "table", "rss"):
        show("geiger", verb, "loops.geiger")
    with allocating(2) as pid:
        show("geiger", "attach", "--duration", "1s", "-o", "attached.geiger", pid)
    show("geiger", "doctor", "attached.geiger")
    with allocating(1, LD_PRELOAD=str(BUILD / "lib/geiger/$LIB/libgeiger-preload.so"),
                    GEIGER_MODE="dormant", GEIGER_INTERVAL="4096") as pid:
        for words in (["start"], ["mark", "here"], ["status"], ["stop"]):
            show("geiger", "ctl", pid, *words)


def chosen():
    """Of the tests those that the kernel's command line names, else all."""
    names = re.findall(r"\bguest\.tests=(\S+)", pathlib.Path("/proc/cmdline").read_text())
    return {name: TESTS[name] for name in names[0].split(",")} if names else TESTS


def run_tests(tests):
    for file, words in tests.items():
        print(f"$ {file}", *words, flush=True)
        done = subprocess.run([sys.executable, HERE / "tests" / file, *words, "-v"], env=ENVIRONMENT,
                              cwd="/tmp", stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                              timeout=1500, check=False)
        print(f"guest: {file}: exit code {done.returncode}", flush=True)


def work():
    print(f"guest: Linux {os.uname().release}, pages of {os.sysconf('SC_PAGESIZE')} bytes", flush=True)
    if chosen() == TESTS:
        show_verbs()
    run_tests(chosen())


def main():
    for kind, place in MOUNTS:
        os.makedirs(place, exist_ok=True)
        subprocess.run(["/usr/bin/mount", "-t", kind, kind, place], check=True)
    os.makedirs("/run/geiger", 0o700)
    worker = os.fork()
    if worker == 0:
        os.setsid()
        try:
            work()
        finally:
            os._exit(0)
    while os.wait()[0] != worker:  # Orphans are the first process's to reap.
        pass
    print("guest: over", flush=True)
    ctypes.CDLL(None).reboot(0x4321fedc)


if __name__ == "__main__":
    main()
