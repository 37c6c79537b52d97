#!/usr/bin/env python3
"""Mistakes that other samplers made, made here on purpose: each must fail a test.

Copies the sources of the sampler and the estimators to a temporary directory, applies one
mutation at a time (a text that must occur exactly once, and its replacement), builds the
small tests against it and runs them, one file after the other until one fails. A mutant that fails no
test survives, and so does this
script's failure: exit code 1. Some changes are the other way round: the law of the samples stays
the same, which is proved, so a distribution test that fails on one of them is itself wrong, and
that is a failure too. Nothing but the copies is touched.

    mutations.py [COMPILER]             all of them
    mutations.py --of-each [COMPILER]   the first mistake for each set of tests
    mutations.py --list                 their names
"""
import collections
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", f'-DGEIGER_SOURCE_DIR="{ROOT}"', "-DGEIGER_SAMPLING_COMPILED", "-w"]
# What the room's .inl files are compiled in.
SAMPLING = ("sampling/compiled.cc", "sampling/compiled_lists.cc")
ESTIMATION = ("estimation/sums.cc", "estimation/estimate.cc", "estimation/distributions/gamma.cc",
              "estimation/thinning.cc")
ROOMS = (*SAMPLING, *ESTIMATION)
# Tests take longer to compile than to run, but for those that simulate.
SIMULATE = ("_stat_test", "size_mixes_test", "thinning_test")
HANG_SECONDS = 60  # of processor time: a machine that is busy otherwise ends no test
# The quickest first, as the first that fails is the last that is built.
SAMPLER_TESTS = ("sampling/counter_sampler_test.cc", "sampling/logarithm_test.cc",
                 "sampling/counter_sampler_stat_test.cc", "estimation/size_mixes_test.cc")
LIST_LAW = ("sampling/list_sampler_stat_test.cc",)
LIST_TESTS = ("sampling/list_sampler_test.cc", "sampling/list_sampler_coupling_test.cc", *LIST_LAW)
ESTIMATOR_TESTS = ("estimation/sums_test.cc", "estimation/estimate_test.cc",
                   "estimation/thinning_test.cc", "estimation/size_mixes_test.cc",
                   "estimation/object_count_test.cc")

Mutation = collections.namedtuple("Mutation", "name file text replacement tests is_equal",
                                  defaults=(False,))


def sampler(name, text, replacement, file="geiger/sampling/counter_sampler.inl", tests=SAMPLER_TESTS):
    return Mutation(name, file, text, replacement, tests)


def skip_law(name, text, replacement):
    return sampler(name, text, replacement, "geiger/sampling/series.h")


def bernoulli(name, text, replacement):
    return sampler(name, text, replacement, "geiger/bernoulli_trial.h",
                   ("sampling/bernoulli_trial_test.cc", "sampling/bernoulli_trial_stat_test.cc"))


def arena(name, text, replacement, file="geiger/arena.inl"):
    return sampler(name, text, replacement, file, ("headers/arena_test.cc",))


def free_list(name, text, replacement, file="geiger/sampling/list_sampler.inl"):
    return sampler(name, text, replacement, file, LIST_TESTS)


def same_law(name, text, replacement):
    """Other samples with the same law: only the tests of the law run."""
    return Mutation(name, "geiger/sampling/list_sampler.inl", text, replacement, LIST_LAW, True)


def estimator(name, text, replacement, file="estimation/sums.cc"):
    return Mutation(name, file, text, replacement, ESTIMATOR_TESTS)


