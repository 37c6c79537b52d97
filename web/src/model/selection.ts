// What the reader selected of a profile, and its sums by node.
import type { Profile } from "../data";
import { emptySums, isEmpty, merge, Sum, type Sums } from "../numbers/sums";
import { Answer, mergeAs } from "./answers";
import type { Stacks } from "./filter";
import type { CellColumns, Page, Room } from "./page";
import { finished, type Steps, STRETCH } from "./slices";

/** Buckets, both included. */
export interface Window {
  from: number;
  to: number;
}

/** Columns of cells that can be held to one value. */
export type Dimension = "process" | "thread" | "type" | "label" | "size";
export const DIMENSIONS: Dimension[] = ["process", "thread", "type", "label", "size"];
export type Only = Partial<Record<Dimension, number>>;

export interface Selection {
  profile: number;
  window: Window | undefined;
  only: Only;
  /** Those kept; undefined: all. */
  stacks?: Stacks | undefined;
}

/** Sums of a selection, in a room: the next selection in there takes their place. */
export interface Selected {
  /** Whose nodes the sums are of. */
  page: Page;
  profile: Profile;
  window: Window | undefined;
  stacks: Stacks | undefined;
  /** All of the profile. */
  isWhole: boolean;
  /** By node: of the stacks that end in it, and of all that pass through it. */
  self: Sums;
  total: Sums;
  /** Of the whole selection. */
  whole: Sums;
  /** Known bytes of the whole; undefined for parts of it and where it was not counted. */
  exact: number | undefined;
  calibrates: boolean;
  /** What was allocated, if that was counted; undefined but of live objects. */
  most: number | undefined;
  cells: CellColumns | undefined;
  answerOf: (cell: number) => Answer;
  /** All that keeps samples of it open. */
  doubts: number;
  /** Whether self and total are still its own. */
  isThere: () => boolean;
}

/** The value of a cell in a dimension: an index of a name, or a size class. */
export function valueIn(cells: CellColumns, dimension: Dimension, cell: number): number {
  if (dimension === "size") return cells.sizeClass[cells.stratum[cell]!]!;
  return cells[dimension][cell]!;
}

/** Whether cells tell the values of a dimension apart. */
export function hasDimension(cells: CellColumns | undefined, dimension: Dimension): boolean {
  if (!cells) return false;
  return dimension === "size" || cells[dimension].length > 0;
}

type Test = (cell: number) => Answer;

/** Of a question that every sample answers. */
function surely(test: (cell: number) => boolean): Test {
  return (i) => (test(i) ? Answer.Yes : Answer.No);
}

function windowTest(
  page: Page,
  profile: Profile,
  cells: CellColumns,
  chosen: Window | undefined,
): Test | undefined {
  if (profile.counts === "all" || cells.born.length === 0) return undefined;
  // Cells are of all objects: what is alive is so at the end unless another instant is chosen.
  if (!chosen && profile.counts === "born") return undefined;
  const { from, to } = chosen ?? { from: 0, to: page.lastBucket };
  const { born, died } = cells;
  if (profile.counts === "born") return surely((i) => born[i]! >= from && born[i]! <= to);
  const last = page.lastBucket;
  if (to >= last) return surely((i) => died[i]! < 0);
  return surely((i) => born[i]! <= to && (died[i]! < 0 || died[i]! > to));
}

/** Values of cells that may be this one, with what keeps that open. */
function doubtsOf({ data }: Page, dimension: Dimension, value: number): Map<number, Answer> {
  const doubts = new Map<number, Answer>();
  if (dimension === "type") doubts.set(data.unknownType, Answer.Untyped);
  if (dimension !== "thread" || !data.mayBe) return doubts;
  const { thread, other } = data.mayBe;
  thread.forEach((name, i) => other[i] === value && doubts.set(name, Answer.Renamed));
  return doubts;
}

function testsOf(page: Page, profile: Profile, cells: CellColumns, selection: Selection): Test[] {
  const inWindow = windowTest(page, profile, cells, selection.window);
  const tests: Test[] = inWindow ? [inWindow] : [];
  for (const dimension of DIMENSIONS) {
    const value = selection.only[dimension];
    if (value === undefined || !hasDimension(cells, dimension)) continue;
    const doubts = doubtsOf(page, dimension, value);
    tests.push((i) => {
      const its = valueIn(cells, dimension, i);
      return its === value ? Answer.Yes : (doubts.get(its) ?? Answer.No);
    });
  }
  const { stacks } = selection;
  if (stacks) tests.push((i) => stacks.answers[cells.leaf[i]!]!);
  return tests;
}

function allOf(tests: Test[]): Test {
  return (cell) => {
    let all: Answer = Answer.Yes;
    for (const test of tests) {
      all |= test(cell);
      if (all & Answer.No) break;
    }
    return all;
  };
}

function* cleared(sums: Sums): Steps<void> {
  const stretch = STRETCH * Sum.Width;
  for (let from = 0; from < sums.length; from += stretch) {
    sums.fill(0, from, from + stretch);
    yield;
  }
}

