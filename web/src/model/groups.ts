// Rows of the tables: the sums of a selection by function, stack, module, type, size, ...
import { exactBytes, restOf } from "../numbers/arithmetic";
import { bytesForOrder, emptySums, isEmpty, leaveOpen, merge, rowOf, type Sums } from "../numbers/sums";
import { cutAt } from "./answers";
import { baseName, functionName, moduleName, nameAt, type Page, placeOf, shownNode } from "./page";
import type { Matched } from "./search";
import { type Dimension, type Selected, sumsBy } from "./selection";
import { Pace, type Steps, STRETCH } from "./slices";

export interface Groups {
  /** What they are the groups of. */
  selected: Selected;
  /** Of rows in which nothing can have been missed: the same without an interval between samples. */
  selectedIn?: (row: number) => Selected;
  /** Rows that hold something, in no order. */
  count: number;
  /** What tells a row apart: a function, a node, an index of a name, a size class; of lines none. */
  key: (row: number) => number;
  /** Of rows by line: the function that the line is in. */
  functionOf?: (row: number) => number;
  name: (row: number) => string;
  detail: (row: number) => string;
  /** Of what ends here: sums of the rows of a table add up to the whole. */
  self: Sums;
  /** Of what passes through; undefined where that is the same. */
  total: Sums | undefined;
  /** Stacks that are not whole, which are open in totals that do not have them. */
  cut?: Matched;
}

/** Of each node whether no node above it has the same value: nested ones must not count twice. */
function* outermost(
  page: Page,
  valueOf: (node: number) => number,
  values: number,
): Steps<Uint8Array> {
  const isOutermost = new Uint8Array(page.nodes);
  const open = new Int32Array(values);
  const { start, child } = page.children;
  const stack = new Int32Array(page.nodes);
  const next = start.slice();
  let depth = 0;
  let visits = 0;
  stack[0] = 0;
  while (depth >= 0) {
    if (++visits % STRETCH === 0) yield;
    const node = stack[depth]!;
    if (next[node]! < start[node + 1]!) {
      const below = child[next[node]!++]!;
      isOutermost[below] = open[valueOf(below)]!++ === 0 ? 1 : 0;
      stack[++depth] = below;
    } else {
      if (node > 0) --open[valueOf(node)]!;
      --depth;
    }
  }
  return isOutermost;
}

/** What is worked out of a page once, and kept for as long as the page is. */
class OfPage<T> {
  private readonly known = new WeakMap<Page, T>();

  *get(page: Page, make: () => Steps<T>): Steps<T> {
    let found = this.known.get(page);
    if (found === undefined) this.known.set(page, (found = yield* make()));
    return found;
  }
}

const OUTERMOST_BY_FUNCTION = new OfPage<Uint8Array>();
const OUTERMOST_BY_MODULE = new OfPage<Uint8Array>();

interface Tally {
  self: Sums;
  total: Sums;
  cut: Matched;
}

/** Sums of stacks that are not whole, and by value those of them that have it: view.cc of the reports. */
function* cutOf(
  page: Page,
  { total }: Selected,
  values: number,
  valueOf: (node: number) => number,
  isOutermost: Uint8Array,
): Steps<{ all: Matched; by: Sums }> {
  const all = { sums: emptySums(), doubts: 0 };
  const by = emptySums(values);
  const isBelow = new Uint8Array(page.nodes);
  const pace = new Pace();
  for (let node = 1; node < page.nodes; ++node) {
    if (pace.isDue()) yield;
    isBelow[node] = isBelow[page.parent[node]!]!;
    if (isBelow[node] && isOutermost[node]) merge(by, valueOf(node), total, node);
    const cut = cutAt(page, node);
    if (!cut || isBelow[node] || isEmpty(total, node)) continue;
    isBelow[node] = 1;
    all.doubts |= cut;
    merge(all.sums, 0, total, node);
    for (let at = node; at > 0; at = page.parent[at]!) {
      if (pace.isDue()) yield;
      if (isOutermost[at]) merge(by, valueOf(at), total, node);
    }
  }
  return { all, by };
}

function* tally(
  page: Page,
  selected: Selected,
  values: number,
  valueOf: (node: number) => number,
  isOutermost: Uint8Array,
): Steps<Tally> {
  const self = emptySums(values);
  const total = emptySums(values);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (isEmpty(selected.total, node)) continue;
    if (!isEmpty(selected.self, node)) {
      merge(self, valueOf(shownNode(page, node)), selected.self, node);
    }
    if (isOutermost[node]) merge(total, valueOf(node), selected.total, node);
  }
  const { all: cut, by } = yield* cutOf(page, selected, values, valueOf, isOutermost);
  if (isEmpty(cut.sums, 0)) return { self, total, cut };
  const pace = new Pace();
  for (let value = 0; value < values; ++value) {
    if (pace.isDue()) yield;
    if (!isEmpty(total, value)) leaveOpen(total, value, restOf(rowOf(by, value), cut.sums), 0);
  }
  return { self, total, cut };
}