MUTATIONS = [
    # The boundary.
    sampler("size == skip taken for a hit (FastBernoulliTrial)",
            "if (size <= skip_count_) {", "if (size < skip_count_) {"),
    sampler("0 bytes tried (FastBernoulliTrial)", "if (size == 0 || !is_started()) return {};",
            "if (!is_started()) return {};\n  if (size == 0 && skip_count_ == 0) size = 1;"),
    sampler("objects without bytes use up the next trial", "  return {Verdict::Kind::kSampled, 0};",
            "  redraw();\n  return {Verdict::Kind::kSampled, 0};"),
    sampler("objects without bytes share the next byte's trial",
            "if (!is_started() || passes_empty()) return {};",
            "if (!is_started() || skip_count_ != 0) return {};"),
    sampler("objects without bytes in a row share a number", "  ++empties_;\n  return true;",
            "  return true;"),
    sampler("objects without bytes of all seeds share their numbers",
            "  empties_ = splitmix64(seed) & ~std::uint64_t{0} >> 1;\n", ""),
    sampler("offset one too large", "sampled{Verdict::Kind::kSampled, skip_count_};",
            "sampled{Verdict::Kind::kSampled, skip_count_ + 1};"),
    sampler("bytes behind the hit tried", "  redraw();\n  return sampled;",
            "  const std::uint64_t tail = size - skip_count_ - 1;\n  redraw();\n"
            "  skip_count_ -= std::min(skip_count_, tail);\n  return sampled;"),
    sampler("skip kept after a miss", "    skip_count_ -= size;\n", "",),
    # The law of the skips.
    skip_law("skips rounded up", "return static_cast<std::uint64_t>(quotient);",
             "return static_cast<std::uint64_t>(quotient) + (quotient > 0);"),
    skip_law("skips one too small (TCMalloc's floor - 1)",
             "return static_cast<std::uint64_t>(quotient);",
             "return quotient < 1 ? 0 : static_cast<std::uint64_t>(quotient) - 1;"),
    skip_law("mean T instead of -1/log1p(-1/T)", "-log_reduced(reduce(u)) / lambda;",
             "-log_reduced(reduce(u)) * (lambda > 1e300 ? 0 : 1 / -__builtin_expm1(-lambda));"),
    skip_law("T off by one per cent",
             "-log_reduced(reduce(u)) / lambda;", "-log_reduced(reduce(u)) / lambda * 1.01;"),
    skip_law("u may be 0", "((random_bits >> 11) + 1) * 0x1p-53;", "(random_bits >> 11) * 0x1p-53;"),
    skip_law("26 bits of randomness", "((random_bits >> 11) + 1) * 0x1p-53;",
             "((random_bits >> 38) + 1) * 0x1p-26;"),
    skip_law("skips cut at 10 T", "if (!(quotient < 0x1p64))",
             "if (quotient > 10 / lambda) return static_cast<std::uint64_t>(10 / lambda);\n"
             "  if (!(quotient < 0x1p64))"),
    # Seeds.
    sampler("constant seed (heapprofd, Memray)", "generator_ = Xoshiro256pp(seed);",
            "generator_ = Xoshiro256pp(1);"),
    sampler("all threads share a stream", "state = splitmix64(state) ^ thread_number;",
            "state = splitmix64(state);", "geiger/sampling/prng.h", ("sampling/prng_test.cc",)),
    sampler("neighbouring threads share their streams",
            "state = splitmix64(state) ^ thread_number;\n  return splitmix64(state);",
            "return state + thread_number;", "geiger/sampling/prng.h", ("sampling/prng_test.cc",)),
    sampler("fork's child keeps the pending skip",
            "std::uint64_t{0} >> 1;\n  redraw();",
            "std::uint64_t{0} >> 1;\n  if (skip_count_ == 0) redraw();"),
    # Certain objects.
    sampler("certain from T + 1 on", "if (size >= interval_ && !is_pure_)",
            "if (size > interval_ && !is_pure_)"),
    sampler("certain objects use up the skip", "return {Verdict::Kind::kCertain, 0};",
            "return skip_count_ -= std::min(skip_count_, size), "
            "Verdict{Verdict::Kind::kCertain, 0};"),
    sampler("fast path armed with T", "return std::min(skip_count_, interval_ - 1);",
            "return std::min(skip_count_, interval_);"),
    sampler("settling loses a byte", "skip_count_ -= std::min(consumed, countdown());",
            "skip_count_ -= std::min(consumed - (consumed > 0), countdown());"),
    # What is recorded, and changes of T.
    sampler("samples dropped over a cap", "  redraw();\n  return sampled;",
            "  redraw();\n  static std::uint64_t drawn = 0;\n"
            "  if (++drawn % 100 > 97) return {};\n  return sampled;"),
    sampler("old skip kept, weighted by the new T",
            "  interval_ = interval;\n  lambda_ = lambda;\n  redraw();",
            "  interval_ = interval;\n  lambda_ = lambda;"),
    sampler("redrawn only when the hit is near",
            "  interval_ = interval;\n  lambda_ = lambda;\n  redraw();",
            "  if (skip_count_ < interval_) redraw();\n  interval_ = interval;\n"
            "  lambda_ = lambda;"),
    sampler("redrawn at the old rate",
            "  interval_ = interval;\n  lambda_ = lambda;\n  redraw();",
            "  redraw();\n  interval_ = interval;\n  lambda_ = lambda;"),
    # Trials in blocks.
    bernoulli("n == skip taken for a success (FastBernoulliTrial)",
              "    if (count <= skip_count_) {\n      skip_count_ -= count;\n      return false;\n"
              "    }\n    return reaches_success(count);",
              "    if (count < skip_count_) {\n      skip_count_ -= count;\n      return false;\n"
              "    }\n    draw();\n    return true;"),
    bernoulli("skips one too small", "skip_count_ = skip_count_of(generator_.next(), lambda_);",
              "skip_count_ = skip_count_of(generator_.next(), lambda_);\n"
              "      if (skip_count_ > 0) --skip_count_;"),
    bernoulli("clamped skips end in a success", "is_clamped_ = skip_count_ == kUnbounded;",
              "is_clamped_ = probability_ == 0;"),
    bernoulli("old skip kept under a new probability",
              "lambda_ = rate_of_probability(probability);\n    draw();",
              "const bool is_first = lambda_ == 0;\n    lambda_ = rate_of_probability(probability);\n"
              "    if (is_first) draw();"),
    # The pointer form.
    arena("padding not tried in the slow path", "if (padding != 0 && sampler_.is_started()) {",
          "if (padding > 1000 && sampler_.is_started()) {"),
    arena("limit one byte too far", "left = std::min(left, sampler_.countdown());",
          "left = std::min(left, sampler_.countdown() + 1);"),
    arena("bytes of the fast path not settled", "  sampler_.settle(passed);\n", ""),
    arena("interval of the sink followed before the object is decided",
          "  const sampling::Verdict verdict = decide(size);\n"
          "  const double lambda = sampler_.lambda();\n  follow_interval();\n",
          "  follow_interval();\n  const sampling::Verdict verdict = decide(size);\n"
          "  const double lambda = sampler_.lambda();\n"),
    arena("sizes that wrap", "                       size <= static_cast<std::size_t>(PTRDIFF_MAX);",
          "                       size <= static_cast<std::size_t>(SIZE_MAX);", "geiger/arena.h"),
    # The list form.
    free_list("drawn bytes behind the request recorded",
              "if (interval_ == 0 || skip_count >= std::max<std::uint64_t>(size, 1)) return {};",
              "if (interval_ == 0 || skip_count >= list.block_size) return {};"),
    free_list("on a change of T only cut lists redrawn",
              "    if (lists[i].block_size == 0) continue;\n",
              "    if (lists[i].reserve == 0) continue;\n"),
    free_list("fork's child keeps the K of its lists",
              "  generator_ = Xoshiro256pp(seed);\n  redraw(lists, count);",
              "  generator_ = Xoshiro256pp(seed);"),
    free_list("lists redrawn at the old rate",
              "  interval_ = interval;\n  lambda_ = lambda;\n  redraw(lists, count);",
              "  redraw(lists, count);\n  interval_ = interval;\n  lambda_ = lambda;"),
    free_list("the drawn block on the list", "blocks : skip_count / list.block_size;",
              "blocks : skip_count / list.block_size + 1;"),
    free_list("install() forgets the blocks left on a list",
              "cut(list, list.skip_count(), list.listed() + blocks);",
              "cut(list, list.skip, list.listed() + blocks);"),
    free_list("redrawn at a refill only when the success is near",
              "  list.installed += blocks;\n",
              "  if (list.is_used_up() && list.skip < 4 * list.block_size)\n"
              "    list.skip = const_cast<ListSampler*>(this)->draw();\n"
              "  list.installed += blocks;\n"),
    free_list("a success in the rounding goes to the next object",
              "  cut(list, draw(), blocks - 1);\n",
              "  cut(list, skip_count < size ? draw() : skip_count - size, blocks - 1);\n"),
    free_list("certain objects use up the K of others",
              "    cut(list, skip_count, blocks - 1);\n    return {Verdict::Kind::kCertain, 0};",
              "    cut(list, skip_count - std::min(skip_count, size), blocks - 1);\n"
              "    return {Verdict::Kind::kCertain, 0};"),
    free_list("classes of T bytes not asked about", "  if (is_certain(list.block_size)) undecided = 0;\n", ""),
    free_list("totals count what is still listed", "return installed - reserve - ",
              "return installed - ", "geiger/sampling/list_sampler.h"),
    free_list("threads without a heap take from its empty lists", "{ return --left >= 0; }",
              "{ return left-- != 0; }", "geiger/sampling/list_sampler.h"),
    same_law("a redraw at each uncut refill", "  list.installed += blocks;\n",
             "  if (list.installed != 0 && list.is_used_up())\n"
             "    list.skip = const_cast<ListSampler*>(this)->draw();\n"
             "  list.installed += blocks;\n"),
    same_law("`>` for `>=` where a list ends at the drawn byte",
             "if (undecided >= blocks) undecided = blocks;",
             "if (undecided > blocks) undecided = blocks;"),
    same_law("a redraw at each certain object",
             "    cut(list, skip_count, blocks - 1);\n    return {Verdict::Kind::kCertain, 0};",
             "    cut(list, draw(), blocks - 1);\n    return {Verdict::Kind::kCertain, 0};"),
    # Weights and intervals.
    estimator("rate 1/T where trials have log1p",
              "return -std::log1p(-1 / interval);", "return 1 / interval;"),
    estimator("every sample weighs T", "weighted_bytes += n * (y / pi);",
              "weighted_bytes += n / lambda;"),
    estimator("objects not scaled (Memray)", "objects += n / pi;", "objects += n;"),
    estimator("weights rounded to whole objects (TCMalloc)", "weighted_bytes += n * (y / pi);",
              "weighted_bytes += n * y * std::floor(1 / pi + 0.5);"),
    estimator("variance of T s", "bytes_variance += n * (y / pi) * (y * missed / pi);",
              "bytes_variance += n * (y / pi) * (y / pi);"),
    estimator("certain objects counted as sampled", "certain_samples += count;",
              "samples += count;"),
    estimator("a field left out of the list of sums", "  visit(sums.objects_variance...);\n", ""),
    estimator("merging keeps the smaller E",
              "largest_interval = std::max(largest_interval, other.largest_interval);\n",
              "largest_interval = smaller(largest_interval, other.largest_interval);\n"),
    estimator("no next event in the upper limit",
              "return {std::max(weighted - seen, 0.0) + event, root_of_squares(deviation, event)};",
              "return {std::max(weighted - seen, 0.0), deviation};", "estimation/estimate.cc"),
    estimator("the heaviest sample as the next object", "return std::max(seen, -1 / std::expm1(",
              "return std::min(seen, -1 / std::expm1(", "estimation/estimate.cc"),
    estimator("lower limit not clipped at what was seen",
              "return {std::max(part.seen, part.lower_law().lower_quantile(alpha / 2)),",
              "return {part.lower_law().lower_quantile(alpha / 2),", "estimation/estimate.cc"),
    estimator("limits at alpha instead of alpha/2",
              "part.seen + part.upper_law().upper_quantile(alpha / 2)};",
              "part.seen + part.upper_law().upper_quantile(alpha)};", "estimation/estimate.cc"),
]


