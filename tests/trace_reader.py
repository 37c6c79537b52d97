#!/usr/bin/env python3
"""A second, independent reader of the trace format (src/trace/format.h).

Tests use it as an oracle: it shares no code with the offline reader, reads all
records into memory and decodes one record at a time.  Print a summary with

    trace_reader.py FILE...
"""
import collections
import gc
import json
import math
import struct
import sys

MAGIC = b"GEIGER\r\n"
RECORDS_OFFSET = 8192
HEADER = struct.Struct("<8sIIQQIIiIIIIIQQQQQ16QQQ32s1024s1024s")
# Behind 64 ranges of two words: image_start, segment, started_as and what was refused.
SEGMENT = struct.Struct("<QII256sIii")
SEGMENT_OFFSET = HEADER.size + 64 * 16
WORD = struct.Struct("<Q")
SAMPLE_BODY = struct.Struct("<QQIIQQQQII")
FREE_BODY = struct.Struct("<QQII")
SAMPLE_WORDS, FREE_WORDS = SAMPLE_BODY.size // 8, FREE_BODY.size // 8
RESERVED = 0x80
VOID = 0x40
CARRIED_THREAD = 0x02

(SAMPLE, FREE, STACK, MODULE, THREAD, EPOCH, THREAD_NAME, NAME, MARK, MAPPING,
 UTILIZATION, CARRIED, CHECKPOINT, THINNING, TALLY, RESIDENCY, CODE, INTERPRETER,
 FAULT, OBJECT_TYPE) = range(1, 21)
NAME_KINDS = {1: "label", 2: "type", 3: "heap"}
MAPPING_KINDS = {1: "map", 2: "unmap", 3: "remap", 4: "break", 5: "protect"}
STATES = ("starting", "sampling", "off", "exited", "continued", "stopped")
DROP_CAUSES = ("trace_full", "reentered", "live_table_full", "unseen_free", "uncarried")
MODE_PURE, MODE_CONTINUED, MODE_AGGREGATED, MODE_ATTACHED = 1, 16, 32, 64
ENTRY_POINTS = ("malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc",
                "memalign", "valloc", "pvalloc", "new", "new[]", "new_aligned", "new[]_aligned",
                "reported", "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc",
                "PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc")
INTERPRETED_FRAMES = ("recorded", "unknown_version", "free_threaded", "implausible", "off")
SMALL_OBJECTS = ("not_known", "sampled", "by_malloc", "other_pools", "off")
FAULT_KINDS = {1: "use_after_free", 2: "overflow", 3: "underflow", 4: "double_free",
               5: "invalid_free", 6: "bypassing_free"}
ACCESSES = ("unknown", "read", "write", "free", "earlier_write")
NOT_BEGUN = 0xffffff

Header = collections.namedtuple("Header", (
    "magic version machine capacity tail state stop_reason stop_errno mode pid parent_pid page_size"
    " outer_pid start_monotonic start_realtime stop_monotonic seed interval drops"
    " sealed_end image_bytes runtime_version executable allocator image_start segment started_as"
    " refused_children children_errno segment_errno"))
Sample = collections.namedtuple("Sample", (
    "ref thread cpu certain time stack epoch address requested entry_point log2_alignment usable"
    " heap offset label type"))
Free = collections.namedtuple("Free", "ref thread cpu unseen time sample stack")
Stack = collections.namedtuple("Stack", "ref truncated frames")
Module = collections.namedtuple("Module", "ref start end bias time build_id path")
Thread = collections.namedtuple("Thread", (
    "ref index foreign start tid end bytes trials hits certain_bytes certain_count tail_bytes"
    " armed pending calls"))
Epoch = collections.namedtuple("Epoch", "ref time interval lam")
ThreadName = collections.namedtuple("ThreadName", "ref thread time name")
Name = collections.namedtuple("Name", "ref kind owner text")
Mark = collections.namedtuple("Mark", "ref thread time text")
Mapping = collections.namedtuple("Mapping", (
    "ref thread time stack kind address bytes old_address old_bytes protection flags"))
Carried = collections.namedtuple("Carried", "sample previous")
Checkpoint = collections.namedtuple("Checkpoint", "ref time carried lost")
Thinning = collections.namedtuple("Thinning", "ref time level")
Tally = collections.namedtuple("Tally", (
    "ref certain first stack epoch requested entry_point log2_alignment usable heap label type"
    " allocated freed last"))
