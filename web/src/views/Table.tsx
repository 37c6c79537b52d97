// The tables: a row per function, stack, module ... with its interval drawn beside its number.
import { Filter } from "./controls";
import { useMemo, useState } from "preact/hooks";
import type { Estimate } from "../data";
import { csvOf } from "../model/csv";
import type { Groups } from "../model/groups";
import { objectsFigure, rowBytes, rowObjects, shareOf } from "../model/measure";
import { elided } from "../model/names";
import { firstOf } from "../model/order";
import { expressionOf } from "../model/search";
import { exactCount, figure, plural, shareFigure } from "../numbers/format";
import { bytesForOrder, rowOf, samplesOf, Sum } from "../numbers/sums";
import { Bar } from "./Bar";
import type { ViewProps } from "./context";
import { Figure, intervalText } from "./Figure";
import { CopyButton } from "./CopyButton";

const PAGE_ROWS = 60;
const LONGEST_NAME = 300;

type Sort = "self" | "total" | "samples" | "name";

export interface TableProps extends ViewProps {
  groups: Groups;
  /** What a row is: "function". */
  by: string;
  /** Name of the column of what ends in a row, where there is a total too. */
  onRow: ((row: number) => void) | undefined;
  rowHint?: string;
}

function sortOf(props: TableProps): Sort {
  const { sort } = props.state;
  if (sort === "samples" || sort === "name") return sort;
  return sort === "total" && props.groups.total ? "total" : "self";
}

function filtered(groups: Groups, filter: string): number[] {
  const { test } = expressionOf(filter);
  const rows: number[] = [];
  for (let i = 0; i < groups.count; ++i) {
    if (filter === "" || test(groups.name(i)) || test(groups.detail(i))) rows.push(i);
  }
  return rows;
}

type Compare = (a: number, b: number) => number;

function orderOf(groups: Groups, sort: Sort, isAscending: boolean): Compare {
  const total = groups.total ?? groups.self;
  const tie = (a: number, b: number) =>
    bytesForOrder(total, b) - bytesForOrder(total, a) || groups.key(a) - groups.key(b);
  const names: string[] = [];
  const nameOf = (row: number) => (names[row] ??= groups.name(row));
  const compare: Record<Sort, Compare> = {
    self: (a, b) => bytesForOrder(groups.self, b) - bytesForOrder(groups.self, a),
    total: (a, b) => bytesForOrder(total, b) - bytesForOrder(total, a),
    samples: (a, b) => samplesOf(groups.self, b) - samplesOf(groups.self, a),
    name: (a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0),
  };
  const chosen = compare[sort];
  return isAscending ? (a, b) => chosen(b, a) || tie(b, a) : (a, b) => chosen(a, b) || tie(a, b);
}

interface Line {
  row: number;
  self: Estimate;
  total: Estimate | undefined;
  shown: Estimate;
}

/** Intervals of neighbours that overlap leave their order open: table.cc of the reports. */
function isOrderOpen(
  line: Line,
  next: Line | undefined,
  sort: Sort,
  isAscending: boolean,
): boolean {
  if (!next || sort === "samples" || sort === "name") return false;
  const [upper, lower] = isAscending ? [next, line] : [line, next];
  const isSeen = lower.shown.samples > 0 || lower.shown.exact > 0;
  return isSeen && lower.shown.hi > upper.shown.lo;
}

function useLines(props: TableProps, rows: number[], sort: Sort): Line[] {
  const { groups, selected, level } = props;
  return useMemo(
    () =>
      rows.map((row) => {
        const self = rowBytes(selected, rowOf(groups.self, row), level);
        const total = groups.total && rowBytes(selected, rowOf(groups.total, row), level);
        return { row, self, total, shown: sort === "total" && total ? total : self };
      }),
    [groups, selected, level, rows, sort],
  );
}

function Head(props: TableProps & { sort: Sort }) {
  const { change, sort, state } = props;
  const columns: [Sort, string][] = props.groups.total
    ? [
        ["self", "Own bytes"],
        ["total", "With callees"],
      ]
    : [["self", "Bytes"]];
  const cell = (key: Sort, label: string, kind: string) => (
    <th
      scope="col"
      class={kind}
      aria-sort={sort !== key ? "none" : state.isAscending ? "ascending" : "descending"}
    >
      <button
        onClick={() => change({ sort: key, isAscending: sort === key && !state.isAscending }, true)}
      >
        {label}
        <span aria-hidden="true" class="arrow">
          {sort === key ? (state.isAscending ? "▴" : "▾") : ""}
        </span>
      </button>
    </th>
  );
  return (
    <tr>
      {columns.map(([key, label]) => cell(key, label, "number"))}
      <th scope="col" class="interval">
        Interval
      </th>
      <th scope="col" class="number share">
        Share
      </th>
      <th scope="col" class="number objects">
        Objects
      </th>
      {cell("samples", "Samples", "number samples")}
      {cell("name", props.by[0]!.toUpperCase() + props.by.slice(1), "name")}
    </tr>
  );
}