/** Sums of all that passes through a node. */
export function* addUp(page: Page, { self, total }: Room): Steps<Sums> {
  const stretch = STRETCH * Sum.Width;
  for (let from = 0; from < self.length; from += stretch) {
    total.set(self.subarray(from, from + stretch), from);
    yield;
  }
  for (let i = page.nodes - 1; i > 0; --i) {
    if (i % STRETCH === 0) yield;
    if (isEmpty(total, i)) continue;
    merge(total, page.parent[i]!, total, i);
  }
  return total;
}

/** The event that may have been missed is the same in all nodes: it depends on the intervals. */
export function withInterval(sums: Sums, profile: Profile): Sums {
  const { largestInterval, objectInterval = largestInterval } = profile;
  sums[Sum.LargestInterval] = Math.max(sums[Sum.LargestInterval]!, largestInterval);
  sums[Sum.ObjectInterval] = objectInterval;
  return sums;
}

/** All of the profile. */
export function isWhole({ window, only, stacks }: Selection): boolean {
  return !window && !stacks && DIMENSIONS.every((of) => only[of] === undefined);
}

function knownBytes(
  profile: Profile,
  selection: Selection,
): Pick<Selected, "isWhole" | "exact" | "calibrates" | "most"> {
  const { mostBytes: most } = profile;
  const exact = isWhole(selection) ? profile.exactTotal : undefined;
  const calibrates = exact !== undefined && (profile.calibrates ?? false);
  return { isWhole: isWhole(selection), exact, calibrates, most };
}

export function select(page: Page, selection: Selection): Selected {
  return finished(selecting(page, selection, page.room));
}

/** select(), in steps of a few milliseconds. */
export function* selecting(page: Page, selection: Selection, room: Room): Steps<Selected> {
  const profile = page.data.profiles[selection.profile]!;
  const cells = page.cells[profile.cells];
  const { self } = room;
  const use = ++room.uses;
  yield* cleared(self);
  const tests = cells ? testsOf(page, profile, cells, selection) : [];
  const answerOf = allOf(tests);
  let doubts = 0;
  if (cells) {
    for (let i = 0; i < cells.count; ++i) {
      if (i % STRETCH === STRETCH - 1) yield;
      doubts |= mergeAs(answerOf(i), self, cells.node[i]!, cells.strata, cells.stratum[i]!, cells.times[i]);
    }
  }
  const total = yield* addUp(page, room);
  const whole = withInterval(total.slice(0, Sum.Width), profile);
  const { window, stacks } = selection;
  const isThere = () => room.uses === use;
  const known = knownBytes(profile, selection);
  return { page, profile, window, stacks, self, total, whole, ...known, cells, answerOf, doubts, isThere };
}

/** Sums by the values of a dimension. */
export function* sumsBy(selected: Selected, dimension: Dimension): Steps<Map<number, Sums>> {
  const found = new Map<number, Sums>();
  const { cells } = selected;
  if (!cells || !hasDimension(cells, dimension)) return found;
  for (let i = 0; i < cells.count; ++i) {
    if (i % STRETCH === STRETCH - 1) yield;
    const answer = selected.answerOf(i);
    if (answer & Answer.No) continue;
    const value = valueIn(cells, dimension, i);
    let sums = found.get(value);
    if (!sums) found.set(value, (sums = emptySums()));
    mergeAs(answer, sums, 0, cells.strata, cells.stratum[i]!, cells.times[i]);
  }
  return found;
}

/** Of a part of a page's nodes what another selection has of it. */
export interface PartOfSelection {
  /** Without sums by node: of a part that is enough. */
  selected: Selected;
  part: Sums;
}

const NO_SUMS = emptySums(0);

/** What of a selection ends below any of `nodes`. */
export function* selectingBelow(
  page: Page,
  selection: Selection,
  nodes: Iterable<number>,
): Steps<PartOfSelection> {
  const isBelow = new Uint8Array(page.nodes);
  for (const node of nodes) isBelow[node] = 1;
  for (let i = 1; i < page.nodes; ++i) {
    if (i % STRETCH === 0) yield;
    isBelow[i]! |= isBelow[page.parent[i]!]!;
  }
  const profile = page.data.profiles[selection.profile]!;
  const cells = page.cells[profile.cells];
  const tests = cells ? testsOf(page, profile, cells, selection) : [];
  const answerOf = allOf(tests);
  let doubts = 0;
  const [whole, part] = [emptySums(), emptySums()];
  for (let i = 0; cells && i < cells.count; ++i) {
    if (i % STRETCH === STRETCH - 1) yield;
    const answer = answerOf(i);
    const [stratum, times] = [cells.stratum[i]!, cells.times[i]!];
    doubts |= mergeAs(answer, whole, 0, cells.strata, stratum, times);
    if (isBelow[cells.node[i]!]) mergeAs(answer, part, 0, cells.strata, stratum, times);
  }
  withInterval(whole, profile);
  const known = knownBytes(profile, selection);
  const { window, stacks } = selection;
  const sums = { self: NO_SUMS, total: NO_SUMS, whole };
  const selected = { page, profile, window, stacks, ...sums, ...known, cells, answerOf, doubts, isThere: () => true };
  return { selected, part };
}
