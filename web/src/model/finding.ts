// What a selection says in one sentence: which own function held most, how surely, of how much.
// The rules are those of src/analysis/report/finding.h.
import { FrameFlag, type Estimate, type Profile } from "../data";
import { detectionLimit } from "../numbers/estimate";
import { boundBytes, duration, exactCount, type Figure, figure, shareFigure } from "../numbers/format";
import { bytesForOrder, emptySums, merge, rowOf, samplesOf, Sum, type Sums } from "../numbers/sums";
import { functionGroups } from "./groups";
import { rowBytes, type Share, shareOf, totalBytes } from "./measure";
import { functionName, type Page, shortPlaceOf, shownNode } from "./page";
import type { Selected } from "./selection";
import { Pace, type Steps, STRETCH } from "./slices";
import { isEmpty } from "./tree";

/** A function is named where its share is surely at least this. */
const LEAST_SHARE = 0.25;
/** No function is named from fewer samples, and no kind opened. */
export const LEAST_SAMPLES = 6;
/** Candidates are marked by bits of a number. */
const MOST_CANDIDATES = 30;

export interface Part {
  text: string;
  tone?: "strong" | "place" | "interval";
}

/** A function that the sentence names. */
interface Leader {
  of: number;
  bytes: Estimate;
  share: Share;
  /** Of its lines the one with most bytes. */
  frame: number;
  /** Functions from below the root to where it has most. */
  path: number[];
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
  of: number;
  sums: Sums;
  bytes: Estimate;
  share: Share;
}

/** The kind that a page opens on. */
export function openingProfile(profiles: readonly Profile[]): number {
  const has = (kind: string) =>
    profiles.findIndex((profile) => profile.kind === kind && profile.cells >= 0);
  const [peak, live, allocated] = [has("peak"), has("live"), has("allocated")];
  const isKnown = (at: number) => at >= 0 && isEnough(profiles[at]!.bytes);
  const peakBytes = peak >= 0 ? profiles[peak]!.bytes.value : 0;
  if (isKnown(live) && profiles[live]!.bytes.lo > peakBytes / 2) return live;
  if (isKnown(peak)) return peak;
  if (allocated >= 0) return allocated;
  return Math.max(
    0,
    profiles.findIndex((profile) => profile.cells >= 0),
  );
}

/** Enough samples to name anything; what is known exactly needs none. */
function isEnough({ samples, exact, value }: Estimate): boolean {
  return samples >= LEAST_SAMPLES || (exact > 0 && exact >= 0.99 * value);
}

function isNamed(sums: Sums): boolean {
  return sums[Sum.Samples] === 0 || samplesOf(sums, 0) >= LEAST_SAMPLES;
}

function isOwn(page: Page, of: number): boolean {
  const flags = page.data.frames.flags[page.frameOf[of]!]!;
  return !page.isLibrary[of] && (flags & FrameFlag.Remark) === 0;
}

/** Own functions with enough samples, by their own bytes and those below them. */
function* candidatesOf(page: Page, selected: Selected, level: number): Steps<Candidate[]> {
  const groups = yield* functionGroups(page, selected);
  const total = groups.total!;
  const least = LEAST_SHARE * bytesForOrder(selected.whole, 0);
  const found: Candidate[] = [];
  const pace = new Pace();
  for (let row = 0; row < groups.count; ++row) {
    if (pace.isDue()) yield;
    const of = groups.key(row);
    if (bytesForOrder(total, row) < least || !isOwn(page, of)) continue;
    const sums = rowOf(total, row);
    if (!isNamed(sums)) continue;
    const bytes = rowBytes(selected, sums, level);
    const share = shareOf(selected, sums, bytes, level);
    if (share.lo >= LEAST_SHARE) found.push({ of, sums, bytes, share });
  }
  return found;
}

