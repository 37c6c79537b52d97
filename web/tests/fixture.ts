// Page data of a program that does not exist, the same for the same seed. Its numbers are as real
// ones are made: sums by strata of sampled sizes.
import type { Cells, PageData, Profile } from "../src/data";
import { type Estimate, estimateBytes, estimateObjects, loadArithmetic } from "../src/numbers/arithmetic";
import { emptySums, merge, strataSums, Sum } from "../src/numbers/sums";
import { strataOf } from "./strata";

await loadArithmetic();

export interface FixtureOptions {
  seed?: number;
  nodes?: number;
  /** In place of names of functions, modules, files, threads, types, labels, marks, facts ... */
  names?: string[];
  depth?: number;
  /** A node hangs on one of so many before it, in place of any: many stacks side by side. */
  spread?: number;
  hasDiff?: boolean;
  hasSources?: boolean;
}

/** Mulberry32: small, good enough, the same everywhere. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const INTERVAL = 524288;
const BUCKETS = 240;
const SECOND = 1e9;
const FUNCTIONS = 1500;
const WORDS = [
  "parse",
  "Index",
  "cache",
  "Query",
  "append",
  "Node",
  "flush",
  "Table",
  "resize",
  "Batch",
];

interface Names {
  all: string[];
  add: (usual: string) => number;
}

function naming(hostile: string[] | undefined): Names {
  const all: string[] = [];
  let next = 0;
  return {
    all,
    add: (usual) => {
      all.push(hostile ? hostile[next++ % hostile.length]! : usual);
      return all.length - 1;
    },
  };
}

function frames(names: Names, random: () => number): PageData["frames"] {
  const modules = [
    "/usr/bin/server",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/libstore.so.3",
  ].map((name) => names.add(name));
  const files = ["src/query.cc", "src/store.cc", "src/net/loop.cc"].map((name) => names.add(name));
  const found: PageData["frames"] = { name: [], module: [], file: [], line: [], flags: [] };
  const pick = <T>(list: T[]) => list[Math.floor(random() * list.length)]!;
  for (let i = 0; i < FUNCTIONS; ++i) {
    const name =
      i === 0
        ? "[root]"
        : `store::${pick(WORDS)}<int, std::less<int>>::${pick(WORDS)}${i}(char const*)`;
    found.name.push(names.add(i % 40 === 7 ? `std::_Hashtable_alloc${i}` : name));
    found.module.push(pick(modules));
    found.file.push(i % 3 === 0 ? -1 : pick(files));
    found.line.push(i % 3 === 0 ? 0 : 10 + (i % 300));
    found.flags.push(i % 40 === 7 ? 2 : 0);
  }
  return found;
}

/** A chain as deep as wanted, and below it nodes that hang on others at random. */
function nodes(
  count: number,
  depth: number,
  spread: number | undefined,
  random: () => number,
): PageData["nodes"] {
  const up = [0];
  const frame = [0];
  const chosen = (i: number) =>
    spread === undefined
      ? Math.floor(random() * i * (random() < 0.5 ? 0.02 : 1))
      : Math.max(0, i - 1 - Math.floor(random() * spread));
  for (let i = 1; i < count; ++i) {
    const parent = i < depth ? i - 1 : chosen(i);
    up.push(i - parent);
    frame.push(1 + Math.floor(random() * (FUNCTIONS - 1)));
  }
  return { up, frame };
}

function sizes(random: () => number): [number, number][] {
  const found: [number, number][] = [];
  for (let i = 0; i < 200; ++i) {
    const size = Math.floor(2 ** (4 + 17 * random()));
    found.push([size, size >= INTERVAL ? 1 : INTERVAL]);
  }
  return found;
}

function cells(count: number, names: Names, random: () => number): Cells {
  const processes = ["server, process 17, 20.0 s", "worker, process 18, 9.0 s"].map((name) =>
    names.add(name),
  );
  const threads = ["main", "worker 1", "worker 2"].map((name) => names.add(name));
  const types = ["Row", "std::string"].map((name) => names.add(name));
  const labels = ["GET /", "POST /index"].map((name) => names.add(name));
  const found: Cells = {
    strata: strataOf(sizes(random)),
    node: [],
    stratum: [],
    count: [],
    process: [],
    thread: [],
    type: [],
    label: [],
    born: [],
    died: [],
  };
  const pick = (list: number[]) => list[Math.floor(random() * list.length)]!;
  for (let node = 1; node < count; ++node) {
    if (random() < 0.3) continue;
    const born = Math.floor(BUCKETS * random());
    found.node.push(node);
    found.stratum.push(Math.floor(200 * random() * random()));
    found.count.push(1 + Math.floor(4 * random()));
    found.process.push(pick(processes));
    found.thread.push(pick(threads));
    found.type.push(random() < 0.5 ? -1 : pick(types));
    found.label.push(random() < 0.7 ? -1 : pick(labels));
    found.born.push(born);
    found.died.push(random() < 0.5 ? -1 : Math.min(BUCKETS - 1, born + Math.floor(40 * random())));
  }
  return found;
}

