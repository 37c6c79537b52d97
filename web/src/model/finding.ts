// What a selection says in one sentence: which own function held most, how surely, of how much.
// Of a whole profile the document has the answer of src/analysis/report/overview/finding.cc, which the other
// reports print; what a reader selected is searched here by the same rules (finding.h).
import { type FindingData, FrameFlag, type PageData } from "../data";
import {
  boundBytes,
  duration,
  estimateBytes,
  exactCount,
  type Figure,
  figure,
  type Share,
  shareFigure,
  type Estimate,
} from "../numbers/arithmetic";
import { bytesForOrder, emptySums, isEmpty, merge, rowOf, samplesOf, Sum, type Sums } from "../numbers/sums";
import { rowBytes, sampledBytes, shareOf, totalBytes } from "./measure";
import { functionGroups, outermostByFunction, stackOf } from "./groups";
import { fullName, functionName, type Page, roomFor, shortPlaceOf, shownNode } from "./page";
import { addUp, type Selected } from "./selection";
import { Pace, type Steps, STRETCH } from "./slices";

/** A function is named where its share is surely at least this. */
const LEAST_SHARE = 0.25;
/** No function is named from fewer samples. */
export const LEAST_SAMPLES = 6;
/** A function with at least this share has its parts named too. */
const NEARLY_ALL = 0.9;
/** A part is named where its share of the whole is surely at least this. */
const LEAST_SHARE_OF_PART = 0.1;
/** The most functions named if it is open which of them is the largest. */
const MOST_NAMED = 3;

export interface Part {
  text: string;
  tone?: "strong" | "place" | "interval";
}

/** A part of what a function holds: one of its own lines, or a function that it calls. */
interface NamedPart {
  name: string;
  isOwn: boolean;
  place: string;
  /** Of the whole. */
  share: Share;
}

/** A function that the sentence names. */
interface Leader {
  name: string;
  /** "leaky.cc:11", "cc1plus": where not known, "". */
  place: string;
  process: string;
  share: Share;
  /** Functions from below the root to where it has most. */
  path: number[];
  /** "10 sites": of an owner, which only the document names. */
  sites: string;
  /** Of a function with nearly everything. */
  parts: NamedPart[];
}

/** What the sentence says. */
interface Found {
  verdict: FindingData["verdict"];
  leaders: Leader[];
  /** How soon what the first one allocated was freed; "" where that is not known. */
  lives?: string;
}

export interface Finding {
  selected: Selected;
  parts: Part[];
  /** What is chosen on opening: the path of the first function named. */
  path: number[];
  /** Names of the functions named, for the title of the page. */
  names: string[];
}

interface Candidate {
  /** A function; of a line: its frame. */
  of: number;
  sums: Sums;
  bytes: Estimate;
  share: Share;
}

/** The kind that a page opens on: what the finding of the whole recording is about. */
export function openingProfile({ profiles, opening }: PageData): number {
  const wanted = profiles.findIndex(({ kind, cells }) => kind === opening && cells >= 0);
  return wanted >= 0 ? wanted : Math.max(0, profiles.findIndex(({ cells }) => cells >= 0));
}

/** Whether there are samples enough, or bytes enough that are known exactly. */
function isProved(sums: Sums, enough: number): boolean {
  return (
    sums[Sum.Samples] === 0 ||
    samplesOf(sums, 0) >= LEAST_SAMPLES ||
    sums[Sum.CertainBytes]! >= enough
  );
}

function hasFlag(page: Page, of: number, flag: FrameFlag): boolean {
  return (page.data.frames.flags[page.frameOf[of]!]! & flag) !== 0;
}

function isShown(page: Page, of: number): boolean {
  return !page.isLibrary[of] && !hasFlag(page, of, FrameFlag.Remark);
}

/** Rows with a proved share of at least `leastShare` and enough samples. */
function* proved(
  selected: Selected,
  { total, count, key, isWanted }: { total: Sums; count: number; key: (row: number) => number; isWanted: (of: number) => boolean },
  leastShare: number,
  level: number,
): Steps<Candidate[]> {
  const least = leastShare * bytesForOrder(selected.whole, 0);
  const enough = leastShare * rowBytes(selected, selected.whole, level).hi;
  const found: Candidate[] = [];
  const pace = new Pace();
  for (let row = 0; row < count; ++row) {
    if (pace.isDue()) yield;
    const of = key(row);
    if (bytesForOrder(total, row) < least || !isWanted(of)) continue;
    const sums = rowOf(total, row);
    if (!isProved(sums, enough)) continue;
    const bytes = rowBytes(selected, sums, level);
    const share = shareOf(selected, sums, bytes, level);
    if (share.lo >= leastShare) found.push({ of, sums, bytes, share });
  }
  return found;
}

