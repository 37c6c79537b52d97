#!/usr/bin/env python3
"""What tools see through the probes is what the trace holds.

bpftrace, perf and LTTng each count the events of one program; the trace, read by the
independent reader, must agree: events, sums of sizes and of weights, and frees. Where a
tool is missing or may not attach, its test says so and is skipped.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness

INTERVAL = 4096
LIBRARY = harness.preload_library()
LTTNG_LIBRARY = LIBRARY.parent / "libgeiger-lttng.so"
PROGRAM = ["/usr/bin/python3", "-c", "kept = [bytes(i % 3000) for i in range(30000)]"]
ATTACH_SECONDS = 30


def notes(path):
    """{provider:name: (arguments, semaphore)} of the library's USDT notes."""
    output = subprocess.run(["readelf", "--notes", "--wide", path], check=True,
                            capture_output=True, text=True).stdout
    found = {}
    for match in re.finditer(r"Provider: (\S+)\s+Name: (\S+)\s+Location: .*Semaphore: (\S+)\s+"
                             r"Arguments: (.*)", output):
        found[f"{match[1]}:{match[2]}"] = (match[4].split(), int(match[3], 16))
    return found


class Notes(unittest.TestCase):
    def test_the_contract_to_the_letter(self):
        found = notes(LIBRARY)
        # ptr, size, weighted_bytes: 64 bits, in the registers of a call's arguments.
        self.assertEqual(found["otel_memory:alloc"][0], ["8@%rdi", "8@%rsi", "8@%rdx"])
        self.assertEqual(found["otel_memory:free"][0], ["8@%rdi"])
        self.assertEqual([name for name in found if name.startswith("otel_memory:")],
                         ["otel_memory:alloc", "otel_memory:free"])

    def test_all_have_semaphores_and_arguments_in_registers(self):
        found = notes(LIBRARY)
        self.assertEqual({name for name in found if name.startswith("geiger:")},
                         {f"geiger:{n}" for n in ("sample", "free", "mark", "interval", "mapping")})
        for name, (arguments, semaphore) in found.items():
            self.assertNotEqual(semaphore, 0, name)
            for argument in arguments:
                self.assertRegex(argument, r"^[48]@%\w+$", name)

    def test_survive_strip(self):
        with tempfile.TemporaryDirectory() as directory:
            stripped = pathlib.Path(directory) / "stripped.so"
            subprocess.run(["strip", "-o", stripped, LIBRARY], check=True)
            self.assertEqual(notes(stripped), notes(LIBRARY))