function* rowsWith(count: number, holds: (row: number) => boolean): Steps<number[]> {
  const rows: number[] = [];
  for (let i = 0; i < count; ++i) {
    if (i % STRETCH === STRETCH - 1) yield;
    if (holds(i)) rows.push(i);
  }
  return rows;
}

function* picked(rows: readonly number[], sums: Sums): Steps<Sums> {
  const found = emptySums(rows.length);
  for (let i = 0; i < rows.length; ++i) {
    if (i % STRETCH === STRETCH - 1) yield;
    merge(found, i, sums, rows[i]!);
  }
  return found;
}

type GroupSteps = Steps<Groups>;

/** What the numbers of a row are measured in. */
export function selectedOf({ selected, selectedIn }: Groups, row: number): Selected {
  return selectedIn ? selectedIn(row) : selected;
}

/** Rows by line: where own code allocates, or calls a library that does. */
export function* lineGroups(page: Page, selected: Selected): GroupSteps {
  const frames = new Map<number, number>();
  const rowOfNode = new Int32Array(page.nodes).fill(-1);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (isEmpty(selected.self, node)) continue;
    const frame = page.frame[shownNode(page, node)]!;
    if (!frames.has(frame)) frames.set(frame, frames.size);
    rowOfNode[node] = frames.get(frame)!;
  }
  const self = emptySums(frames.size);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (rowOfNode[node]! >= 0) merge(self, rowOfNode[node]!, selected.self, node);
  }
  const rows = [...frames.keys()];
  const functionOf = (row: number) => page.functionOfFrame[rows[row]!]!;
  return {
    selected,
    count: rows.length,
    key: (row) => row,
    functionOf,
    name: (row) => functionName(page, functionOf(row)),
    detail: (row) => placeOf(page, rows[row]!) || "no line information",
    self,
    total: undefined,
  };
}

/** Of each node whether no node above it is of the same function. */
export function outermostByFunction(page: Page): Steps<Uint8Array> {
  const valueOf = (node: number) => page.functionOf[node]!;
  return OUTERMOST_BY_FUNCTION.get(page, () => outermost(page, valueOf, page.functions));
}

/** Of each function the frame that is its line with most. */
function* heaviestLines(page: Page, { total }: Selected, isOutermost: Uint8Array): Steps<Int32Array> {
  const bytes = new Float64Array(page.functionOfFrame.length);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    if (isOutermost[node]) bytes[page.frame[node]!]! += bytesForOrder(total, node);
  }
  const heaviest = page.frameOf.slice();
  for (let frame = 0; frame < bytes.length; ++frame) {
    if (frame % STRETCH === STRETCH - 1) yield;
    const of = page.functionOfFrame[frame]!;
    if (bytes[frame]! > bytes[heaviest[of]!]!) heaviest[of] = frame;
  }
  return heaviest;
}

export function* functionGroups(page: Page, selected: Selected): GroupSteps {
  const valueOf = (node: number) => page.functionOf[node]!;
  const isOutermost = yield* outermostByFunction(page);
  const found = yield* tally(page, selected, page.functions, valueOf, isOutermost);
  const lines = yield* heaviestLines(page, selected, isOutermost);
  const rows = yield* rowsWith(
    page.functions,
    (row) =>
      !isEmpty(found.total, row) &&
      !(page.isFolded && page.isLibrary[row] && isEmpty(found.self, row)),
  );
  return {
    selected,
    count: rows.length,
    key: (row) => rows[row]!,
    name: (row) => functionName(page, rows[row]!),
    detail: (row) =>
      placeOf(page, lines[rows[row]!]!) || baseName(moduleName(page, rows[row]!)),
    self: yield* picked(rows, found.self),
    total: yield* picked(rows, found.total),
    cut: found.cut,
  };
}