/** What a document says of all cells that count. */
export function whole(
  found: Cells,
  counts: (cell: number) => boolean,
): { bytes: Estimate; objects: Estimate } {
  const strata = strataSums(found.strata);
  const sums = emptySums();
  found.node.forEach((_, i) => {
    if (counts(i)) merge(sums, 0, strata, found.stratum[i]!, found.count[i]);
  });
  sums[Sum.LargestInterval] = Math.max(sums[Sum.LargestInterval]!, INTERVAL);
  sums[Sum.ObjectInterval] = INTERVAL;
  return {
    bytes: estimateBytes(sums, 0.95, "total"),
    objects: estimateObjects(sums, 0.95, "total"),
  };
}

function profiles(found: Cells): Profile[] {
  const allocated = whole(found, () => true);
  const live = whole(found, (i) => found.died[i] === -1);
  const common = { cells: 0, largestInterval: INTERVAL, calibrates: false };
  const nothing: Estimate = { value: 0, lo: 0, hi: 0, variance: 0, samples: 0, exact: 0 };
  return [
    {
      ...common,
      kind: "live",
      title: "Live at the end",
      about: "What was not freed by the end.",
      counts: "alive",
      ...live,
    },
    {
      ...common,
      kind: "allocated",
      title: "Allocated",
      about: "Everything that was allocated.",
      counts: "born",
      exactTotal: Math.round(allocated.bytes.value * 1.004),
      calibrates: true,
      ...allocated,
    },
    {
      kind: "resident",
      title: "Resident",
      about: "Live bytes on resident pages.",
      unavailable: "nobody watched",
      cells: -1,
      counts: "all",
      largestInterval: 0,
      calibrates: false,
      bytes: nothing,
      objects: nothing,
    },
  ];
}

function timeline(found: Cells, names: Names): NonNullable<PageData["timeline"]> {
  const edges = Array.from({ length: BUCKETS + 1 }, (_, i) => (i * 20 * SECOND) / BUCKETS);
  const change = new Float64Array(BUCKETS + 1);
  found.node.forEach((_, i) => {
    const bytes = found.count[i]! * found.strata.weighted[found.stratum[i]!]!;
    change[found.born[i]!]! += bytes;
    if (found.died[i]! >= 0) change[found.died[i]!]! -= bytes;
  });
  let sum = 0;
  const value = edges.slice(1).map((_, i) => (sum += change[i]!));
  return {
    edges,
    live: { value, lo: value.map((bytes) => 0.93 * bytes), hi: value.map((bytes) => 1.08 * bytes) },
    rss: {
      time: edges.filter((_, i) => i % 8 === 0),
      bytes: value.filter((_, i) => i % 8 === 0).map((bytes) => 1.3 * bytes + 5e6),
    },
    mapped: { time: [0, 10 * SECOND, 20 * SECOND], bytes: [0, 2e7, 2e7] },
    marks: [{ time: 8 * SECOND, name: names.all[names.add("loaded")]! }],
    peak: 15 * SECOND,
  };
}

function diff(data: PageData, names: Names): NonNullable<PageData["diff"]> {
  const estimate = (value: number): Estimate => ({
    value,
    lo: 0.9 * value,
    hi: 1.12 * value,
    variance: value * INTERVAL,
    samples: 90,
    exact: 0,
  });
  const row = (i: number) => {
    const value = (i % 2 === 0 ? 1 : -1) * 1e6 * (i + 1);
    return {
      name: names.all[names.add(`changed${i}`)]!,
      detail: names.all[names.add("server")]!,
      ...(i === 29 && { place: "shop.cc:27" }),
      before: estimate(3e7),
      after: estimate(3e7 + value),
      delta: { value, lo: value - 2e6, hi: value + 2.5e6 },
      q: i < 4 ? 0.9 : 0.001,
      verdict: i < 4 ? "noise" : value > 0 ? "grew" : "shrank",
    };
  };
  const count = Math.min(40, data.nodes.up.length);
  const node = Array.from({ length: count }, (_, i) => i);
  const delta = node.map((i) => (i % 3 === 0 ? -1 : 1) * 1e6 * (count - i));
  const verdict = names.add("grew");
  return {
    before: [names.all[names.add("a.run")]!],
    after: [names.all[names.add("b.run")]!],
    kind: "live",
    total: row(9),
    tables: [{ by: "function", rows: Array.from({ length: 30 }, (_, i) => row(i)) }],
    nodes: {
      node,
      before: node.map(() => 3e7),
      after: delta.map((change) => 3e7 + change),
      beforeLo: node.map(() => 2.9e7),
      beforeHi: node.map(() => 3.1e7),
      afterLo: delta.map((change) => 2.9e7 + change),
      afterHi: delta.map((change) => 3.1e7 + change),
      delta,
      lo: delta.map((change) => change - 1e6),
      hi: delta.map((change) => change + 1e6),
      q: node.map((i) => (i % 2 === 0 ? 0.001 : 0.6)),
      verdict: node.map(() => verdict),
    },
  };
}