/** Of each candidate how deep it stands on average, outermost calls weighed by their bytes. */
function* depthsOf(page: Page, selected: Selected, found: Candidate[]): Steps<Map<number, number>> {
  const depths = new Map(found.map(({ of }) => [of, 0]));
  const weights = new Map(found.map(({ of }) => [of, 0]));
  const depth = new Int32Array(page.nodes);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    depth[node] = depth[page.parent[node]!]! + 1;
    const of = page.functionOf[node]!;
    if (!depths.has(of)) continue;
    const weight = bytesForOrder(selected.total, node);
    depths.set(of, depths.get(of)! + weight * depth[node]!);
    weights.set(of, weights.get(of)! + weight);
  }
  return new Map(found.map(({ of }) => [of, depths.get(of)! / (weights.get(of)! || 1)]));
}

/** Candidates that no other one accounts for: none has most of its bytes below them. */
function* deepest(page: Page, selected: Selected, all: Candidate[]): Steps<Candidate[]> {
  const depths = yield* depthsOf(page, selected, all);
  const found = all
    .sort((a, b) => depths.get(b.of)! - depths.get(a.of)!)
    .slice(0, MOST_CANDIDATES);
  const bitOf = new Map(found.map(({ of }, i) => [of, i]));
  const masks = new Int32Array(page.nodes);
  /** By candidate: bytes of it, and of these what is below each other one. */
  const bytes = new Float64Array(found.length);
  const below = found.map(() => new Float64Array(found.length));
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    const above = masks[page.parent[node]!]!;
    const bit = bitOf.get(page.functionOf[node]!);
    masks[node] = bit === undefined ? above : above | (1 << bit);
    if (bit === undefined || above & (1 << bit)) continue;
    const weight = bytesForOrder(selected.total, node);
    bytes[bit]! += weight;
    for (let i = 0; i < found.length; ++i) if (above & (1 << i)) below[bit]![i]! += weight;
  }
  return found
    .filter((_, i) => !found.some((__, j) => j !== i && below[j]![i]! > bytes[j]! / 2))
    .sort((a, b) => b.bytes.value - a.bytes.value);
}

/** Where a function has most: its heaviest node, and the line with most of its bytes. */
function* placed(page: Page, selected: Selected, candidate: Candidate): Steps<Leader> {
  const byFrame = new Map<number, number>();
  let heaviest = 0;
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (page.functionOf[node] !== candidate.of) continue;
    const weight = bytesForOrder(selected.total, node);
    const frame = page.frame[node]!;
    byFrame.set(frame, (byFrame.get(frame) ?? 0) + weight);
    if (heaviest === 0 || weight > bytesForOrder(selected.total, heaviest)) heaviest = node;
  }
  let frame = -1;
  for (const [of, weight] of byFrame) if (frame < 0 || weight > byFrame.get(frame)!) frame = of;
  const path: number[] = [];
  for (let at = heaviest; at > 0; at = page.parent[at]!) path.push(page.functionOf[at]!);
  return { of: candidate.of, bytes: candidate.bytes, share: candidate.share, frame, path: path.reverse() };
}

/** The own function with most bytes that no other own function accounts for. */
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
    if (isEmpty(rows, of) || !isOwn(page, of)) continue;
    if (most < 0 || bytesForOrder(rows, of) > bytesForOrder(rows, most)) most = of;
  }
  if (most < 0) return undefined;
  const sums = rowOf(rows, most);
  const bytes = rowBytes(selected, sums, level);
  return isNamed(sums)
    ? { of: most, sums, bytes, share: shareOf(selected, sums, bytes, level) }
    : undefined;
}