/** Functions with a proved share and enough samples, by their own bytes and those below them. */
function* candidatesOf(page: Page, selected: Selected, level: number): Steps<Candidate[]> {
  const { total, count, key } = yield* functionGroups(page, selected);
  const isWanted = (of: number) => isShown(page, of);
  const found = yield* proved(selected, { total: total!, count, key, isWanted }, LEAST_SHARE, level);
  return ownFirst(page, found);
}

/** Those of the program's own code with lines, if there are any. */
function ownFirst(page: Page, found: Candidate[]): Candidate[] {
  const own = found.filter(({ of }) => hasFlag(page, of, FrameFlag.Own));
  return own.length > 0 ? own : found;
}

/** Candidates most of whose bytes pass through no other one further in, the largest first. */
function* innermost(page: Page, selected: Selected, found: Candidate[]): Steps<Candidate[]> {
  const isCandidate = new Uint8Array(page.functions);
  for (const { of } of found) isCandidate[of] = 1;
  /** By node: the innermost candidate of it and above it; -1: none. */
  const inner = new Int32Array(page.nodes).fill(-1);
  const kept = new Float64Array(page.functions);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    const of = page.functionOf[node]!;
    inner[node] = isCandidate[of] ? of : inner[page.parent[node]!]!;
    if (inner[node]! >= 0) kept[inner[node]!]! += bytesForOrder(selected.self, node);
  }
  const byName = (a: Candidate, b: Candidate) => (fullName(page, a.of) < fullName(page, b.of) ? -1 : 1);
  return found
    .filter(({ of, sums }) => kept[of]! >= bytesForOrder(sums, 0) / 2)
    .sort((a, b) => bytesForOrder(b.sums, 0) - bytesForOrder(a.sums, 0) || byName(a, b));
}

/** Whether a stack passes through both functions. */
function* shareAPath(page: Page, selected: Selected, a: number, b: number): Steps<boolean> {
  const through = new Uint8Array(page.nodes);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    const of = page.functionOf[node]!;
    through[node] = through[page.parent[node]!]! | (of === a ? 1 : 0) | (of === b ? 2 : 0);
    if (through[node] === 3 && !isEmpty(selected.total, node)) return true;
  }
  return false;
}

/** The first, and those that may be larger: none that it calls or that calls it. */
function* rivals(page: Page, selected: Selected, sorted: Candidate[]): Steps<Candidate[]> {
  const [first, ...others] = sorted;
  if (!first) return [];
  const kept = [first];
  for (const one of others) {
    if (kept.length === MOST_NAMED) break;
    if (one.share.hi <= first.share.lo) continue;
    if (!(yield* shareAPath(page, selected, first.of, one.of))) kept.push(one);
  }
  return kept;
}

/** Where a function has most: the frame that is its line, and the path to its largest box. */
function* placeOf(selected: Selected, of: number): Steps<{ frame: number; path: number[] }> {
  const { page } = selected;
  const byFrame = new Map<number, number>();
  let heaviest = 0;
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (page.functionOf[node] !== of) continue;
    const weight = bytesForOrder(selected.total, node);
    const frame = page.frame[node]!;
    byFrame.set(frame, (byFrame.get(frame) ?? 0) + weight);
    if (heaviest === 0 || weight > bytesForOrder(selected.total, heaviest)) heaviest = node;
  }
  let frame = -1;
  for (const [one, weight] of byFrame) if (frame < 0 || weight > byFrame.get(frame)!) frame = one;
  return { frame, path: stackOf(page, heaviest).reverse() };
}

function* placed(selected: Selected, { of, share }: Candidate): Steps<Leader> {
  const { page } = selected;
  const { frame, path } = yield* placeOf(selected, of);
  return { name: functionName(page, of), place: shortPlaceOf(page, frame), process: "", share, path, sites: "", parts: [] };
}