function leaks(count: number): NonNullable<PageData["leaks"]> {
  const live: Estimate = { value: 4e7, lo: 3e7, hi: 5e7, variance: 1e13, samples: 80, exact: 0 };
  const site = {
    node: count - 1,
    verdict: "suspect" as const,
    live,
    samples: 80,
    neverFreed: { value: 0.3, lo: 0.2, hi: 0.4 },
    rate: { value: 4e6, lo: 3e6, hi: 5e6 },
    since: 2 * SECOND,
    oldest: 7 * SECOND,
    oldFrom: 4e7,
    p: 1e-5,
    q: 1e-4,
    open: "" as const,
    kept: 60,
    held: "38.1 MiB [28.6, 47.7] in 9.8 k ± 1.2 k objects",
    holders: ["93 % ± 3 held by g_cache"],
  };
  const undecided = { ...site, verdict: "undecided" as const, p: 0.01, q: 0.2, open: "alone" as const };
  return {
    finding: "suspects",
    why: "before_teardown",
    afterStart: 19 * SECOND,
    beforeEnd: SECOND,
    live,
    liveAtEnd: { ...live, value: 0, lo: 0, hi: 1e6, samples: 0 },
    counts: "1 of 9 sites suspect, 2 undecided",
    suspects: 1,
    undecided: 2,
    tested: 9,
    samplesNeeded: 6,
    q: 0.05,
    owners: [],
    stopped: [],
    sites: [site, undecided, { ...undecided, open: "samples", kept: 4 }],
  };
}

function holders(word: (usual: string) => string): NonNullable<PageData["holders"]> {
  const measure = (value: number) => {
    const bytes: Estimate = { value, lo: 0.8 * value, hi: 1.2 * value, variance: 1e10, samples: 40, exact: 0 };
    return { bytes, objects: { ...bytes, value: value / 100 }, samples: 40, certain_samples: 0 };
  };
  const share = { value: 0.5, lo: 0.4, hi: 0.6 };
  const part = { share, live: measure(1e7) };
  const [cache, index] = [word("g_cache"), word("g_index")];
  const held = { ...part, hold: "reached" as const, alone: { value: 0.2, lo: 0.1, hi: 0.3 }, others: "other roots hold 80 % ± 10 of it too" };
  const site = { name: word("store::append"), detail: "", where: word("store.cc:8"), live: measure(2e7), text: word("append (store.cc:8)") };
  return {
    sentence: word("9.5 MiB of lose is unreachable: nothing points to it."),
    scanned: "server, pid 17: scanned 3 times, the last time 9 s after the start: 38.1 MiB of live memory.",
    after_ns: 9 * SECOND,
    scans: 3,
    processes: 1,
    is_inferred: false,
    registers_read: false,
    threads_without_registers: 0,
    listed: [],
    unread_bytes: 0,
    not_understood_bytes: 0,
    judged: measure(4e7),
    unreachable: measure(0),
    not_judged: measure(0),
    roots: [
      { name: cache, held: measure(2e7), alone: measure(4e6), text: cache },
      { name: index, held: measure(1e7), alone: measure(2e6), text: index },
    ],
    sites: [
      {
        ...site,
        parts: [
          { ...held, root: cache, path: word("block (64 B) ×9"), text: word("held by g_cache through block (64 B) ×9") },
          { ...held, root: index, text: word("held by g_index") },
          { ...part, hold: "moving", text: "undecided: the last scan did not reach it, but others may" },
        ],
      },
      {
        ...site,
        text: word("lose (store.cc:9)"),
        name: word("lose"),
        parts: [{ ...part, hold: "unreferenced", in_samples: "2 of 3 samples", text: "unreachable: nothing points to it" }],
      },
    ],
    faults: [word("server, pid 18: the process has ended")],
  };
}