Utilization = collections.namedtuple("Utilization", "ref time sample slab_bytes free_bytes")
Residency = collections.namedtuple("Residency", "ref time sample resident_bytes")
ObjectType = collections.namedtuple("ObjectType", "ref sample name")
Code = collections.namedtuple("Code", "ref cut interpreter first_line name file lines")
Interpreter = collections.namedtuple("Interpreter", (
    "ref time start version frames small_objects"))

Fault = collections.namedtuple("Fault", (
    "ref thread time kind access address object bytes allocated freed allocated_by freed_by stack"
    " allocated_stack freed_stack"))


class FormatError(Exception):
    """The bytes do not follow the format."""


def text(field):
    return field.split(b"\0", 1)[0].decode(errors="replace")


def read_header(data):
    if len(data) < HEADER.size:
        raise FormatError(f"{len(data)} bytes are too few for a header")
    fields = list(HEADER.unpack_from(data))
    drops = fields[18:34]
    image_start, segment, _, started_as, *refused = (
        SEGMENT.unpack_from(data, SEGMENT_OFFSET)
        if len(data) >= SEGMENT_OFFSET + SEGMENT.size else (0, 0, 0, b"", 0, 0, 0))
    header = Header(*fields[:18], drops, *fields[34:36], *map(text, fields[36:39]),
                    image_start, segment, text(started_as), *refused)
    if header.magic != MAGIC:
        raise FormatError(f"magic is {header.magic!r}")
    if header.version != 1:
        raise FormatError(f"version is {header.version}")
    return header


def written_bytes(path):
    """What was written of a trace so far."""
    with open(path, "rb") as file:
        header = read_header(file.read(RECORDS_OFFSET))
        file.seek(0)
        return file.read(min(header.tail, header.capacity))


def chance_of(seed, sample):
    """By which live samples are thinned: splitmix64 over seed, time and address."""
    mask = (1 << 64) - 1

    def mix(z):
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & mask
        z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
        return z ^ z >> 31
    return mix(mix(seed + sample.time * 0x9e3779b97f4a7c15 & mask) + sample.address & mask)


def is_kept(chance, level):
    return level == 0 or (level < 64 and chance >> (64 - level) == 0)