export function* moduleGroups(page: Page, selected: Selected): GroupSteps {
  const { module } = page.data.frames;
  // -1, no module, is value 0.
  const moduleOf = page.frameOf.map((frame) => module[frame]! + 1);
  const valueOf = (node: number) => moduleOf[page.functionOf[node]!]!;
  const values = page.data.names.length + 1;
  const isOutermost = yield* OUTERMOST_BY_MODULE.get(page, () => outermost(page, valueOf, values));
  const found = yield* tally(page, selected, values, valueOf, isOutermost);
  const rows = yield* rowsWith(values, (row) => !isEmpty(found.total, row));
  const path = (row: number) => (rows[row]! > 0 ? nameAt(page, rows[row]! - 1) : "[no module]");
  return {
    selected,
    count: rows.length,
    key: (row) => rows[row]!,
    name: (row) => baseName(path(row)),
    detail: (row) => path(row),
    self: yield* picked(rows, found.self),
    total: yield* picked(rows, found.total),
    cut: found.cut,
  };
}

/** Functions of a stack, leaf first; at most `most` of them. */
export function stackOf(page: Page, node: number, most = Infinity): number[] {
  const functions: number[] = [];
  for (let at = node; at > 0 && functions.length < most; at = page.parent[at]!) {
    functions.push(page.functionOf[at]!);
  }
  return functions;
}

/** How many functions stackOf has of each node. */
function* stackDepths(page: Page): Steps<Int32Array> {
  const depths = new Int32Array(page.nodes);
  for (let node = 1; node < page.nodes; ++node) {
    if (node % STRETCH === 0) yield;
    depths[node] = depths[page.parent[node]!]! + 1;
  }
  return depths;
}

/** Callers that a row of the table names. */
const CALLERS_SHOWN = 4;

export function* stackGroups(page: Page, selected: Selected): GroupSteps {
  const rows = yield* rowsWith(page.nodes, (node) => node > 0 && !isEmpty(selected.self, node));
  const depths = yield* stackDepths(page);
  const functions = (row: number, most: number) => stackOf(page, rows[row]!, most);
  return {
    selected,
    count: rows.length,
    key: (row) => rows[row]!,
    name: (row) => {
      return functionName(page, functions(row, 1)[0]!);
    },
    detail: (row) => {
      const callers = functions(row, CALLERS_SHOWN + 1).slice(1);
      const shown = callers.map((of) => functionName(page, of));
      const more = depths[rows[row]!]! - 1 - shown.length;
      return shown.join(" ← ") + (more > 0 ? ` ← ${more} more` : "");
    },
    self: yield* picked(rows, selected.self),
    total: undefined,
  };
}

export function sizeClassName(sizeClass: number): string {
  if (sizeClass < 0) return "0 B";
  return sizeClass === 0
    ? "1 B"
    : `${exactBytes(2 ** sizeClass)} to < ${exactBytes(2 ** (sizeClass + 1))}`;
}

export function valueName(page: Page, dimension: Dimension, value: number): string {
  if (dimension === "size") return sizeClassName(value);
  if (value >= 0) return nameAt(page, value);
  return { process: "[no process]", thread: "[no thread]", type: "[no type]", label: "[no label]" }[dimension];
}

/** Of a class of sizes that were all recorded nothing is missing, of objects without bytes no bytes. */
function inSizes(selected: Selected, sizeOf: (row: number) => number): (row: number) => Selected {
  const { profile } = selected;
  const { completeFrom = Infinity, objectInterval = profile.largestInterval } = profile;
  const missing = (objects: number) => ({
    ...selected,
    profile: { ...profile, largestInterval: 0, objectInterval: objects },
  });
  const [nothing, noBytes] = [missing(0), missing(objectInterval)];
  return (row) => {
    if (sizeOf(row) < 0) return noBytes;
    return 2 ** sizeOf(row) >= completeFrom ? nothing : selected;
  };
}

/** Objects of unknown type may be of any other one. */
function* leaveUnknownOpen(page: Page, found: [number, Sums][], self: Sums): Steps<void> {
  const unknown = found.find(([type]) => type === page.data.unknownType);
  if (!unknown) return;
  const pace = new Pace();
  for (const [i, row] of found.entries()) {
    if (pace.isDue()) yield;
    if (row !== unknown) leaveOpen(self, i, unknown[1], 0);
  }
}

export function* dimensionGroups(page: Page, selected: Selected, dimension: Dimension): GroupSteps {
  const found = [...(yield* sumsBy(selected, dimension))];
  const self = emptySums(found.length);
  const pace = new Pace();
  for (const [i, [, sums]] of found.entries()) {
    if (pace.isDue()) yield;
    merge(self, i, sums, 0);
  }
  if (dimension === "type") yield* leaveUnknownOpen(selected.page, found, self);
  const key = (row: number) => found[row]![0];
  return {
    selected,
    ...(dimension === "size" && { selectedIn: inSizes(selected, key) }),
    count: found.length,
    key,
    name: (row) => valueName(page, dimension, found[row]![0]),
    detail: () => "",
    self,
    total: undefined,
  };
}