/** What passes through a function, apart: sums by function below it, and by its own line. */
function* inside(page: Page, selected: Selected, leader: number) {
  const isOutermost = yield* outermostByFunction(page);
  const hasLines = hasFlag(page, leader, FrameFlag.Own);
  /** By node: the innermost frame of own code with the leader above it, or none. */
  const inner = new Int32Array(page.nodes).fill(-1);
  const total = emptySums(page.functions);
  const lines = new Map<number, Sums>();
  const whose = (node: number) => page.functionOf[node]!;
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    const of = whose(node);
    const above = inner[page.parent[node]!]!;
    const isNamed = hasLines ? hasFlag(page, of, FrameFlag.Own) : isShown(page, of);
    inner[node] = of === leader || (above >= 0 && isNamed) ? node : above;
    if (above >= 0 && of !== leader && isOutermost[node]) merge(total, of, selected.total, node);
    if (inner[node]! < 0 || whose(inner[node]!) !== leader || isEmpty(selected.self, node)) continue;
    const frame = page.frame[inner[node]!]!;
    if (!lines.has(frame)) lines.set(frame, emptySums());
    merge(lines.get(frame)!, 0, selected.self, node);
  }
  return { total, lines };
}

/** The parts of a function with nearly everything; none where one of them has that too. */
function* partsOf(selected: Selected, leader: number, level: number): Steps<NamedPart[]> {
  const { page } = selected;
  const { total, lines } = yield* inside(page, selected, leader);
  const rows = { total, count: page.functions, key: (of: number) => of, isWanted: (of: number) => isShown(page, of) };
  const below = ownFirst(page, yield* proved(selected, rows, LEAST_SHARE_OF_PART, level));
  const frames = [...lines.keys()];
  const own = emptySums(frames.length);
  frames.forEach((frame, row) => merge(own, row, lines.get(frame)!, 0));
  const ownRows = { total: own, count: frames.length, key: (row: number) => frames[row]!, isWanted: () => true };
  const ownLines = yield* proved(selected, ownRows, LEAST_SHARE_OF_PART, level);
  const all = [
    ...(yield* innermost(page, selected, below)).map((one) => ({ ...one, isOwn: false })),
    ...ownLines.map((one) => ({ ...one, isOwn: true })),
  ].sort((a, b) => bytesForOrder(b.sums, 0) - bytesForOrder(a.sums, 0));
  if (all.some(({ share }) => share.value >= NEARLY_ALL)) return [];
  const named: typeof all = [];
  for (const one of all) {
    let isCounted = false;
    for (const larger of named) {
      if (one.isOwn || larger.isOwn) continue;
      isCounted ||= yield* shareAPath(page, selected, larger.of, one.of);
    }
    if (!isCounted && named.length < MOST_NAMED) named.push(one);
  }
  // One line alone is named already.
  if (named.length === 1 && named[0]!.isOwn) return [];
  const parts: NamedPart[] = [];
  for (const { of, isOwn, share } of named) {
    const frame = isOwn ? of : (yield* placeOf(selected, of)).frame;
    parts.push({ name: functionName(page, isOwn ? leader : of), isOwn, place: shortPlaceOf(page, frame), share });
  }
  return parts;
}

/** The function with most bytes that no other one that may be named accounts for. */
function* largestOf(page: Page, selected: Selected, level: number): Steps<Candidate | undefined> {
  const rows = emptySums(page.functions);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (isEmpty(selected.self, node)) continue;
    let at = shownNode(page, node);
    while (at > 0 && page.isLibrary[page.functionOf[at]!]) at = page.parent[at]!;
    if (at > 0) merge(rows, page.functionOf[at]!, selected.self, node);
  }
  let most = -1;
  for (let of = 0; of < page.functions; ++of) {
    if (of % STRETCH === STRETCH - 1) yield;
    if (isEmpty(rows, of) || !isShown(page, of)) continue;
    if (most < 0 || bytesForOrder(rows, of) > bytesForOrder(rows, most)) most = of;
  }
  if (most < 0) return undefined;
  const sums = rowOf(rows, most);
  const bytes = rowBytes(selected, sums, level);
  return { of: most, sums, bytes, share: shareOf(selected, sums, bytes, level) };
}

/** The node to blame: a function without a name gives way to a caller of its module that has one. */
function blamedNode(page: Page, node: number): number {
  const shown = shownNode(page, node);
  const isUnnamed = (at: number) => hasFlag(page, page.functionOf[at]!, FrameFlag.Unknown);
  if (!isUnnamed(shown)) return shown;
  const { module } = page.data.frames;
  const wanted = module[page.frame[shown]!]!;
  for (let at = shown; at > 0 && module[page.frame[at]!] === wanted; at = page.parent[at]!) {
    if (!isUnnamed(at) && !page.isLibrary[page.functionOf[at]!]) return at;
  }
  return shown;
}