class Trace:
    """All committed records of one image, by kind; `uncommitted` counts the rest."""

    def __init__(self, data, path="<memory>"):
        self.path = path
        self.header = read_header(data)
        self.samples, self.frees, self.modules, self.thread_names = [], [], [], []
        self.stacks, self.threads, self.epochs, self.names = {}, {}, {}, {}
        self.marks, self.mappings, self.utilization, self.residency = [], [], [], []
        self.object_types = []
        self.carried, self.checkpoints, self.thinnings, self.tallies = [], [], [], []
        self.code, self.interpreters, self.faults = {}, {}, []
        self.uncommitted = 0
        self.records = 0
        self._read_records(data)

    def _read_records(self, data):
        """Millions of tuples that form no cycles: looking for some takes a third of the time."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            self._read_records_in(data)
        finally:
            if was_enabled:
                gc.enable()

    def _read_records_in(self, data):
        end = min(self.header.sealed_end or self.header.tail, self.header.capacity, len(data))
        at = RECORDS_OFFSET
        while at + 8 <= end:
            word, = WORD.unpack_from(data, at)
            if word == 0:
                at += 8
                continue
            words = word >> 16 & 0xfff
            if words == 0 or at + 8 * words > end:
                raise FormatError(f"{self.path}: record of {words} words at {at}, end {end}")
            if word >> 8 & RESERVED:
                self.uncommitted += 1
            else:
                self.records += 1
                # Nearly all are of these two kinds: in place, and past namedtuple's own constructor.
                if word & 0xff == SAMPLE and words == SAMPLE_WORDS:
                    self.samples.append(self._sample(data, at, word))
                elif word & 0xff == FREE and words == FREE_WORDS:
                    _, time, sample, stack = FREE_BODY.unpack_from(data, at)
                    self.frees.append(tuple.__new__(Free, (
                        at // 8, word >> 40, word >> 28 & 0xfff, word & 0x100 != 0, time, sample,
                        stack)))
                else:
                    self._read_record(data[at:at + 8 * words], at // 8, word)
            at += 8 * words

    def _read_record(self, body, ref, word):
        kind, flags = word & 0xff, word >> 8 & 0xff
        thread = word >> 40
        if kind == STACK:
            count, = struct.unpack_from("<Q", body, 8)
            frames = struct.unpack_from(f"<{count}Q", body, 16)
            self.stacks[ref] = Stack(ref, bool(flags & 1), frames)
        elif kind == CARRIED:
            if not flags & VOID:
                previous, = struct.unpack_from("<I", body, 72)
                sample = self._sample(body, 8, word)._replace(ref=ref)
                self.carried.append(Carried(sample, previous))
        elif kind == CHECKPOINT:
            self.checkpoints.append(Checkpoint(ref, *struct.unpack_from("<3Q", body, 8)))
        elif kind == THINNING:
            self.thinnings.append(Thinning(ref, *struct.unpack_from("<QI", body, 8)))
        elif kind == TALLY:
            (first, stack, epoch, requested_kind, usable_heap, label, name_of_type, allocated,
             freed, last, _) = struct.unpack_from("<QIIQQIIQQQQ", body, 8)
            self.tallies.append(Tally(
                ref, bool(flags & 1), first, stack, epoch, requested_kind & (1 << 48) - 1,
                requested_kind >> 48 & 0xff, requested_kind >> 56, usable_heap & (1 << 48) - 1,
                usable_heap >> 48, label, name_of_type, allocated, freed, last))
        elif kind == MODULE:
            start, end, bias, time, id_bytes, path_bytes = struct.unpack_from("<QQQQII", body, 8)
            build_id = body[48:48 + id_bytes].hex()
            path = text(body[48 + id_bytes:48 + id_bytes + path_bytes])
            self.modules.append(Module(ref, start, end, bias, time, build_id, path))
        elif kind == THREAD and flags & CARRIED_THREAD and thread in self.threads:
            pass  # Its own record, with totals, came first.
        elif kind == THREAD:
            self.threads[thread] = Thread(ref, thread, bool(flags & 1),
                                          *struct.unpack_from("<12Q", body, 8))
        elif kind == EPOCH:
            time, interval, lam = struct.unpack_from("<QQd", body, 8)
            self.epochs[ref] = Epoch(ref, time, interval, lam)
        elif kind == THREAD_NAME:
            time, name = struct.unpack_from("<Q16s", body, 8)
            self.thread_names.append(ThreadName(ref, thread, time, text(name)))
        elif kind == NAME:
            what, owner, size = struct.unpack_from("<III", body, 8)
            self.names[ref] = Name(ref, NAME_KINDS[what], owner, self._text(body, 24, size))
        elif kind == MARK:
            time, size = struct.unpack_from("<QI", body, 8)
            self.marks.append(Mark(ref, thread, time, self._text(body, 24, size)))
        elif kind == MAPPING:
            (time, stack, what, address, size, old_address, old_size, protection,
             mapping_flags) = struct.unpack_from("<QIIQQQQII", body, 8)
            self.mappings.append(Mapping(ref, thread, time, stack, MAPPING_KINDS[what], address,
                                         size, old_address, old_size, protection, mapping_flags))
        elif kind == UTILIZATION:
            time, sample, _, slab, free = struct.unpack_from("<QIIQQ", body, 8)
            self.utilization.append(Utilization(ref, time, sample, slab, free))
        elif kind == RESIDENCY:
            time, sample, _, resident = struct.unpack_from("<QIIQ", body, 8)
            self.residency.append(Residency(ref, time, sample, resident))
        elif kind == CODE:
            interpreter, first_line, *sizes = struct.unpack_from("<IiIII", body, 8)
            texts = self._parts(body, 32, sizes)
            self.code[ref] = Code(ref, bool(flags & 1), interpreter, first_line,
                                  texts[0].decode(errors="replace"),
                                  texts[1].decode(errors="replace"), texts[2])
        elif kind == INTERPRETER:
            time, start, version, frames, small = struct.unpack_from("<QQIII", body, 8)
            self.interpreters[ref] = Interpreter(ref, time, start, version,
                                                 INTERPRETED_FRAMES[frames], SMALL_OBJECTS[small])
        elif kind == FAULT:
            time, what, access, *rest = struct.unpack_from("<QII5Q5I", body, 8)
            self.faults.append(Fault(ref, thread, time, FAULT_KINDS[what], ACCESSES[access],
                                     *rest))
        elif kind == OBJECT_TYPE:
            sample, name = struct.unpack_from("<II", body, 8)
            self.object_types.append(ObjectType(ref, sample, name))
        else:
            raise FormatError(f"{self.path}: record type {kind} at {8 * ref}")

    def _parts(self, body, at, sizes):
        """Texts one behind the other."""
        if at + sum(sizes) > len(body):
            raise FormatError(f"{self.path}: texts run out of their record")
        parts = []
        for size in sizes:
            parts.append(bytes(body[at:at + size]))
            at += size
        return parts

    def interpreted(self, word):
        """The code and the offset (None: not begun) of a word of a stack; None of an address."""
        if word >> 56 != 0x81:
            return None
        offset = word & NOT_BEGUN
        return self.code[word >> 24 & 0xffffffff], None if offset == NOT_BEGUN else offset

    def interpreted_frames(self):
        """Those of all stacks, in words, each once."""
        words = {word for stack in self.stacks.values() for word in stack.frames}
        found = filter(None, map(self.interpreted, words))
        return sorted(f"{code.name} {code.file}:{code.first_line} {offset}"
                      for code, offset in found)

    @staticmethod
    def _sample(data, at, word):
        """From its first word on; `word` says where it is from."""
        (_, time, stack, epoch, address, requested_kind, usable_heap, offset, label,
         name_of_type) = SAMPLE_BODY.unpack_from(data, at)
        return tuple.__new__(Sample, (
            at // 8, word >> 40, word >> 28 & 0xfff, word & 0x100 != 0, time, stack, epoch, address,
            requested_kind & (1 << 48) - 1, requested_kind >> 48 & 0xff, requested_kind >> 56,
            usable_heap & (1 << 48) - 1, usable_heap >> 48, offset, label, name_of_type))

    def _text(self, body, start, size):
        if start + size > len(body):
            raise FormatError(f"{self.path}: a text of {size} bytes in a record of {len(body)}")
        return body[start:start + size].decode(errors="replace")

    def label_path(self, ref):
        """The texts of a label and those around it, outermost first."""
        path = []
        while ref:
            path.insert(0, self.names[ref].text)
            ref = self.names[ref].owner
        return path

    def total(self, field):
        """Sum of one ThreadRecord field over all threads; `pending` bytes are failed trials."""
        total = sum(getattr(thread, field) for thread in self.threads.values())
        if field in ("bytes", "trials"):
            total += self.total("pending")
        return total

    def unsettled_threads(self):
        """Threads that may have allocated since they last wrote down their totals."""
        return sum(thread.armed > 0 for thread in self.threads.values())

    def drops(self):
        return dict(zip(DROP_CAUSES, self.header.drops))

    def z(self):
        """How far the number of hits is from its expectation, in standard deviations.

        A thread that was cut off lacks the trials since its last hit, so it counts from 400 hits
        on. Freeman and Tukey's deviate, as one hit where .01 is expected is no 10 deviations."""
        interval = self.header.interval
        threads = [thread for thread in self.threads.values()
                   if thread.armed == 0 or thread.hits >= 400]
        trials = sum(thread.trials + thread.pending for thread in threads)
        hits = sum(thread.hits for thread in threads)
        if interval <= 1 or trials == 0:
            return 0.0
        expected = trials / interval
        return ((math.sqrt(hits) + math.sqrt(hits + 1) - math.sqrt(4 * expected + 1)) /
                math.sqrt(1 - 1 / interval))

    def estimated_bytes(self):
        """Horvitz-Thompson: every sample of the process's heap stands for requested / pi bytes."""
        return sum(s.requested / self.inclusion_probability(s) for s in self.samples
                   if s.heap == 0)

    def inclusion_probability(self, sample):
        lam = self.epochs[sample.epoch].lam
        if sample.certain or math.isinf(lam):
            return 1.0
        return -math.expm1(-lam * max(sample.requested, 1))  # No bytes: one trial.

    def live(self):
        """Not freed in this segment, those carried into it as well."""
        freed = {free.sample for free in self.frees}
        return [sample for sample in self.followed() if sample.ref not in freed]

    def followed(self):
        return self.samples + [carried.sample for carried in self.carried]

    def level(self):
        """Of thinning, at the end: the fate of a sample is known with probability 2^-level."""
        return max((thinning.level for thinning in self.thinnings), default=0)

    def fates(self):
        """The samples whose fate is known."""
        return [sample for sample in self.followed()
                if is_kept(chance_of(self.header.seed, sample), self.level())]

    def check(self):
        """Raises FormatError if records contradict each other (a whole, unkilled trace)."""
        refs = {sample.ref for sample in self.followed()}
        carried = {carried.sample.ref for carried in self.carried}
        freed = collections.Counter(free.sample for free in self.frees)
        for tally in self.tallies:
            if tally.freed > tally.allocated:
                raise FormatError(f"{self.path}: tally {tally.ref} freed more than was allocated")
        for sample in self.followed():
            if sample.stack and sample.stack not in self.stacks:
                raise FormatError(f"{self.path}: sample {sample.ref} names no stack")
            if sample.epoch not in self.epochs:
                raise FormatError(f"{self.path}: sample {sample.ref} names no epoch")
            # The thread of a carried one may have ended in an earlier segment.
            if sample.thread not in self.threads and sample.ref not in carried:
                raise FormatError(f"{self.path}: sample {sample.ref} names no thread")
            for ref, kind in ((sample.label, "label"), (sample.type, "type")):
                if ref and (ref not in self.names or self.names[ref].kind != kind):
                    raise FormatError(f"{self.path}: sample {sample.ref} has no such {kind}")
            if not sample.certain and sample.offset >= max(sample.requested, 1):
                raise FormatError(f"{self.path}: sample {sample.ref} drew a byte outside itself")
            if sample.usable < sample.requested:
                raise FormatError(f"{self.path}: sample {sample.ref} has fewer usable bytes")
        for typed in self.object_types:
            if typed.sample not in refs or typed.name not in self.names:
                raise FormatError(f"{self.path}: type {typed.ref} is of no sample, or has no name")
        for ref, count in freed.items():
            if ref not in refs or count > 1:
                raise FormatError(f"{self.path}: {count} frees of sample {ref}")
        for thread in self.threads.values():
            parts = thread.trials + thread.certain_bytes + thread.tail_bytes
            if thread.bytes != parts:
                raise FormatError(f"{self.path}: thread {thread.index} settled {thread.bytes} bytes"
                                  f" but its parts sum up to {parts}")


