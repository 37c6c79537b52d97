// The tables of a comparison: a row per function, stack ... with its change, and how sure that is.
import type { DiffRow } from "../data";
import { csvLine } from "../model/csv";
import { printable } from "../model/names";
import { type Compare, firstOf, sorted } from "../model/order";
import type { Page } from "../model/page";
import { expressionOf } from "../model/search";
import { OF_TEXT, Pace, type Steps } from "../model/slices";
import type { Change, State } from "../model/state";
import { changeFigure, probability } from "../numbers/arithmetic";
import { ChangeBar } from "./Bar";
import { Figure } from "./Figure";
import { Busy } from "./Kept";
import { useSteps } from "./slices";
import {
  BytesCell,
  capitalized,
  HeadCell,
  NameCell,
  PAGE_ROWS,
  TableFrame,
  usePaging,
} from "./TableFrame";

function isSure(q: number, level: number): boolean {
  return q < 1 - level;
}

export function toneOf(
  row: { q: number; delta: { value: number } },
  level: number,
): "grew" | "shrank" | "unsure" {
  if (!isSure(row.q, level)) return "unsure";
  return row.delta.value > 0 ? "grew" : "shrank";
}

export function Verdict(props: { row: DiffRow; level: number }) {
  const tone = toneOf(props.row, props.level);
  return <span class={`verdict ${tone}`}>{printable(props.row.verdict)}</span>;
}

const byChange = (a: DiffRow, b: DiffRow) => Math.abs(b.delta.value) - Math.abs(a.delta.value);

/** What changed for sure comes first, as in the report on a terminal. */
const ORDERS = {
  change: (a: DiffRow, b: DiffRow, level: number) =>
    Number(isSure(b.q, level)) - Number(isSure(a.q, level)) || byChange(a, b),
  q: (a: DiffRow, b: DiffRow) => a.q - b.q || byChange(a, b),
  before: (a: DiffRow, b: DiffRow) => b.before.value - a.before.value,
  after: (a: DiffRow, b: DiffRow) => b.after.value - a.after.value,
  name: (a: DiffRow, b: DiffRow) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
};
type Order = keyof typeof ORDERS;

/** Rows that the filter leaves, and a page of them in order. */
interface Rows {
  all: DiffRow[];
  kept: number[];
  compare: Compare<number>;
  first: number;
  shown: DiffRow[];
}

function* rowsOf(
  all: DiffRow[],
  state: State,
  order: Order,
  level: number,
  first: number,
): Steps<Rows> {
  const { test } = expressionOf(state.filter);
  const pace = new Pace();
  const kept: number[] = [];
  for (const [i, row] of all.entries()) {
    if (pace.isDue(OF_TEXT)) yield;
    if (state.filter === "" || test(row.name) || test(row.detail) || test(row.place ?? "")) kept.push(i);
  }
  const chosen = (a: number, b: number) => ORDERS[order](all[a]!, all[b]!, level) || a - b;
  const compare: Compare<number> = state.isAscending ? (a, b) => chosen(b, a) : chosen;
  const ordered = yield* firstOf(kept, first + PAGE_ROWS, compare);
  return { all, kept, compare, first, shown: ordered.slice(first).map((i) => all[i]!) };
}

function* csvOf(
  { all, kept, compare }: Rows,
  by: string,
  onRow: (made: number) => void,
): Steps<string[]> {
  const sides = ["before", "before_lo", "before_hi", "after", "after_lo", "after_hi"];
  const text = [csvLine([by, "detail", "place", "verdict", "change", "lo", "hi", "q", ...sides])];
  const pace = new Pace();
  for (const i of yield* sorted(kept, compare)) {
    if (pace.isDue(OF_TEXT)) yield;
    const { name, detail, place, verdict, delta, q, before, after } = all[i]!;
    const [change, ...both] = [delta, before, after].map(({ value, lo, hi }) => [value, lo, hi]);
    text.push(csvLine([name, detail, place ?? "", verdict, ...change!, q, ...both.flat()]));
    onRow(text.length - 1);
  }
  return text;
}

/** How far a bar reaches: no further than twice the change, however wide its interval. */
function reachOf({ delta }: DiffRow): number {
  const limit = Math.max(Math.abs(delta.lo), Math.abs(delta.hi));
  return Math.min(limit, 2 * Math.abs(delta.value));
}

function DiffLine(props: { row: DiffRow; most: number; level: number }) {
  const { row, most, level } = props;
  return (
    <tr>
      <td class="number">
        <b>
          <Figure parts={changeFigure(row.delta.value, row.delta)} />
        </b>
      </td>
      <td class="interval">
        <ChangeBar delta={row.delta} most={most} tone={toneOf(row, level)} />
      </td>
      <td>
        <Verdict row={row} level={level} />
      </td>
      <td class="number q" data-label="q">{probability(row.q)}</td>
      <BytesCell estimate={row.before} level={level} kind="before" label="before" />
      <BytesCell estimate={row.after} level={level} kind="after" label="after" />
      <NameCell
        name={printable(row.shortName ?? row.name)}
        whole={printable(row.name)}
        detail={printable([row.place, row.detail].filter(Boolean).join("  "))}
      />
    </tr>
  );
}

interface DiffTableProps {
  page: Page;
  /** What a row is: "function". */
  by: string;
  rows: DiffRow[];
  state: State;
  change: Change;
  level: number;
}

export function DiffTable({ page, by, rows, state, change, level }: DiffTableProps) {
  const sort: Order = state.sort in ORDERS ? (state.sort as Order) : "change";
  const paging = usePaging([rows, state.filter, sort, state.isAscending]);
  const made = useSteps(
    () => rowsOf(rows, state, sort, level, paging.first),
    [page, rows, state.filter, sort, state.isAscending, level, paging.first],
  );
  if (!made.value) return <Busy />;
  const { kept, shown, first } = made.value;
  const most = Math.max(0, ...shown.map(reachOf));
  const order = { sort, isAscending: state.isAscending, change };
  return (
    <TableFrame
      by={by}
      label={`Changes by ${by}`}
      filter={state.filter}
      change={change}
      rows={kept.length}
      of={rows.length}
      paging={{ ...paging, first }}
      isBusy={made.isBusy}
      csv={(onRow) => csvOf(made.value!, by, onRow)}
      head={
        <>
          <HeadCell {...order} by="change" label="Change" kind="number" />
          <HeadCell {...order} label="Interval" kind="interval" />
          <HeadCell {...order} label="Verdict" kind="" />
          <HeadCell {...order} by="q" label="q" kind="number" />
          <HeadCell {...order} by="before" label="Before" kind="number" />
          <HeadCell {...order} by="after" label="After" kind="number" />
          <HeadCell {...order} by="name" label={capitalized(by)} kind="name" />
        </>
      }
    >
      {shown.map((row, i) => (
        <DiffLine key={i} row={row} most={most} level={level} />
      ))}
    </TableFrame>
  );
}