class Bpftrace(harness.ProcessTest):
    SCRIPT = """
        usdt:LIB:otel_memory:alloc { @allocs = count(); @sizes = sum(arg1); @weights = sum(arg2); }
        usdt:LIB:otel_memory:free  { @frees = count(); }
        usdt:LIB:geiger:sample     { @samples = count(); @requested = sum(arg1); @usable = sum(arg2);
                                     @geiger_weights = sum(arg3); @refs = sum(arg4); }
        usdt:LIB:geiger:free       { @freed = count(); @freed_refs = sum(arg1); @lifetimes = sum(arg2); }
        usdt:LIB:geiger:mapping    { @mappings = count(); @mapped = sum(arg2); }
        BEGIN { printf("attached\\n"); }
    """

    def setUp(self):
        """A copy of the library: a tool that attaches to a file sees every process that has it."""
        harness.require("bpftrace")
        if os.geteuid() != 0:
            self.skipTest("bpftrace needs root")
        directory = tempfile.mkdtemp(prefix="library-")
        self.addCleanup(shutil.rmtree, directory)
        self.probed = shutil.copy(LIBRARY, directory)

    def attach(self, script):
        tracer = subprocess.Popen(["bpftrace", "-e", script.replace("LIB", self.probed)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, tracer)
        os.set_blocking(tracer.stdout.fileno(), False)
        seen = b""
        end = time.monotonic() + ATTACH_SECONDS
        while b"attached" not in seen and time.monotonic() < end and tracer.poll() is None:
            seen += tracer.stdout.read() or b""
            time.sleep(0.05)
        if b"attached" not in seen:
            tracer.kill()
            reason = tracer.communicate()[1].decode().strip().splitlines()
            self.skipTest(f"bpftrace cannot attach here: {reason[-1] if reason else 'no reason'}")
        return tracer

    @staticmethod
    def end(tracer):
        if tracer.poll() is None:
            tracer.kill()
            tracer.communicate()

    def ended(self, tracer):
        """What it says when it is interrupted."""
        os.set_blocking(tracer.stdout.fileno(), True)
        output = b""
        for last in (False, False, True):
            tracer.send_signal(signal.SIGINT)  # On a busy machine it has been seen to miss one.
            try:
                output, _ = tracer.communicate(timeout=30)
                break
            except subprocess.TimeoutExpired:
                if last:
                    raise
        return output.decode()

    def maps_of(self, tracer):
        return {name: int(value) for name, value in
                re.findall(r"@(\w+): (-?\d+)", self.ended(tracer))}

    def test_counts_and_sums(self):
        tracer = self.attach(self.SCRIPT)
        with harness.Recorder(INTERVAL) as recorder:
            recorder.preloads = [self.probed]
            recorded = recorder.run(PROGRAM)
        seen = self.maps_of(tracer)
        trace, = recorded.traces
        samples, frees = trace.samples, trace.frees
        self.assertGreater(len(samples), 2000)
        self.assertEqual(seen["allocs"], len(samples))
        self.assertEqual(seen["samples"], len(samples))
        self.assertEqual(seen["frees"], len(frees))
        self.assertEqual(seen["freed"], len(frees))
        self.assertEqual(seen["sizes"], sum(s.requested for s in samples))
        self.assertEqual(seen["requested"], seen["sizes"])
        self.assertEqual(seen["usable"], sum(s.usable for s in samples))
        self.assertEqual(seen["refs"], sum(s.ref for s in samples))
        self.assertEqual(seen["freed_refs"], sum(f.sample for f in frees))
        times = {s.ref: s.time for s in samples}
        self.assertEqual(seen["lifetimes"], sum(f.time - times[f.sample] for f in frees))
        self.assertEqual(seen["geiger_weights"], seen["weights"])
        # Each weight is rounded to a whole byte.
        self.assertLessEqual(abs(seen["weights"] - trace.estimated_bytes()), 0.5 * len(samples))
        self.assertEqual(seen["mappings"], len(trace.mappings))
        self.assertEqual(seen["mapped"], sum(m.bytes for m in trace.mappings))

    def test_names_marks_and_intervals(self):
        script = """
            usdt:LIB:geiger:mark     { @marks[str(arg0, arg1)] = count(); }
            usdt:LIB:geiger:interval { @intervals = count(); @sum = sum(arg0); }
            BEGIN { printf("attached\\n"); }
        """
        tracer = self.attach(script)
        with harness.Recorder(INTERVAL) as recorder:
            recorder.preloads = [self.probed]
            recorded = recorder.run([harness.host("told")])
        self.assertEqual(recorded.outcome.status, 0)
        output = self.ended(tracer)
        self.assertIn("@marks[half-time]: 1\n", output)
        self.assertEqual(output.count("@marks["), 1)
        self.assertIn("@intervals: 2\n", output)  # The first one, and that of the program.
        self.assertIn(f"@sum: {4096 + 8192}\n", output)

    def test_attached_while_running(self):
        """No listener, a listener, none again: the trace has every sample all the while."""
        program = ("import sys\nfor line in sys.stdin:\n"
                   "    kept = [bytes(i % 3000) for i in range(5000)]\n"
                   "    print(line, end='', flush=True)")
        with harness.Recorder(INTERVAL) as recorder:
            recorder.preloads = [self.probed]
            target = recorder.start(["/usr/bin/python3", "-c", program], stdin=subprocess.PIPE)
            self.addCleanup(self.end, target)

            def step():
                target.stdin.write(b"go\n")
                target.stdin.flush()
                target.stdout.readline()
            step()
            tracer = self.attach("usdt:LIB:otel_memory:alloc { @allocs = count(); }"
                                 " BEGIN { printf(\"attached\\n\"); }")
            step()
            seen = self.maps_of(tracer)
            step()
            outcome = harness.finish(target, b"", 60)
            recorded = harness.Recorded(outcome, recorder.directory)
        self.assertEqual(recorded.outcome.status, 0)
        count = len(recorded.traces[0].samples)
        self.assertGreater(seen["allocs"], 0.2 * count)
        self.assertLess(seen["allocs"], 0.5 * count)


    def test_wakes_a_program_that_sleeps(self):
        with tempfile.TemporaryDirectory() as directory:
            target = harness.start([harness.host("asleep")], [self.probed],
                                   {"XDG_RUNTIME_DIR": directory, "GEIGER_INTERVAL": str(INTERVAL)},
                                   stdin=subprocess.PIPE)
            self.addCleanup(self.end, target)

            def allocate(rounds):
                target.stdin.write(f"a {rounds * 2 * 8192} 64\n".encode())
                target.stdin.flush()
                target.stdout.readline()
            allocate(100)
            tracer = self.attach("usdt:LIB:otel_memory:alloc "
                                 "{ @events = count(); @bytes = sum(arg2); } "
                                 "BEGIN { printf(\"attached\\n\"); }")
            allocate(500)
            seen = self.maps_of(tracer)
            harness.finish(target, b"q\n", 60)
            expected = 500 * 2 * 8192 / INTERVAL
            # 5 sigma, false alarm 6e-7; each of two threads notices within an interval.
            self.assertLess(abs(seen["events"] - expected), 5 * expected ** 0.5 + 2)
            self.assertLess(abs(seen["bytes"] / INTERVAL - expected), 5 * expected ** 0.5 + 2)
            self.assertEqual(list(pathlib.Path(directory).rglob("*.geiger")), [])


class Asleep(harness.ProcessTest):
    """A program that sleeps, and tools that raise the probes' semaphores."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="asleep-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        os.mkdir(f"{self.directory}/traces", 0o700)

    def start(self, **env):
        program = harness.start([harness.host("asleep")], [harness.preload_entry()],
                                {"XDG_RUNTIME_DIR": self.directory,
                                 "GEIGER_INTERVAL": str(INTERVAL), **env}, stdin=subprocess.PIPE)
        self.addCleanup(self.end, program)
        self.allocate(program, 1)
        return program

    @staticmethod
    def end(program):
        Bpftrace.end(program)
        for pipe in (program.stdin, program.stdout, program.stderr):
            pipe.close()

    def allocate(self, program, rounds):
        """8 KiB and more in each of two threads; objects of 64 bytes."""
        program.stdin.write(f"a {rounds * 2 * 8192} 64\n".encode())
        program.stdin.flush()
        program.stdout.readline()

    def semaphore(self, program, name):
        """Where a probe's semaphore lies in the program."""
        with open(f"/proc/{program.pid}/maps") as maps:
            base = next(int(line.split("-")[0], 16) for line in maps if str(LIBRARY) in line)
        return base + notes(LIBRARY)[name][1]

    def raise_to(self, program, name, value):
        with open(f"/proc/{program.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(self.semaphore(program, name))
            memory.write(value.to_bytes(2, "little"))

    def is_told(self, program):
        """Whether it has the memory of a recording for tools."""
        with open(f"/proc/{program.pid}/maps") as maps:
            ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in maps
                      if line.split()[1] == "rw-p"]  # An arena of glibc's is mostly ---p.
        return any(high - low >= 64 * harness.MIB for low, high in ranges)

    def traces(self):
        return sorted(pathlib.Path(self.directory).rglob("*.geiger"))

    def ctl(self, program, *words, rounds=4):
        geiger = harness.BUILD / "bin" / "geiger"
        asked = subprocess.Popen([geiger, "ctl", str(program.pid), *words],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=harness.environment([], {"XDG_RUNTIME_DIR": self.directory}))
        while asked.poll() is None:
            self.allocate(program, rounds)
        self.assertEqual(asked.returncode, 0, asked.stderr.read())
        output = asked.stdout.read() + asked.stderr.read()
        asked.stdout.close()
        asked.stderr.close()
        return output

    def test_each_probe_wakes_it_and_silence_lets_it_sleep(self):
        for probe in ("otel_memory:alloc", "geiger:free", "geiger:interval", "geiger:mapping"):
            with self.subTest(probe=probe):
                program = self.start()
                self.allocate(program, 4)
                self.assertFalse(self.is_told(program))
                self.raise_to(program, probe, 1)
                self.allocate(program, 4)
                self.assertTrue(self.is_told(program))
                self.raise_to(program, probe, 0)
                self.allocate(program, 4)
                self.assertIn("dormant", self.ctl(program, "status"))
                self.assertEqual(self.traces(), [])

    def test_a_controller_comes_first(self):
        program = self.start()
        self.raise_to(program, "geiger:sample", 1)
        self.allocate(program, 4)
        self.assertTrue(self.is_told(program))
        self.assertIn("reporting", self.ctl(program, "status"))
        self.ctl(program, "start", "-d", f"{self.directory}/traces")
        self.allocate(program, 100)
        self.ctl(program, "stop")
        path, = self.traces()
        trace = harness.trace_reader.read(path)
        trace.check()
        self.assertGreater(len(trace.samples), 100)
        self.assertLess(abs(trace.z()), 5)
        # Tools listen still: it tells them again, and stops with them.
        self.allocate(program, 4)
        self.raise_to(program, "geiger:sample", 0)
        self.allocate(program, 4)
        self.assertEqual(self.traces(), [path])

    def test_a_controller_sets_its_interval(self):
        program = self.start()
        self.raise_to(program, "geiger:sample", 1)
        self.allocate(program, 4)
        self.assertIn(f"interval   {INTERVAL // 1024} KiB", self.ctl(program, "status"))
        self.ctl(program, "interval", "1KiB")
        status = self.ctl(program, "status")
        self.assertIn("reporting", status)
        self.assertIn("interval   1 KiB", status)
        # And that of the next recording for tools.
        self.raise_to(program, "geiger:sample", 0)
        self.allocate(program, 4)
        self.assertIn("dormant", self.ctl(program, "status"))
        self.raise_to(program, "geiger:sample", 1)
        self.allocate(program, 4)
        self.assertIn("interval   1 KiB", self.ctl(program, "status"))
        self.assertEqual(self.traces(), [])

    def test_memory_is_bounded(self):
        program = self.start(GEIGER_INTERVAL="64")
        self.raise_to(program, "geiger:sample", 1)
        for _ in range(40):  # 16,000 samples each: one segment after the other
            self.allocate(program, 64)
        with open(f"/proc/{program.pid}/status") as status:
            resident = int(re.search(r"RssAnon:\s+(\d+) kB", status.read())[1])
        self.assertTrue(self.is_told(program))
        # What the program keeps is 10 MiB; carried samples 80 bytes each, four segments at most.
        self.assertLess(resident, 160 * 1024)
        self.assertEqual(self.traces(), [])

    def test_gdb_counts_the_events_of_the_samples(self):
        """gdb raises a probe's semaphore as it sets its breakpoint."""
        harness.require("gdb")
        program = self.start()
        ready = pathlib.Path(self.directory, "ready")
        tool = subprocess.Popen(
            ["gdb", "-nx", "-batch", "-p", str(program.pid), "-ex", "set $n = 0",
             "-ex", "set $bytes = 0", "-ex", "break -probe-stap otel_memory:alloc",
             "-ex", "condition 1 ($bytes = $bytes + $rdx, $n++ < 0)",
             "-ex", f"shell touch {ready}", "-ex", "continue",
             "-ex", 'printf "events %d weights %ld\\n", $n, $bytes'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(Bpftrace.end, tool)
        self.addCleanup(tool.stdout.close)
        end = time.monotonic() + ATTACH_SECONDS
        while not ready.exists() and tool.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        if not ready.exists():
            tool.kill()
            self.skipTest(f"gdb cannot attach here: {tool.communicate()[0][-200:]}")
        rounds = 250
        self.allocate(program, rounds)
        program.stdin.write(b"q\n")
        program.stdin.flush()
        output = tool.communicate(timeout=120)[0]
        match = re.search(r"events (\d+) weights (\d+)", output)
        self.assertTrue(match, output)
        found, weights = int(match[1]), int(match[2])
        expected = rounds * 2 * 8192 / INTERVAL
        # Each thread notices within an interval; 5 sigma, false alarm 6e-7.
        sigma = expected ** 0.5
        self.assertLess(abs(found - expected), 5 * sigma + 2, output)
        self.assertLess(abs(weights - expected * INTERVAL), (5 * sigma + 4) * INTERVAL)
        self.assertEqual(self.traces(), [])


class Perf(harness.ProcessTest):
    def test_counts(self):
        harness.require("perf")
        if os.geteuid() != 0:
            self.skipTest("perf probe needs root")
        with tempfile.TemporaryDirectory() as home:
            environment = dict(os.environ, HOME=home)

            def perf(*arguments):
                return subprocess.run(["perf", "--buildid-dir", home, *arguments], text=True,
                                      capture_output=True, env=environment, timeout=120)
            added = [perf("buildid-cache", "--add", str(LIBRARY)),
                     perf("probe", "-x", str(LIBRARY), "sdt_otel_memory:alloc")]
            self.addCleanup(perf, "probe", "-d", "sdt_otel_memory:alloc*")
            if any(run.returncode != 0 for run in added):
                self.skipTest(f"perf cannot probe here: {added[-1].stderr.strip()}")
            event = re.search(r"(sdt_otel_memory:alloc\w*)", added[-1].stderr)[1]
            data = f"{home}/perf.data"
            with harness.Recorder(64 * harness.KIB) as recorder:
                settings = [f"{k}={v}" for k, v in recorder.env.items()]
                run = perf("record", "-o", data, "-e", event, "--", "env", *settings,
                           f"LD_PRELOAD={LIBRARY}", *PROGRAM)
                self.assertEqual(run.returncode, 0, run.stderr)
                recorded = harness.Recorded(None, recorder.directory)
            lines = perf("script", "-i", data, "-F", "event,trace").stdout.splitlines()
            trace, = recorded.traces
            sizes = [int(re.search(r"arg2=(\d+)", line)[1]) for line in lines]
            self.assertGreater(len(sizes), 100)
            self.assertEqual(sizes, [s.requested for s in trace.samples])


class Lttng(harness.ProcessTest):
    def setUp(self):
        harness.require("lttng", "lttng-sessiond", "babeltrace2")
        if not LTTNG_LIBRARY.exists():
            self.skipTest("built without liblttng-ust-dev")
        self.home = tempfile.mkdtemp(prefix="lttng-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.environment = dict(os.environ, LTTNG_HOME=self.home, HOME=self.home)
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
        self.addCleanup(self.stop_daemon)
        end = time.monotonic() + ATTACH_SECONDS
        while self.lttng("list").returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.skipTest("lttng-sessiond does not start here")
            time.sleep(0.1)

    def stop_daemon(self):
        self.daemon.terminate()
        self.daemon.wait(60)

    def lttng(self, *arguments):
        return subprocess.run(["lttng", *arguments], env=self.environment, capture_output=True,
                              text=True, timeout=60)

    def must(self, *arguments):
        run = self.lttng(*arguments)
        self.assertEqual(run.returncode, 0, f"{arguments}: {run.stdout} {run.stderr}")

    def start_session(self):
        self.must("create", "geiger", f"--output={self.home}/trace")
        self.must("enable-channel", "-u", "all", "--subbuf-size=1M", "--num-subbuf=8")
        self.must("enable-event", "-u", "-c", "all", "geiger:*")
        self.must("start")

    def events(self):
        self.must("stop")
        self.must("destroy")
        run = subprocess.run(["babeltrace2", f"{self.home}/trace"], capture_output=True, text=True,
                             check=True, timeout=120)
        self.assertNotIn("discarded", run.stderr)
        return run.stdout.splitlines()

    def start_program(self, program=None, command=None):
        run = [harness.BUILD / "bin" / "geiger", "run", "-q", "--lttng", "--interval", str(INTERVAL),
               "-o", f"{self.home}/run.geiger", "--",
               *(command or ["/usr/bin/python3", "-c", program])]
        program = subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**self.environment, "LTTNG_UST_REGISTER_TIMEOUT": "-1"})
        self.addCleanup(Bpftrace.end, program)
        return program

    def trace(self):
        return harness.trace_reader.read(f"{self.home}/run.geiger")

    def test_events_are_the_samples(self):
        self.start_session()
        program = self.start_program(PROGRAM[2])
        self.assertEqual(program.communicate(timeout=60)[0], b"")
        self.assertEqual(program.returncode, 0)
        lines, trace = self.events(), self.trace()
        sampled = [line for line in lines if "geiger:allocation_sampled:" in line]

        def field(line, name):
            return int(re.search(rf"\b{name} = (0x[0-9A-F]+|\d+)", line)[1], 0)
        by_ref = {field(line, "sample"): line for line in sampled}
        self.assertEqual(len(by_ref), len(sampled))
        # The library is loaded behind the runtime, and liblttng-ust ends before it: what
        # was sampled before and after is not told.
        expected = [s for s in trace.samples if min(by_ref) <= s.ref <= max(by_ref)]
        self.assertGreater(len(expected), 2000)
        self.assertGreater(len(expected), 0.9 * len(trace.samples))
        self.assertLess(sum(s.ref > max(by_ref) for s in trace.samples), 20)
        self.assertEqual(sorted(by_ref), [s.ref for s in expected])
        for sample in expected[::97]:
            line = by_ref[sample.ref]
            self.assertEqual(field(line, "address"), sample.address)
            self.assertEqual(field(line, "requested"), sample.requested)
            self.assertEqual(field(line, "usable"), sample.usable)
            weight = sample.requested / trace.inclusion_probability(sample)
            self.assertLessEqual(abs(field(line, "weighted_bytes") - weight), 0.5 + 1e-9 * weight)
            frames = [int(f, 16) for f in re.findall(r"\[\d+\] = (0x[0-9A-F]+)", line)]
            self.assertEqual(tuple(frames), trace.stacks[sample.stack].frames)
        freed = {field(line, "sample") for line in lines if "geiger:sample_freed:" in line}
        self.assertLessEqual(freed, {f.sample for f in trace.frees})
        self.assertGreater(len(freed), 0.9 * len(trace.frees))

    def test_wakes_a_program_that_sleeps(self):
        self.start_session()
        program = harness.start(
            [harness.host("asleep")], [harness.preload_entry(), LTTNG_LIBRARY],
            {**self.environment, "XDG_RUNTIME_DIR": self.home, "GEIGER_INTERVAL": str(INTERVAL),
             "LTTNG_UST_REGISTER_TIMEOUT": "-1"}, stdin=subprocess.PIPE)
        self.addCleanup(Bpftrace.end, program)
        rounds = 1000
        program.stdin.write(f"a {rounds * 2 * 8192} 64\n".encode())
        program.stdin.flush()
        program.stdout.readline()
        harness.finish(program, b"q\n", 60)
        told = [line for line in self.events() if "geiger:allocation_sampled:" in line
                and "requested = 64," in line]
        expected = rounds * 2 * 8192 / INTERVAL
        self.assertLess(abs(len(told) - expected), 5 * expected ** 0.5 + 2)
        self.assertTrue(all(re.search(r"\[0\] = 0x", line) for line in told))
        self.assertEqual(list(pathlib.Path(self.home).rglob("*.geiger")), [])

    def test_names_beside_another_listener(self):
        self.start_session()
        program = self.start_program(command=[harness.host("told")])
        self.assertEqual(program.communicate(timeout=60)[0], b"80 told\n")
        lines = [line for line in self.events() if "requested = 10000," in line]
        named = [line for line in lines if "_type_length = 5," in line]
        self.assertEqual(len(lines), 80)  # At least as large as the interval: all certain.
        self.assertEqual(len(named), 50)
        # By their lengths: babeltrace2 2.0.4 repeats the text of the event before for none.
        self.assertEqual(sum("_type_length = 0," in line for line in lines), 30)
        for line in named:
            self.assertIn('type = "Order"', line)
            self.assertIn('label = "tenant=acme"', line)
            self.assertIn("weighted_bytes = 10000,", line)

    def test_enabled_and_disabled_while_running(self):
        self.start_session()
        self.must("disable-event", "-u", "-c", "all", "--all-events")
        program = self.start_program(
            "import sys\nfor line in sys.stdin:\n"
            "    kept = [bytes(i % 3000) for i in range(5000)]\n    print(line, end='', flush=True)")

        def step():
            program.stdin.write(b"go\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), b"go\n")
        step()
        self.must("enable-event", "-u", "-c", "all", "geiger:*")
        step()
        self.must("disable-event", "-u", "-c", "all", "geiger:*")
        step()
        program.communicate(timeout=60)
        told = sum("geiger:allocation_sampled:" in line for line in self.events())
        count = len(self.trace().samples)
        self.assertGreater(told, 0.2 * count)
        self.assertLess(told, 0.5 * count)


if __name__ == "__main__":
    unittest.main()