def read(path):
    """The first image of a trace file; the file may be sparse and huge behind its tail."""
    with open(path, "rb") as file:
        header = read_header(file.read(RECORDS_OFFSET))
        file.seek(0)
        return Trace(file.read(min(header.tail, header.capacity)), str(path))


class Image:
    """The segments of one process image that are there, in their order."""

    def __init__(self, traces):
        self.traces = sorted(traces, key=lambda trace: trace.header.segment)
        numbers = [trace.header.segment for trace in self.traces]
        if len(set(numbers)) != len(numbers):
            raise FormatError(f"segments {numbers} of one image")

    def total(self, field):
        return sum(trace.total(field) for trace in self.traces)

    def allocated(self):
        """Samples whose allocation is in the recording."""
        return [sample for trace in self.traces for sample in trace.samples]

    def live(self):
        """At the end: of the last segment, whose checkpoint named all that lived before."""
        return self.traces[-1].live()


def images(traces):
    """Segments put together: pid and beginning tell which are of one image."""
    groups = collections.defaultdict(list)
    for number, trace in enumerate(traces):
        start = trace.header.image_start
        groups[(trace.header.pid, start) if start else number].append(trace)
    return [Image(group) for group in groups.values()]


def summary(trace):
    return {
        "path": trace.path,
        "pid": trace.header.pid,
        "executable": trace.header.executable,
        "allocator": trace.header.allocator,
        "state": STATES[trace.header.state],
        "interval": trace.header.interval,
        "records": trace.records,
        "uncommitted": trace.uncommitted,
        "samples": len(trace.samples),
        "certain": sum(s.certain for s in trace.samples),
        "frees": len(trace.frees),
        "stacks": len(trace.stacks),
        "truncated_stacks": sum(s.truncated for s in trace.stacks.values()),
        "modules": len(trace.modules),
        "threads": len(trace.threads),
        "labels": sorted(" / ".join(trace.label_path(ref)) for ref, name in trace.names.items()
                         if name.kind == "label"),
        "marks": [mark.text for mark in trace.marks],
        "mappings": dict(collections.Counter(mapping.kind for mapping in trace.mappings)),
        "utilization": len(trace.utilization),
        "residency": len(trace.residency),
        "object_types": len(trace.object_types),
        "interpreters": [f"{i.version >> 24}.{i.version >> 16 & 255}.{i.version >> 8 & 255} "
                         f"{i.frames} {i.small_objects}" for i in trace.interpreters.values()],
        "interpreted": trace.interpreted_frames(),
        "segment": trace.header.segment,
        "carried": len(trace.carried),
        "checkpoints": len(trace.checkpoints),
        "level": trace.level(),
        "fates": len(trace.fates()),
        "tallied": sum(tally.allocated for tally in trace.tallies),
        "tallied_live": sum(tally.allocated - tally.freed for tally in trace.tallies),
        "bytes": trace.total("bytes"),
        "trials": trace.total("trials"),
        "hits": trace.total("hits"),
        "estimated_bytes": trace.estimated_bytes(),
        "z": trace.z(),
        "drops": trace.drops(),
        "unsettled_threads": trace.unsettled_threads(),
        "tail": trace.header.tail,
        "entry_points": dict(collections.Counter(
            ENTRY_POINTS[s.entry_point] for s in trace.samples)),
    }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(json.dumps(summary(read(name)), indent=1))
