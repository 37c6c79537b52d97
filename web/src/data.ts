// What a report page is made of: what `geiger report` embeds and `geiger serve` sends.
//
// Counts and sums travel, never limits: the page adds up whatever the reader selects and derives
// value and interval from the sums (docs/internals/estimators.md), so a brush over the timeline is as sound as the whole.
// src/analysis/page writes it; a field that changes here changes there.

/** Index into PageData.names; -1 where there is none. */
export type NameIndex = number;

/** Bits of Frames.flags. */
export const enum FrameFlag {
  /** Inlined into the frame below it. */
  Inlined = 1,
  /** Of an allocator, a standard library or a language runtime: hidden on request. */
  Plumbing = 2,
  /** Has no symbol: module and offset stand for it. */
  Unknown = 4,
  /** No frame but a remark: "[truncated]", "[no stack]", "[smaller ones]". */
  Remark = 8,
  /** Own code with a line: what a finding names before all else. */
  Own = 16,
  /** Of an interpreter: its loop, or a function that a script has called by way of it. */
  Dispatch = 32,
  /** A remark for frames that are missing: stacks with it passed through other functions too. */
  Cut = 64,
  /** Of one without a symbol: in the C or C++ runtime, whose own it is taken for. */
  Runtime = 128,
}

/** Functions as they stand in stacks, by column. */
export interface Frames {
  name: NameIndex[];
  module: NameIndex[];
  file: NameIndex[];
  /** 0: not known. */
  line: number[];
  flags: number[];
}

/** The call tree, root first, by column. Node 0 is the root; a parent's index is less than its child's. */
export interface Nodes {
  /** How far before the node its parent stands; 0 for the root. */
  up: number[];
  frame: number[];
}

/**
 * Objects alike in what they add to sums, each an object's share: `count` objects add `count` times as much.
 * Names of the sums as in src/estimation/sums.h.
 */
export interface Strata {
  /** 1: recorded with probability 1, adds no error. */
  certain: number[];
  /** z (or y, of kinds that sum a part of each object). */
  bytes: number[];
  /** w = z / pi. */
  weighted: number[];
  /** w (w - z) */
  variance: number[];
  /** 1 / pi */
  objects: number[];
  /** (1 - pi) / pi^2 */
  objectsVariance: number[];
  /** z (1 - pi) / pi^2 */
  covariance: number[];
  /**
   * E that these alone imply: of objects that could be seen, the interval between samples. A sum's
   * E_least ("smallest_interval" in sums.h) is the least of its strata that are not certain; 0 of certain ones.
   */
  interval: number[];
  /** Power of two: requested bytes are in [2^c, 2^(c+1)); -1: zero bytes. */
  sizeClass: number[];
  /** E and c of these alone, of strata that are means; absent: `interval` and `objects`. */
  largestInterval?: number[];
  largestObjectWeight?: number[];
  /** Requested bytes, at least 1, and the largest of strata that are means; absent: `bytes`. */
  smallestSize?: number[];
  largestSize?: number[];
  /**
   * 1: their bytes are not known, but lie between none and `bytes`: they add to the open sums, which only upper
   * limits take. Absent: none are.
   */
  open?: number[];
}

/** Samples by all that the page can tell apart, by column. */
export interface Cells {
  strata: Strata;
  /** Leaf of the stack. Never descending. */
  node: number[];
  stratum: number[];
  count: number[];
  /** Each of the following may be empty: then cells do not distinguish it. */
  process: NameIndex[];
  thread: NameIndex[];
  type: NameIndex[];
  label: NameIndex[];
  /** Bucket of the timeline it was allocated in; -1: before the first. */
  born: number[];
  /** Bucket it was freed in, or its process ended in before the end of all; -1: alive at the end. */
  died: number[];
  /** True where near sizes share strata of their mean, to bound the page: sums of the whole stay exact. */
  hasMeanSizes: boolean;
}

/** An estimate as geiger's other reports give it: "Numbers" in docs/guide/json.md. */
export interface Estimate {
  value: number;
  lo: number;
  hi: number;
  variance: number;
  samples: number;
  exact: number;
  /** What open samples add to the upper limit, about. */
  open?: number;
  /** Of those that the page makes: samples whose bytes are not known, in no other field but `hi`. */
  openSamples?: number;
  /** Of objects that the page makes: too few sizes were seen for an upper limit that says something. */
  hasUnknownSizes?: boolean;
}