class Workshop:
    """A copy of the sources and the objects built from them."""

    def __init__(self, compiler, directory, is_proved):
        """`is_proved`: that tests pass without a mutation was seen elsewhere."""
        self.compiler, self.is_proved = compiler, is_proved
        self.pristine = directory / "src"
        self.directory = directory
        for room in ("base", "sampling", "estimation"):
            shutil.copytree(ROOT / "src" / room, self.pristine / room)
        shutil.copytree(ROOT / "include" / "geiger", self.pristine / "geiger")
        shutil.copytree(ROOT / "tests" / "headers", self.pristine / "headers")
        self.objects = {}
        # GoogleTest's headers take as long as the rest of a test: once for all.
        self.headers = directory / "googletest.h"
        self.headers.write_text("#include <gmock/gmock.h>\n#include <gtest/gtest.h>\n")
        self.variants = directory / "googletest.h.gch"  # The compiler finds the one of its flags.
        self.variants.mkdir()

    def run_compiler(self, *words):
        subprocess.run([self.compiler, *FLAGS, *map(str, words)], check=True, timeout=300)

    def compile(self, source, include, target, *more):
        is_test = source.stem.endswith("_test")
        headers = ["-include", self.headers] if is_test else []
        level = "-O0" if is_test and not source.stem.endswith(SIMULATE) else "-O1"
        if is_test and not (self.variants / level).exists():
            self.run_compiler(level, "-x", "c++-header", self.headers, "-o", self.variants / level)
        self.run_compiler(level, *headers, "-I", include, *more, "-c", source, "-o", target)
        return target

    def pristine_object(self, name):
        """Made when it is first asked for; a test must pass on what is not mutated, else its failures
        would prove nothing."""
        if name not in self.objects:
            self.objects[name] = self.compile(self.pristine / name, self.pristine,
                                              self.object_path(name), "-MMD")
            if name not in ROOMS:
                program = self.link([self.pristine_object(each) for each in (*ROOMS, name)],
                                    self.directory / "pristine")
                failed = failures(program)
                if failed:
                    raise SystemExit(f"without any mutation these fail: {', '.join(failed)}")
        return self.objects[name]

    def is_made_from(self, name, file):
        """Whether the object of `name` was made from `file` too."""
        self.pristine_object(name)
        made_from = self.object_path(name).with_suffix(".d").read_text().split()
        return str(self.pristine / file) in made_from

    def object_path(self, name):
        return self.directory / (name.replace("/", "_") + ".o")

    def mutated_sources(self, mutation):
        original = (self.pristine / mutation.file).read_text()
        found = original.count(mutation.text)
        if found != 1:
            raise SystemExit(f"{mutation.name}: its text occurs {found} times in {mutation.file}")
        tree = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        shutil.copytree(self.pristine, tree / "src")
        (tree / "src" / mutation.file).write_text(
            original.replace(mutation.text, mutation.replacement))
        return tree

    def failures_of(self, mutation):
        """The test that fails first with it; none where it survives them all."""
        tree = self.mutated_sources(mutation)

        @functools.cache
        def mutated_object(name):
            is_test = name not in ROOMS
            if not (is_test and self.is_proved) and not self.is_made_from(name, mutation.file):
                return self.pristine_object(name)
            return self.compile(tree / "src" / name, tree / "src",
                                tree / (name.replace("/", "_") + ".o"))

        for test in mutation.tests:
            program = self.link([mutated_object(name) for name in (*ROOMS, test)], tree / "tests")
            failed = failures(program, "--gtest_fail_fast")
            if failed:
                return failed
        return []

    def link(self, objects, program):
        subprocess.run([self.compiler, *map(str, objects), "-o", str(program), "-lgmock", "-lgtest",
                        "-lgtest_main", "-pthread"], check=True, timeout=300)
        return program


