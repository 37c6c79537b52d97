#!/usr/bin/env python3
"""Runs the fuzzers in turns, and what is too long for a test.

usage: run.py BUILD [--seconds N] [TARGET...]        fuzz each target for N seconds
       run.py BUILD --mutants [--seed N] [TRACE...]  10,000 damaged traces (and the
                                                     TRACEs, damaged too), 2,000 programs

BUILD is build/fuzz for the first, any build without sanitizers for the second. New
inputs stay in BUILD/corpus; what is found stays in BUILD/findings and belongs into
fuzz/corpus once it is understood.
"""
import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["/usr/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1",
            "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "/usr/bin/ls", "/usr/bin/env"]


def fuzz(build, target, seconds):
    grown = build / "corpus" / target
    findings = build / "findings" / target
    grown.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [build / "bin" / f"fuzz_{target}", f"-max_total_time={seconds}", "-timeout=25",
         "-rss_limit_mb=1024", "-max_len=32768", "-print_final_stats=1",
         f"-artifact_prefix={findings}/", grown, HERE / "corpus" / target],
        stderr=subprocess.PIPE, check=False, text=True)
    runs = [line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed" in line]
    print(f"{target}: {runs[0] if runs else '?'} runs,",
          "nothing found" if done.returncode == 0 else f"FOUND, see {findings}", flush=True)
    if done.returncode != 0:
        print("\n".join(done.stderr.splitlines()[-40:]), flush=True)
    return done.returncode == 0


def damage(build, seed, traces):
    mutants = build / "bin" / "mutants"
    corpus = HERE / "corpus"
    sound = [corpus / "trace" / "open", corpus / "trace" / "sealed_two_images", *traces]
    programs = [corpus / "elf", *(path for path in PROGRAMS if pathlib.Path(path).exists())]
    calls = [["traces", "10000", str(seed), *sound], ["elf", "2000", str(seed), *programs]]
    return all([subprocess.run([mutants, *call], check=False).returncode == 0 for call in calls])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_intermixed_args()
    if options.mutants:
        return damage(options.build, options.seed, options.names)
    targets = options.names or sorted(path.name for path in (HERE / "corpus").iterdir())
    return all([fuzz(options.build, target, options.seconds) for target in targets])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