/** The selection with every stack ending in the node to blame. */
function* blamed(selected: Selected): Steps<Selected> {
  const { page } = selected;
  if (!page.data.frames.flags.some((flags) => flags & FrameFlag.Unknown)) return selected;
  const room = roomFor(page.nodes);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (isEmpty(selected.self, node)) continue;
    merge(room.self, blamedNode(page, node), selected.self, node);
  }
  return { ...selected, self: room.self, total: yield* addUp(page, room) };
}

/** What the samples of a selection prove. */
function* searched(all: Selected, level: number): Steps<Found> {
  const { page, whole } = all;
  if (samplesOf(whole, 0) === 0) return { verdict: "nothing", leaders: [] };
  if (!(estimateBytes(whole, level, "total").hi > 0)) return { verdict: "empty", leaders: [] };
  const selected = yield* blamed(all);
  const candidates = yield* candidatesOf(page, selected, level);
  const named = yield* rivals(page, selected, yield* innermost(page, selected, candidates));
  const isTooFew = samplesOf(whole, 0) < LEAST_SAMPLES;
  if (named.length === 0 && isTooFew) return { verdict: "too_few", leaders: [] };
  const largest = named.length > 0 ? undefined : yield* largestOf(page, selected, level);
  const leaders: Leader[] = [];
  for (const one of largest ? [largest] : named) leaders.push(yield* placed(selected, one));
  if (named.length === 1 && named[0]!.share.value >= NEARLY_ALL) {
    leaders[0]!.parts = yield* partsOf(selected, named[0]!.of, level);
  }
  return { verdict: named.length > 0 ? "found" : "spread", leaders };
}

/** The document's data for a whole profile. */
function* documented(selected: Selected): Steps<Found | undefined> {
  const { page, profile } = selected;
  if (!profile.finding) return undefined;
  const { verdict, sites, lives } = profile.finding;
  const leaders: Leader[] = [];
  for (const { node, function: name, place, process, share, sites: owned, parts } of sites) {
    let at = page.target[node]!;
    // A page that was made smaller may have it among those left out.
    while (at > 0 && page.data.frames.name[page.frame[at]!] !== name) at = page.parent[at]!;
    const path = at === 0 ? [] : (yield* placeOf(selected, page.functionOf[at]!)).path;
    const named = parts.map(({ function: of, ...part }) => ({ ...part, name: page.shortNames[of]! }));
    leaders.push({ name: page.shortNames[name]!, place, process, share, path, sites: owned ?? "", parts: named });
  }
  return { verdict, leaders, lives };
}

/** The instant or the window in words: "at the peak", "from 2.00 s to 4.00 s". */
export function whenText({ page, profile, window }: Selected): string {
  const time = (edge: number) => duration(page.data.timeline!.edges[edge]!);
  const { kind, counts } = profile;
  if (window && counts === "born") return `from ${time(window.from)} to ${time(window.to + 1)}`;
  if (window && counts === "alive" && window.to < page.lastBucket) return `at ${time(window.to + 1)}`;
  if (kind === "peak") return "at the peak";
  if (kind === "mapped-peak") return "";
  if (kind === "live") return profile.title === "Live now" ? "now" : "at the end";
  return verbOf(profile.kind) === "held" ? profile.title : "";
}

/** What is counted of a kind: of mappings the ranges, all of them. */
export function countedOf(kind: string): "sample" | "range" {
  return kind.startsWith("mapped") || kind === "reserved" ? "range" : "sample";
}

/** "held", "allocated": what a function did to the bytes of a kind. */
export function verbOf(kind: string): string {
  if (kind === "allocated" || kind === "overhead") return "allocated";
  if (kind.startsWith("mapped") && kind !== "mapped-peak") return "mapped";
  return kind === "reserved" ? kind : "held";
}

const strong = (text: string): Part => ({ text, tone: "strong" });
const plain = (text: string): Part => ({ text });

function figureParts(shown: Figure): Part[] {
  return shown.error === ""
    ? [strong(shown.value)]
    : [strong(shown.value), plain(" "), { text: shown.error, tone: "interval" }];
}

function amountParts(shown: Figure): Part[] {
  const [value, ...rest] = figureParts(shown);
  return [plain(value!.text), ...rest];
}

function capitalized(parts: Part[]): Part[] {
  const [first, ...rest] = parts;
  return [{ ...first!, text: first!.text.slice(0, 1).toUpperCase() + first!.text.slice(1) }, ...rest];
}

function nameParts({ name, place, process }: Pick<Leader, "name" | "place" | "process">, hasProcess: boolean): Part[] {
  const parts = [strong(name)];
  if (place !== "") parts.push(plain(" "), { text: place, tone: "place" });
  if (hasProcess && process !== "") parts.push(plain(` in ${process}`));
  return parts;
}