/** A part of what a function holds: one of its own lines, or a function that it calls. */
export interface FoundPart {
  function: NameIndex;
  isOwn: boolean;
  /** As FoundSite.place. */
  place: string;
  /** Of the whole. */
  share: { value: number; lo: number; hi: number };
}

/** A function that a finding names. */
export interface FoundSite {
  /** Where the stack with most of its bytes ends. */
  node: number;
  function: NameIndex;
  /** "leaky.cc:25 +2", or "". */
  place: string;
  /** Where several processes have samples: the one with most of it. */
  process: string;
  share: { value: number; lo: number; hi: number };
  /** Of a function with nearly everything. */
  parts: FoundPart[];
}

/** As the other reports open with it. */
export interface FindingData {
  verdict: "found" | "spread" | "too_few" | "empty" | "nothing";
  sites: FoundSite[];
}

/** One kind of profile: "allocated", "live", "peak", "resident" ... */
export interface Profile {
  kind: string;
  title: string;
  /** What it tells, in a sentence. */
  about: string;
  /** Why this recording does not have it; then cells is -1. */
  unavailable?: string;
  /** Index into PageData.cells. */
  cells: number;
  /** What of the cells counts: those born in the window, those alive at its end, or all whatever the window. */
  counts: "born" | "alive" | "all";
  /** E: the largest interval that anything was drawn with. */
  largestInterval: number;
  /** E_o, where E has a ratio of bytes to sizes in it; absent: `largestInterval`. */
  objectInterval?: number;
  /** It has every object of at least so many bytes; absent: of no size is that certain. */
  completeFrom?: number;
  /** Bytes known exactly, of the whole: parts with enough samples are calibrated to it where `calibrates`. */
  exactTotal?: number;
  calibrates?: boolean;
  /**
   * The whole as the other reports print it: what the page must arrive at too, but for the upper limit of the peak,
   * which is not of its instant alone.
   */
  bytes: Estimate;
  objects: Estimate;
  /** Of the whole; absent where the kind is unavailable. */
  finding?: FindingData;
}

/** By column: samples of a thread of the first name were allocated under it or under the other one. */
export interface MayBe {
  thread: NameIndex[];
  other: NameIndex[];
}

export interface Mark {
  /** Nanoseconds since the start. */
  time: number;
  name: string;
}

/** The heap over time. Bucket i covers edges[i] <= t < edges[i + 1]. */
export interface Timeline {
  /** Nanoseconds since the start. */
  edges: number[];
  /** Live bytes at the end of each bucket, with their intervals; empty where times of samples are not known. */
  live: { value: number[]; lo: number[]; hi: number[] };
  /** Resident set over time as observed; empty where it was not observed. */
  rss: { time: number[]; bytes: number[] };
  /** Memory that the program mapped itself, past its allocator; empty: none. */
  mapped: { time: number[]; bytes: number[] };
  marks: Mark[];
  /** The instant that stands for the peak; absent if the recording has no peak. */
  peak?: number;
}

/** A survival curve: what share of objects lives longer than `time` nanoseconds, from 0 to the longest time watched. */
export interface Survival {
  name: string;
  samples: number;
  time: number[];
  value: number[];
  lo: number[];
  hi: number[];
}

/** A part of resident memory, or any other line of an account that adds up. */
export interface AccountLine {
  name: string;
  bytes: number;
  lo: number;
  hi: number;
  /** How deep below the lines above it. */
  depth: number;
}

/** A site that was judged, as `geiger leaks` judges it. */
export interface LeakSite {
  /** Where its stack ends. */
  node: number;
  verdict: "suspect" | "undecided";
  live: Estimate;
  samples: number;
  /** Of what it allocated. */
  neverFreed: { value: number; lo: number; hi: number };
  /** Bytes per second. */
  rate: { value: number; lo: number; hi: number };
  /** Nanoseconds since the start: what came before is warm-up. */
  since: number;
  /** Age of its oldest object since then; 0: not known. */
  oldest: number;
  /** Age from which its objects count as old; 0: not known. */
  oldFrom: number;
  p: number;
  q: number;
  /** Why it is undecided; "" of a suspect. */
  open: "" | "samples" | "slowing" | "alone" | "turnover" | "chunks" | "unmeasured";
  /** Samples since then that are still live. */
  kept: number;
  /** "at least 4.1 MiB", where that is all that is known of the rate. */
  growthLimit?: string;
  /** Of a recording that began late: how many of its blocks were in use. */
  inUse?: string;
}