/** The instant or the window in words: "At the peak,", "From 2.00 s to 4.00 s,". */
function whenText({ page, profile, window }: Selected): string {
  const time = (edge: number) => duration(page.data.timeline!.edges[edge]!);
  if (window && profile.counts === "born") return `From ${time(window.from)} to ${time(window.to + 1)}`;
  if (window && profile.counts === "alive" && window.to < page.lastBucket) {
    return `At ${time(window.to + 1)}`;
  }
  if (profile.kind === "peak") return "At the peak";
  if (profile.kind === "live") return profile.title === "Live now" ? "Now" : "At exit";
  if (profile.kind === "allocated") return "";
  return profile.title;
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

function nameParts(page: Page, { of, frame }: Leader): Part[] {
  const place = shortPlaceOf(page, frame);
  const name = strong(functionName(page, of));
  return place === "" ? [name] : [name, plain(" "), { text: place, tone: "place" }];
}

function capitalized(parts: Part[]): Part[] {
  const [first, ...rest] = parts;
  return [{ ...first!, text: first!.text.slice(0, 1).toUpperCase() + first!.text.slice(1) }, ...rest];
}

/** What has no function to name. */
function withoutFunction(selected: Selected, level: number): Part[] | undefined {
  const { whole, profile } = selected;
  const samples = samplesOf(whole, 0);
  const when = whenText(selected);
  if (samples === 0) {
    if (profile.kind === "allocated" && (selected.exact ?? 0) === 0 && !selected.window) {
      return [plain("Nothing was allocated through malloc.")];
    }
    const limit = boundBytes(detectionLimit(profile.largestInterval, level));
    return [plain(`${when === "" ? "" : `${when}, `}`), strong(`less than ${limit}`), plain(" was held: no sample is left.")];
  }
  if (whole[Sum.Samples] === 0 || samples >= LEAST_SAMPLES) return undefined;
  return [
    plain(`Too few samples to name a function: ${exactCount(samples)}. Record with `),
    strong("--interval 16KiB"),
    plain("."),
  ];
}

function sentence(page: Page, selected: Selected, leaders: Leader[], level: number): Part[] {
  const when = whenText(selected);
  const verb = selected.profile.kind === "allocated" ? "allocated" : when === "Now" ? "holds" : "held";
  const opening = when === "" ? [] : [plain(`${when}, `)];
  const kept = selected.stacks ? [plain(" kept")] : [];
  const total = [plain(" of "), ...amountParts(figure(totalBytes(selected, level), "bytes")), ...kept];
  const [first, second] = leaders;
  if (first === undefined) {
    return capitalized([...opening, plain(`no single function ${verb} more than 25 %`), ...total, plain(".")]);
  }
  if (first.share.lo < LEAST_SHARE) {
    return capitalized([
      ...opening,
      plain(`no single function ${verb} more than 25 %`),
      ...total,
      plain("; the largest is "),
      ...nameParts(page, first),
      plain(" with "),
      ...figureParts(shareFigure(first.share)),
      plain("."),
    ]);
  }
  const isOpen = second !== undefined && second.bytes.hi > first.bytes.lo;
  if (!isOpen) {
    return [...opening, ...nameParts(page, first), plain(` ${verb} `), ...figureParts(shareFigure(first.share)), ...total, plain(".")];
  }
  return [
    ...opening,
    ...nameParts(page, first),
    plain(" and "),
    ...nameParts(page, second),
    plain(` ${verb} most`),
    ...total,
    plain(", "),
    ...figureParts(shareFigure(first.share)),
    plain(" and "),
    ...figureParts(shareFigure(second.share)),
    plain("; which more is not certain."),
  ];
}

export function* findingOf(selected: Selected, level: number): Steps<Finding> {
  const { page } = selected;
  const said = withoutFunction(selected, level);
  if (said) return { selected, parts: capitalized(said), path: [], names: [] };
  const candidates = yield* candidatesOf(page, selected, level);
  const leading = candidates.length > 0 ? yield* deepest(page, selected, candidates) : [];
  const largest = leading.length > 0 ? undefined : yield* largestOf(page, selected, level);
  const leaders: Leader[] = [];
  for (const candidate of largest ? [largest] : leading.slice(0, 2)) {
    leaders.push(yield* placed(page, selected, candidate));
  }
  return {
    selected,
    parts: sentence(page, selected, leaders, level),
    path: leaders[0]?.path ?? [],
    names: leaders.map(({ of }) => functionName(page, of)),
  };
}