function Row(props: TableProps & { line: Line; next: Line | undefined; most: number; sort: Sort }) {
  const { groups, line, selected, level, sort } = props;
  const sums = rowOf(sort === "total" && groups.total ? groups.total : groups.self, line.row);
  const share = shareOf(selected, sums, line.shown, level);
  const objects = rowObjects(selected, sums, level);
  const isOpen = isOrderOpen(line, props.next, sort, props.state.isAscending);
  const name = groups.name(line.row);
  const detail = groups.detail(line.row);
  const label = (
    <bdi title={name.length > LONGEST_NAME ? "" : name}>{elided(name, LONGEST_NAME)}</bdi>
  );
  const number = (estimate: Estimate) => (
    <td class="number">
      <Figure parts={figure(estimate, "bytes")} title={intervalText(estimate, "bytes", level)} />
    </td>
  );
  return (
    <tr>
      {number(line.self)}
      {line.total && number(line.total)}
      <td class="interval">
        <Bar estimate={line.shown} most={props.most} />
      </td>
      <td class="number share">
        <Figure parts={shareFigure(share)} />
      </td>
      <td class="number objects">
        <Figure parts={objectsFigure(line.shown, objects, sums[Sum.Certain]!)} />
      </td>
      <td class="number samples">{exactCount(samplesOf(sums, 0))}</td>
      <td class="name">
        {isOpen && (
          <span
            class="open"
            title="May belong on the other side of the next row: their intervals overlap."
            aria-label="order not certain"
          >
            ~
          </span>
        )}
        {props.onRow ? (
          <button class="link" title={props.rowHint} onClick={() => props.onRow!(line.row)}>
            {label}
          </button>
        ) : (
          label
        )}
        {detail && detail !== name && (
          <span class="detail">
            <bdi>{elided(detail, LONGEST_NAME)}</bdi>
          </span>
        )}
      </td>
    </tr>
  );
}

function tableCsv(props: TableProps, rows: number[]): string {
  const { groups, selected, level } = props;
  const head = [props.by, "detail", "bytes", "lo", "hi", "samples"];
  if (groups.total) head.push("total_bytes", "total_lo", "total_hi");
  return csvOf(
    head,
    rows.map((row) => {
      const self = rowBytes(selected, rowOf(groups.self, row), level);
      const cells: (string | number)[] = [
        groups.name(row),
        groups.detail(row),
        self.value,
        self.lo,
        self.hi,
        samplesOf(groups.self, row),
      ];
      if (!groups.total) return cells;
      const total = rowBytes(selected, rowOf(groups.total, row), level);
      return [...cells, total.value, total.lo, total.hi];
    }),
  );
}

/** More rows than this are not copied, and the button says so: each has its intervals to be made. */
const MOST_COPIED = 5000;

export function Table(props: TableProps) {
  const { groups, state, change } = props;
  const sort = sortOf(props);
  const [shownRows, setShownRows] = useState(PAGE_ROWS);
  const rows = useMemo(() => filtered(groups, state.filter), [groups, state.filter]);
  const compare = useMemo(
    () => orderOf(groups, sort, state.isAscending),
    [groups, sort, state.isAscending],
  );
  // One row more than is shown: the last one's order depends on it.
  const visible = useMemo(() => firstOf(rows, shownRows + 1, compare), [rows, shownRows, compare]);
  const lines = useLines(props, visible, sort);
  const most = Math.max(0, ...lines.map((line) => line.shown.hi));
  const isAnyOpen = lines
    .slice(0, shownRows)
    .some((line, i) => isOrderOpen(line, lines[i + 1], sort, state.isAscending));
  return (
    <>
      <div class="toolbar">
        <Filter
          by={props.by}
          value={state.filter}
          onChange={(filter) => change({ filter })}
        />
        <span class="faint">
          {plural(rows.length, "row")}
          {rows.length < groups.count && ` of ${exactCount(groups.count)}`}
        </span>
        <CopyButton
          label={
            rows.length > MOST_COPIED
              ? `Copy first ${exactCount(MOST_COPIED)} rows as CSV`
              : undefined
          }
          text={() => tableCsv(props, firstOf(rows, MOST_COPIED, compare))}
        />
      </div>
      {rows.length === 0 ? (
        <p class="nothing">
          {groups.count === 0 ? "No sample is in this selection." : "No row matches the filter."}
        </p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Table by ${props.by}`}>
          <table class="data">
            <thead>
              <Head {...props} sort={sort} />
            </thead>
            <tbody>
              {lines.slice(0, shownRows).map((line, i) => (
                <Row
                  key={groups.key(line.row)}
                  {...props}
                  line={line}
                  next={lines[i + 1]}
                  most={most}
                  sort={sort}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > shownRows && (
        <button class="more" onClick={() => setShownRows(shownRows + 4 * PAGE_ROWS)}>
          Show {exactCount(Math.min(4 * PAGE_ROWS, rows.length - shownRows))} more rows
        </button>
      )}
      {isAnyOpen && (
        <p class="note">~ may belong on the other side of the next row: their intervals overlap.</p>
      )}
    </>
  );
}