export interface Leaks {
  finding: "suspects" | "undecided" | "clear";
  /** Why that heap was judged. */
  why: "end" | "before_teardown" | "given";
  /** Nanoseconds: when it was judged, and how long the program went on. */
  afterStart: number;
  beforeEnd: number;
  /** Nanoseconds since the start, from when on most was freed, too long to be tidying up. */
  slowFreesFrom?: number;
  /** "blocks of 2,064 bytes in use grew by 52 KiB ± 3 a second", and no suspect explains it. */
  growing?: string;
  /** Why samples are missing: "3 samples were dropped". */
  missing?: string;
  /** Too much for an all-clear: at most so many bytes leaked at a site unnoticed. */
  mayHaveLeaked?: number;
  live: Estimate;
  liveAtEnd: Estimate;
  suspects: number;
  undecided: number;
  /** Sites that could be suspects, those that hold nothing any more included. */
  tested: number;
  samplesNeeded: number;
  /** Share of false suspects that was accepted. */
  q: number;
  /** Suspects, the fastest first, then undecided ones; no more than the page has room for. */
  sites: LeakSite[];
}

export interface Fact {
  name: string;
  value: string;
  /** What explains the value, less prominent. */
  remark?: string;
  /** "warning" stands out. */
  tone?: "plain" | "warning";
}

export interface DiffRow {
  name: string;
  detail: string;
  /** Where it differs from the name. */
  shortName?: string;
  /** "shop.cc:27", where it is known. */
  place?: string;
  before: Estimate;
  after: Estimate;
  delta: { value: number; lo: number; hi: number };
  /** After control of the false-discovery rate. */
  q: number;
  /** "grew", "shrank", "new", "gone", "noise", "too few samples", as `geiger diff` says. */
  verdict: string;
}

/** Present in pages of `geiger report --diff`. */
export interface Diff {
  before: string[];
  after: string[];
  kind: string;
  total: DiffRow;
  tables: { by: string; rows: DiffRow[] }[];
  /** By node of PageData.nodes; empty rows are absent. */
  nodes: {
    node: number[];
    before: number[];
    after: number[];
    /** Rounded outwards to four digits. */
    beforeLo: number[];
    beforeHi: number[];
    afterLo: number[];
    afterHi: number[];
    delta: number[];
    lo: number[];
    hi: number[];
    q: number[];
    verdict: NameIndex[];
  };
}

/** Lines of a source file, embedded only on request. */
export interface Source {
  file: NameIndex;
  /** Number of the first line. */
  from: number;
  lines: string[];
}

/** Frames that the command line left out or in; the reader may change both. */
export interface Preset {
  /** Frames of libraries too. */
  all_frames: boolean;
  /** Regular expression, or "". */
  hide: string;
}

export interface PageData {
  schema: 1;
  title: string;
  /** geiger's version. */
  version: string;
  /** Of all intervals, in (0, 1). */
  level: number;
  /** The header card, in order: what ran, interval, samples, exact and estimated, drops, detection limit. */
  facts: Fact[];
  /** The first wrong use of memory that guard mode saw, a sentence. */
  fault?: string;
  warnings: string[];
  /** What the filters of the command line cannot tell of, in words; absent: nothing. */
  open?: string[];
  names: string[];
  /** For people, parallel to `names`; a number: so many characters of the name; "" or 0: all of it. */
  short_names: (string | number)[];
  frames: Frames;
  nodes: Nodes;
  cells: Cells[];
  /** In cells: of objects that may be of any type. */
  unknownType: NameIndex;
  /** Absent: no thread changed its name. */
  mayBe?: MayBe;
  /** Empty in pages that only compare. */
  profiles: Profile[];
  /** The kind that is shown first. */
  opening: string;
  timeline?: Timeline;
  lifetimes: Survival[];
  /** What resident memory consists of. */
  resident: AccountLine[];
  /** Absent where leaks cannot be judged. */
  leaks?: Leaks;
  sources: Source[];
  /** What was left out to bound the page, in words; empty: nothing. */
  left_out: string[];
  diff?: Diff;
  /** Set by `geiger serve`: nanoseconds until the page asks again. */
  refresh?: number;
  /** Absent: the page begins as by default. */
  preset?: Preset;
}