def failures(program, *options):
    """Names of the tests that fail; a crash or a hang counts as one."""
    done = subprocess.run(["prlimit", f"--cpu={HANG_SECONDS}", str(program), "--gtest_brief=1",
                           *options], capture_output=True, check=False)
    output = done.stdout.decode(errors="replace")
    failed = re.findall(r"^\[  FAILED  \] (\w+\.\w+) \(", output, re.M)
    if done.returncode != 0 and not failed:
        return [f"(ends with {done.returncode})"]
    return failed


def first_for_each_tests():
    first = {}
    for mutation in MUTATIONS:
        if not mutation.is_equal:
            first.setdefault(mutation.tests, mutation)
    return list(first.values())


def main(compiler, mutations):
    wrong = []
    with tempfile.TemporaryDirectory(prefix="geiger-mutants-") as directory:
        # The few run where the same tests are unit tests.
        workshop = Workshop(compiler, pathlib.Path(directory), mutations is not MUTATIONS)
        for mutation in mutations:
            failed = workshop.failures_of(mutation)
            if mutation.is_equal:
                print(f"{'CAUGHT  ' if failed else 'survived'} {mutation.name} (the same law)")
            else:
                print(f"{'caught  ' if failed else 'SURVIVED'} {mutation.name}")
            for name in failed:
                print(f"           {name}")
            sys.stdout.flush()
            wrong += [mutation.name] if bool(failed) == mutation.is_equal else []
    equal = sum(mutation.is_equal for mutation in mutations)
    print(f"{len(mutations) - equal} mistakes to catch, {equal} changes to let pass: "
          f"{len(wrong)} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(mutation.name for mutation in MUTATIONS))
        sys.exit(0)
    CHOSEN = MUTATIONS
    if sys.argv[1:2] == ["--of-each"]:
        CHOSEN = first_for_each_tests()
        del sys.argv[1]
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("CXX", "g++"), CHOSEN))
