// What all tables have in common: filter, count, copying, heads that sort, names, pages.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { elided } from "../model/names";
import type { Steps } from "../model/slices";
import type { Change } from "../model/state";
import { type Estimate, exactCount, plural } from "../numbers/arithmetic";
import { Head, Name, SearchField } from "./controls";
import { CopyButton } from "./CopyButton";
import { BytesFigure } from "./Figure";
import { Kept } from "./Kept";

const LONGEST_NAME = 300;

export function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

interface HeadCellProps<T extends string> {
  /** Absent: the table is not sorted by it. */
  by?: T | undefined;
  label: string;
  title?: string;
  kind: string;
  /** What the table is sorted by. */
  sort: T;
  isAscending: boolean;
  change: Change;
}

/** A click sorts by it, another one turns the order around. */
export function HeadCell<T extends string>(props: HeadCellProps<T>) {
  const { by, sort, isAscending, change, label, title } = props;
  if (by === undefined) return <Head {...props} />;
  const isIt = by === sort;
  return (
    <th
      scope="col"
      class={props.kind}
      title={title}
      aria-sort={!isIt ? "none" : isAscending ? "ascending" : "descending"}
    >
      <button onClick={() => change({ sort: by, isAscending: isIt && !isAscending }, true)}>
        {label}
        <span aria-hidden="true" class="arrow">
          {isIt ? (isAscending ? "▴" : "▾") : ""}
        </span>
      </button>
    </th>
  );
}

/** `kind` and `label`: what distinguishes it from other numbers of its row. */
export function BytesCell(props: { estimate: Estimate; level: number; kind?: string; label?: string }) {
  const { estimate, level, kind = "", label } = props;
  return (
    <td class={`number ${kind}`} data-label={label}>
      <BytesFigure estimate={estimate} level={level} />
    </td>
  );
}

interface NameCellProps {
  name: string;
  /** Where `name` is a shorter one. */
  whole?: string;
  detail: string;
  /** In front of the name. */
  children?: ComponentChildren;
  onClick?: (() => void) | undefined;
  hint?: string | undefined;
}

export function NameCell(props: NameCellProps) {
  const { name, whole = name, detail, onClick } = props;
  const label = (
    <Name text={elided(name, LONGEST_NAME)} title={whole.length > LONGEST_NAME ? "" : whole} />
  );
  return (
    <td class="name">
      {props.children}
      {onClick ? (
        <button class="link" title={props.hint} onClick={onClick}>
          {label}
        </button>
      ) : (
        label
      )}
      {detail && detail !== name && !name.startsWith(`${detail}+0x`) && (
        <span class="detail-line">
          <Name text={elided(detail, LONGEST_NAME)} />
        </span>
      )}
    </td>
  );
}

/** Rows of a page: as many as the browser lays out and paints in a frame. */
export const PAGE_ROWS = 30;

/** Which of the rows are shown. */
export interface Paging {
  first: number;
  onFirst: (row: number) => void;
}

/** The first page again whenever what is shown depends on something else. */
export function usePaging(of: readonly unknown[]): Paging {
  const [first, setFirst] = useState(0);
  const last = useRef(of);
  const isSame = of.every((part, i) => Object.is(part, last.current[i]));
  last.current = of;
  useLayoutEffect(() => {
    if (!isSame) setFirst(0);
  }, of);
  return { first: isSame ? first : 0, onFirst: setFirst };
}

function Pager(props: Paging & { rows: number }) {
  const { first, rows, onFirst } = props;
  if (rows <= PAGE_ROWS) return null;
  const last = Math.min(rows, first + PAGE_ROWS);
  return (
    <nav class="pager" aria-label="Pages of the table">
      <button class="quiet" disabled={first === 0} onClick={() => onFirst(first - PAGE_ROWS)}>
        ‹ Previous
      </button>
      <span class="faint" role="status">
        {exactCount(first + 1)} to {exactCount(last)} of {plural(rows, "row")}
      </span>
      <button class="quiet" disabled={last === rows} onClick={() => onFirst(last)}>
        Next ›
      </button>
    </nav>
  );
}

interface TableFrameProps {
  /** What a row is: "function". */
  by: string;
  label: string;
  filter: string;
  change: Change;
  /** Rows that the filter leaves, and of how many. */
  rows: number;
  of: number;
  paging: Paging;
  isBusy: boolean;
  csv: (onRow: (made: number) => void) => Steps<string[]>;
  head: ComponentChildren;
  /** The rows of the page. */
  children: ComponentChildren;
}

export function TableFrame(props: TableFrameProps) {
  const { by, filter, change, rows, of, paging } = props;
  const place = useRef<HTMLDivElement>(null);
  const turn = (first: number) => {
    paging.onFirst(first);
    place.current!.scrollIntoView({ block: "nearest" });
  };
  return (
    <>
      <div class="toolbar" ref={place}>
        <SearchField
          label={`Filter ${by}s`}
          value={filter}
          onChange={(text) => change({ filter: text })}
        />
        <span class="faint">
          {plural(rows, "row")}
          {rows < of && ` of ${exactCount(of)}`}
        </span>
        <CopyButton text={props.csv} rows={rows} />
      </div>
      <Kept isBusy={props.isBusy}>
        {rows === 0 ? (
          <p class="nothing">
            {of === 0 ? "No samples in this selection." : "No row matches the filter."}
          </p>
        ) : (
          <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
            <table class="data">
              <thead>
                <tr>{props.head}</tr>
              </thead>
              <tbody>{props.children}</tbody>
            </table>
          </div>
        )}
        <Pager first={paging.first} onFirst={turn} rows={rows} />
      </Kept>
    </>
  );
}
