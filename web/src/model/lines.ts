// The lines of a table: its rows filtered, in order, the first of them with their intervals.
import type { Column } from "../data";
import { type Estimate, type Share } from "../numbers/arithmetic";
import { bytesForOrder, isEmpty, rowOf, samplesOf, Sum } from "../numbers/sums";
import { rowBytes, rowObjects, shareOf } from "./measure";
import { type CsvCell, csvLine } from "./csv";
import { type Groups, selectedOf } from "./groups";
import { type Compare, firstOf, sorted } from "./order";
import { expressionOf } from "./search";
import { OF_INTERVALS, OF_TEXT, Pace, type Steps } from "./slices";

export type Sort = "self" | "total" | "samples" | "name";

/** What of a table is wanted. */
export interface Wanted {
  groups: Groups;
  filter: string;
  sort: Sort;
  isAscending: boolean;
  level: number;
}

export interface Line {
  key: number;
  name: string;
  detail: string;
  self: Estimate;
  total: Estimate | undefined;
  /** Of self and total the one that the table is sorted by. */
  shown: Estimate;
  share: Share;
  objects: Estimate;
  /** Objects of it that were recorded with certainty. */
  certain: number;
  samples: number;
  /** May belong on the other side of the next line: their intervals overlap. */
  isOpen: boolean;
}

export interface Lines {
  wanted: Wanted;
  /** Rows that the filter leaves. */
  rows: readonly number[];
  /** Rows without it. */
  all: number;
  /** Place of the first line in the order. */
  first: number;
  lines: Line[];
}

interface Filtered {
  rows: number[];
  /** Without the filter. */
  all: number;
}

/** A row without samples of its own is one of those that only callees fill. */
function* filtered({ groups, filter, sort }: Wanted): Steps<Filtered> {
  const { test } = expressionOf(filter);
  const rows: number[] = [];
  let all = 0;
  const pace = new Pace();
  for (let i = 0; i < groups.count; ++i) {
    if (pace.isDue(filter === "" ? 1 : OF_TEXT)) yield;
    if (sort !== "total" && isEmpty(groups.self, i)) continue;
    ++all;
    if (filter === "" || test(groups.name(i)) || test(groups.detail(i))) rows.push(i);
  }
  return { rows, all };
}

function inOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function orderOf({ groups, sort, isAscending }: Wanted): Compare<number> {
  const total = groups.total ?? groups.self;
  const tie = (a: number, b: number) =>
    bytesForOrder(total, b) - bytesForOrder(total, a) || groups.key(a) - groups.key(b);
  const names: string[] = [];
  const nameOf = (row: number) => (names[row] ??= groups.name(row));
  const compare: Record<Sort, Compare<number>> = {
    self: (a, b) => bytesForOrder(groups.self, b) - bytesForOrder(groups.self, a),
    total: (a, b) => bytesForOrder(total, b) - bytesForOrder(total, a),
    samples: (a, b) => samplesOf(groups.self, b) - samplesOf(groups.self, a),
    name: (a, b) => inOrder(nameOf(a), nameOf(b)),
  };
  const chosen = compare[sort];
  return isAscending ? (a, b) => chosen(b, a) || tie(b, a) : (a, b) => chosen(a, b) || tie(a, b);
}

function lineOf({ groups, sort, level }: Wanted, row: number): Line {
  const selected = selectedOf(groups, row);
  const self = rowBytes(selected, rowOf(groups.self, row), level);
  const total = groups.total && rowBytes(selected, rowOf(groups.total, row), level);
  const isByTotal = sort === "total" && groups.total !== undefined;
  const sums = rowOf(isByTotal ? groups.total! : groups.self, row);
  const shown = isByTotal ? total! : self;
  return {
    key: groups.key(row),
    name: groups.name(row),
    detail: groups.detail(row),
    self,
    total,
    shown,
    share: shareOf(selected, sums, shown, level),
    objects: rowObjects(selected, sums, level),
    certain: sums[Sum.Certain]!,
    samples: samplesOf(sums, 0),
    isOpen: false,
  };
}

/** Intervals of neighbours that overlap leave their order open: table.cc of the reports. */
function isOrderOpen(wanted: Wanted, line: Line, next: Line | undefined): boolean {
  if (!next || wanted.sort === "samples" || wanted.sort === "name") return false;
  const [upper, lower] = wanted.isAscending ? [next, line] : [line, next];
  const isSeen = lower.shown.samples > 0 || lower.shown.exact > 0;
  return isSeen && lower.shown.hi > upper.shown.lo;
}

/** `count` lines from place `first` of the order on. */
export function* linesOf(wanted: Wanted, first: number, count: number): Steps<Lines> {
  const { rows, all } = yield* filtered(wanted);
  // One more than is shown: the last one's order depends on it.
  const ordered = yield* firstOf(rows, first + count + 1, orderOf(wanted));
  const lines: Line[] = [];
  const pace = new Pace();
  for (const row of ordered.slice(first)) {
    if (pace.isDue(4 * OF_INTERVALS)) yield;
    lines.push(lineOf(wanted, row));
  }
  lines.forEach((line, i) => (line.isOpen = isOrderOpen(wanted, line, lines[i + 1])));
  return { wanted, rows, all, first, lines: lines.slice(0, count) };
}

/** The columns of figures that `geiger table` has too. */
export function columnsOf({ total, selected }: Groups): Column[] {
  const { columns, columnsWithoutTotals } = selected.page.data;
  return total ? columns : columnsWithoutTotals;
}

/** One column of a count, or three of a number and its limits. */
function csvCells(line: Line, name: string): CsvCell[] {
  if (name === "samples") return [line.samples];
  const { value, lo, hi } = line[name as "self" | "total" | "share"]!;
  return [value, lo, hi];
}

/** All rows that the filter leaves, in their order; `onRow` gets their number so far. */
export function* csvOf(
  { wanted, rows }: Lines,
  by: string,
  onRow: (made: number) => void,
): Steps<string[]> {
  const names = columnsOf(wanted.groups).map(({ name }) => name);
  const head = names.flatMap((name) => (name === "samples" ? name : [name, `${name}_lo`, `${name}_hi`]));
  const text = [csvLine([by, "detail", ...head])];
  const pace = new Pace();
  for (const row of yield* sorted(rows, orderOf(wanted))) {
    if (pace.isDue(4 * OF_INTERVALS)) yield;
    const line = lineOf(wanted, row);
    text.push(csvLine([line.name, line.detail, ...names.flatMap((name) => csvCells(line, name))]));
    onRow(text.length - 1);
  }
  return text;
}