function advice(word: (usual: string) => string): NonNullable<PageData["advice"]> {
  const bytes: Estimate = { value: 3e8, lo: 2.8e8, hi: 3.2e8, variance: 1e14, samples: 40, exact: 0 };
  const share = { value: 0.19, lo: 0.17, hi: 0.21 };
  return {
    sentence: "1 place to change. It surely saves at least 5 % of memory, allocations or processor time.",
    notes: ["Looked for and not found: short-lived blocks."],
    level: 0.95,
    interval_level: 0.999,
    looked_at: 12,
    least_share: 0.05,
    least_bytes: 1 << 20,
    ran_ns: 10 * SECOND,
    items: [
      {
        advice: "reserve",
        waste: "growth by copying",
        name: word("parse_rows"),
        module: "server",
        callers: word("read_file < main"),
        owner: word("import_all"),
        site: word("parse_rows (parser.cc:88)"),
        todo: "The vector grows by copying: call reserve() before it is filled.",
        saving: "286 MiB ± 19, 19 % ± 2 of what was allocated",
        of: "allocated",
        saved: { bytes, objects: { ...bytes, value: 1e4 }, samples: 40, certain_samples: 0 },
        share,
      },
    ],
    not_found: ["short-lived blocks"],
    not_looked_for: [],
    other_allocators: [
      {
        name: word("mimalloc 2.0.9"),
        path: word("/lib/libmimalloc.so"),
        todo: word("Link the program with it, or preload /lib/libmimalloc.so."),
        saving: "Saves 8 % ± 2 of 5.1 s of processor time, and takes 17 % ± 1 more than 46 MiB of peak RSS.",
        cpu_of_own: { ...bytes, value: 0.92, lo: 0.9, hi: 0.94 },
        peak_rss_of_own: { ...bytes, value: 1.17, lo: 1.16, hi: 1.18 },
      },
    ],
  };
}

const columns = (names: string[]) =>
  names.map((name) => ({ name, heading: name, meaning: `the ${name} of it` }));

export function fixture(options: FixtureOptions = {}): PageData {
  const random = generator(options.seed ?? 1);
  const names = naming(options.names);
  const count = options.nodes ?? 2000;
  const made = frames(names, random);
  const tree = nodes(count, Math.min(count, options.depth ?? 30), options.spread, random);
  const found = cells(count, names, random);
  const word = (usual: string) => names.all[names.add(usual)]!;
  const data: PageData = {
    schema: 1,
    title: word("server"),
    version: "0.0.0",
    level: 0.95,
    facts: [
      { name: "program", value: word("server --port 1"), remark: word("pid 17"), tone: "plain" },
      { name: "dropped", value: "nothing", tone: "plain" },
      { name: "interval", value: "512 KiB", tone: "warning" },
    ],
    warnings: options.names ? [word("")] : [],
    names: names.all,
    short_names: [],
    frames: made,
    nodes: tree,
    cells: [found],
    unknownType: -1,
    profiles: profiles(found),
    columns: columns(["self", "total", "share", "samples"]),
    columnsWithoutTotals: columns(["self", "share", "samples"]),
    opening: "live",
    timeline: timeline(found, names),
    lifetimes: [0, 1].map((i) => ({
      name: word(i === 0 ? "all" : "store::append"),
      samples: 100 - 60 * i,
      time: [0, 1e3, 1e6, 1e9, 1e10],
      value: [1, 0.9, 0.6, 0.3, 0.1],
      lo: [0.95, 0.85, 0.5, 0.2, 0.05],
      hi: [1, 0.95, 0.7, 0.4, 0.2],
    })),
    resident: [
      { name: word("resident set"), bytes: 6e7, lo: 6e7, hi: 6e7, depth: 0 },
      { name: word("live heap"), bytes: 4e7, lo: 3.6e7, hi: 4.4e7, depth: 1 },
    ],
    leaks: { ...leaks(count), unreachable: [word("lose is unreachable")] },
    holders: holders(word),
    advice: advice(word),
    sources: [],
    left_out: options.names ? [word("")] : [],
  };
  if (options.hasSources) {
    data.sources = [
      {
        file: made.file.find((file) => file >= 0)!,
        from: 10,
        lines: Array.from({ length: 40 }, (_, i) => word(`  line ${i};`)),
      },
    ];
  }
  if (options.hasDiff) data.diff = diff(data, names);
  return data;
}

const LARGE = { nodes: 200_000, depth: 1, spread: 3000 };

/** The pages that interactions are measured and counted on. */
export const PAGES: [string, () => PageData][] = [
  ["many stacks side by side", () => fixture(LARGE)],
  ["one stack 1,028 deep", () => fixture({ nodes: 200_000, depth: 1028 })],
  ["a comparison", () => fixture({ ...LARGE, hasDiff: true })],
];