/** "a, b and c". */
function listed(all: Part[][]): Part[] {
  const joint = (i: number) => (i === 0 ? [] : [plain(i === all.length - 1 ? " and " : ", ")]);
  return all.flatMap((parts, i) => [...joint(i), ...parts]);
}

function partName(name: string, isOwn: boolean, place: string): Part[] {
  if (isOwn) return place === "" ? [plain(" in its own code")] : [plain(" at "), { text: place, tone: "place" }];
  return [plain(" in "), ...nameParts({ name, place, process: "" }, false)];
}

/** ": 54 % [36, 71] at service.py:4, 26 % [12, 47] in remember service.py:8". */
function partsText(parts: NamedPart[]): Part[] {
  return parts.flatMap(({ name, isOwn, place, share }, i) => [
    plain(i === 0 ? ": " : ", "),
    ...figureParts(shareFigure(share)),
    ...partName(name, isOwn, place),
  ]);
}

/** What has no function to name. */
function withoutFunction(
  selected: Selected,
  verdict: Found["verdict"],
  when: string,
  level: number,
): Part[] {
  const { whole, profile } = selected;
  const samples = samplesOf(whole, 0);
  const opening = when === "" ? [] : [plain(`${when}, `)];
  if (verdict === "empty") {
    return [...opening, plain(`only empty blocks (0 bytes) were ${verbOf(profile.kind)}.`)];
  }
  if (samples > 0) {
    return [
      plain(`too few samples to name a function: ${exactCount(samples)}. Record with `),
      strong("--interval 16KiB"),
      plain("."),
    ];
  }
  if (profile.kind === "allocated" && selected.isWhole && (selected.exact ?? 0) === 0) {
    return [plain("nothing was allocated through malloc.")];
  }
  const { hi: limit, open = 0 } = sampledBytes(selected, level);
  if (!(limit > 0)) return [plain(`nothing was ${verbOf(profile.kind)}.`)];
  return [
    ...opening,
    strong(`${when === "" ? "L" : "l"}ess than ${boundBytes(limit)}`),
    plain(` was ${verbOf(profile.kind)}: ${open > 0 ? "no sample is certain to count" : "no samples"}.`),
  ];
}

function sentence(selected: Selected, { verdict, leaders, lives }: Found, level: number): Part[] {
  const when = whenText(selected);
  if (verdict !== "found" && verdict !== "spread") {
    return withoutFunction(selected, verdict, when, level);
  }
  const verb = when === "now" ? "holds" : verbOf(selected.profile.kind);
  const opening = when === "" ? [] : [plain(`${when}, `)];
  const itself = selected.profile.kind === "mapped-peak" ? [plain(" that the program mapped itself")] : [];
  const kept = selected.stacks ? [plain(" kept")] : [];
  const total = [plain(" of "), ...amountParts(figure(totalBytes(selected, level), "bytes")), ...itself, ...kept];
  const shares = listed(leaders.map(({ share }) => figureParts(shareFigure(share))));
  // Of one process it is said once.
  const isOfOne = leaders.every(({ process }) => process === leaders[0]!.process);
  const hasProcess = (i: number) => !isOfOne || i === leaders.length - 1;
  const names = listed(leaders.map((leader, i) => nameParts(leader, hasProcess(i))));
  const owned = leaders[0]?.sites ? [plain(`, in ${leaders[0].sites}`)] : [];
  if (verdict === "found") {
    const open = leaders.length > 1 ? "; which is the largest is not certain." : ".";
    const parts = partsText(leaders[0]!.parts);
    const freed = lives ? [plain(`; ${lives}`)] : [];
    return [...opening, ...names, plain(` ${verb} `), ...shares, ...total, ...owned, ...parts, ...freed, plain(open)];
  }
  const bound = [...opening, plain("no single function dominates")];
  if (leaders.length === 0) return [...bound, plain(".")];
  return [...bound, plain("; the largest, "), ...names, plain(`, ${verb} `), ...shares, ...total, ...owned, plain(".")];
}

export function* findingOf(selected: Selected, level: number): Steps<Finding> {
  const isKnown = selected.isWhole && !selected.page.isHiding;
  const found = (isKnown && (yield* documented(selected))) || (yield* searched(selected, level));
  const parts = sentence(selected, found, level);
  return {
    selected,
    // A function keeps the case of its name.
    parts: parts[0]!.tone ? parts : capitalized(parts),
    path: found.leaders[0]?.path ?? [],
    names: found.leaders.map(({ name }) => name),
  };
}
