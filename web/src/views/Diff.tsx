// A comparison: what grew, what shrank, and how sure that is. Colour means significance.
import { useMemo, useState } from "preact/hooks";
import type { Diff, DiffRow } from "../data";
import type { Paint } from "../draw/painter";
import type { Palette } from "../draw/palette";
import { csvOf } from "../model/csv";
import { DiffTree } from "../model/difftree";
import { elided, printable, shortened } from "../model/names";
import { baseName, functionName, moduleName, nameAt, type Page } from "../model/page";
import { expressionOf, type Search } from "../model/search";
import type { State } from "../model/state";
import {
  changeFigure,
  exactBytes,
  exactCount,
  figure,
  plural,
  probability,
  probabilityOf,
  textOf,
} from "../numbers/format";
import { Choice, Filter } from "./controls";
import { CopyButton } from "./CopyButton";
import { Figure, intervalText } from "./Figure";
import { FlameChart } from "./FlameChart";

interface DiffProps {
  page: Page;
  diff: Diff;
  state: State;
  change: (part: Partial<State>, isStep?: boolean) => void;
  level: number;
  palette: Palette;
  found: Search | undefined;
}

const PAGE_ROWS = 80;

function isSure(q: number, level: number): boolean {
  return q < 1 - level;
}

function toneOf(row: { q: number; delta: { value: number } }, level: number): string {
  if (!isSure(row.q, level)) return "unsure";
  return row.delta.value > 0 ? "grew" : "shrank";
}

interface NodeFacts {
  before: number;
  after: number;
  delta: { value: number; lo: number; hi: number };
  q: number;
  verdict: string;
}

function factsOf(page: Page, diff: Diff, row: number): NodeFacts | undefined {
  if (row < 0) return undefined;
  const { nodes } = diff;
  return {
    before: nodes.before[row]!,
    after: nodes.after[row]!,
    delta: { value: nodes.delta[row]!, lo: nodes.lo[row]!, hi: nodes.hi[row]! },
    q: nodes.q[row]!,
    verdict: nameAt(page, nodes.verdict[row]!),
  };
}

function factsOfTotal({ total }: Diff): NodeFacts {
  const { delta, q, verdict } = total;
  return {
    before: total.before.value,
    after: total.after.value,
    delta,
    q,
    verdict: printable(verdict),
  };
}

function changeText(facts: NodeFacts): string {
  return `${textOf(changeFigure(facts.delta.value, facts.delta))}, ${facts.verdict}, ${probabilityOf("q", facts.q)}`;
}

function Icicle(props: DiffProps) {
  const { page, diff, state, change, level, palette, found } = props;
  const tree = useMemo(() => new DiffTree(page, diff), [page, diff]);
  const zoomed = useMemo(() => tree.find(state.zoom), [tree, state.zoom]);
  const facts = (node: number) =>
    node === 0 ? factsOfTotal(diff) : factsOf(page, diff, tree.rowOf(node));
  const nameOf = (node: number) =>
    node === 0 ? "all changes" : functionName(page, tree.functionOf(node));
  const paintOf = (node: number, width: number): Paint => {
    const known = facts(node);
    const tone = known ? toneOf(known, level) : "unsure";
    const isMatch = found && node > 0 && found.matches[tree.functionOf(node)];
    const name = nameOf(node);
    return {
      fill: found
        ? isMatch
          ? palette.match
          : palette.rest
        : palette[tone as "grew" | "shrank" | "unsure"],
      text: isMatch ? palette.matchText : palette.text,
      label: name.length * 7 > width ? shortened(name) : name,
      isHatched: false,
      limits: undefined,
    };
  };
  const describe = (node: number) => {
    const known = facts(node);
    return `${elided(nameOf(node), 200)}: ${known ? changeText(known) : "no change known"}`;
  };
  if (!(tree.weight(0) > 0)) return <p class="nothing">Nothing changed.</p>;
  return (
    <>
      {state.zoom.length > 0 && (
        <nav class="crumbs" aria-label="Zoom">
          <button onClick={() => change({ zoom: [] }, true)}>all changes</button>
          <span class="faint"> › </span>
          <b>
            <bdi>{elided(shortened(nameOf(zoomed)), 60)}</bdi>
          </b>
        </nav>
      )}
      <FlameChart
        name="Changes"
        tree={tree}
        zoomed={zoomed}
        isFlame={state.isFlame}
        palette={palette}
        look={found}
        paintOf={paintOf}
        describe={describe}
        tallest={520}
        onZoom={(node) => change({ zoom: tree.path(node) }, true)}
        tooltip={(node) => {
          const known = facts(node);
          return (
            <>
              <p class="tooltip-name">
                <bdi>{elided(nameOf(node), 400)}</bdi>
              </p>
              {node > 0 && (
                <p class="tooltip-place">
                  <bdi>{baseName(moduleName(page, tree.functionOf(node)))}</bdi>
                </p>
              )}
              {known && (
                <>
                  <p class="tooltip-figure">
                    {textOf(changeFigure(known.delta.value, known.delta))}
                  </p>
                  <p class="faint">
                    {exactBytes(known.before)} before, {exactBytes(known.after)} after
                  </p>
                  <p class="faint">
                    {known.verdict} · {probabilityOf("q", known.q)}
                  </p>
                </>
              )}
            </>
          );
        }}
      />
    </>
  );
}

/** A change around zero, with its interval. */
function ChangeBar(props: { delta: DiffRow["delta"]; most: number; tone: string }) {
  const { delta, most } = props;
  const at = (bytes: number) => 50 + 50 * Math.min(1, Math.max(-1, most > 0 ? bytes / most : 0));
  const left = Math.min(50, at(delta.value));
  return (
    <span class="bar change" aria-hidden="true">
      <span
        class={`bar-value ${props.tone}`}
        style={{ left: `${left}%`, width: `${Math.abs(at(delta.value) - 50)}%` }}
      />
      <span
        class="bar-limits"
        style={{ left: `${at(delta.lo)}%`, width: `${at(delta.hi) - at(delta.lo)}%` }}
      />
      <span class="bar-zero" />
    </span>
  );
}

const ORDERS = {
  change: (a: DiffRow, b: DiffRow) => Math.abs(b.delta.value) - Math.abs(a.delta.value),
  q: (a: DiffRow, b: DiffRow) => a.q - b.q || Math.abs(b.delta.value) - Math.abs(a.delta.value),
  before: (a: DiffRow, b: DiffRow) => b.before.value - a.before.value,
  after: (a: DiffRow, b: DiffRow) => b.after.value - a.after.value,
  name: (a: DiffRow, b: DiffRow) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
};
type Order = keyof typeof ORDERS;

function Verdict(props: { row: DiffRow; level: number }) {
  const tone = toneOf(props.row, props.level);
  return <span class={`verdict ${tone}`}>{printable(props.row.verdict)}</span>;
}

function DiffLine(props: { row: DiffRow; most: number; level: number }) {
  const { row, most, level } = props;
  const number = (estimate: DiffRow["before"]) => (
    <td class="number">
      <Figure parts={figure(estimate, "bytes")} title={intervalText(estimate, "bytes", level)} />
    </td>
  );
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
      <td class="number">{probability(row.q)}</td>
      {number(row.before)}
      {number(row.after)}
      <td class="name">
        <bdi>{elided(printable(row.name), 300)}</bdi>
        {row.detail && (
          <span class="detail">
            <bdi>{elided(printable(row.detail), 300)}</bdi>
          </span>
        )}
      </td>
    </tr>
  );
}

function csvOfRows(rows: DiffRow[], by: string): string {
  const head = [by, "detail", "verdict", "change", "lo", "hi", "q", "before", "after"];
  return csvOf(
    head,
    rows.map((row) => [
      row.name,
      row.detail,
      row.verdict,
      row.delta.value,
      row.delta.lo,
      row.delta.hi,
      row.q,
      row.before.value,
      row.after.value,
    ]),
  );
}

function Rows(props: DiffProps & { rows: DiffRow[]; by: string }) {
  const { state, change, level } = props;
  const order: Order = state.sort in ORDERS ? (state.sort as Order) : "change";
  const [shown, setShown] = useState(PAGE_ROWS);
  const rows = useMemo(() => {
    const { test } = expressionOf(state.filter);
    const kept = props.rows.filter(
      (row) => state.filter === "" || test(row.name) || test(row.detail),
    );
    kept.sort(ORDERS[order]);
    return state.isAscending ? kept.reverse() : kept;
  }, [props.rows, state.filter, order, state.isAscending]);
  const most = Math.max(
    0,
    ...rows
      .slice(0, shown)
      .map((row) =>
        Math.min(
          Math.max(Math.abs(row.delta.lo), Math.abs(row.delta.hi)),
          2 * Math.abs(row.delta.value),
        ),
      ),
  );
  const head = (key: Order, label: string, kind: string) => (
    <th
      scope="col"
      class={kind}
      aria-sort={order !== key ? "none" : state.isAscending ? "ascending" : "descending"}
    >
      <button
        onClick={() =>
          change({ sort: key, isAscending: order === key && !state.isAscending }, true)
        }
      >
        {label}
        <span aria-hidden="true" class="arrow">
          {order === key ? (state.isAscending ? "▴" : "▾") : ""}
        </span>
      </button>
    </th>
  );
  return (
    <>
      <div class="toolbar">
        <Filter
          by={props.by}
          value={state.filter}
          onChange={(filter) => change({ filter })}
        />
        <span class="faint">{plural(rows.length, "row")}</span>
        <CopyButton text={() => csvOfRows(rows, props.by)} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Changes by ${props.by}`}>
        <table class="data">
          <thead>
            <tr>
              {head("change", "Change", "number")}
              <th scope="col" class="interval">
                Interval
              </th>
              <th scope="col">Verdict</th>
              {head("q", "q", "number")}
              {head("before", "Before", "number")}
              {head("after", "After", "number")}
              {head("name", props.by[0]!.toUpperCase() + props.by.slice(1), "name")}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, i) => (
              <DiffLine key={i} row={row} most={most} level={level} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown && (
        <button class="more" onClick={() => setShown(shown + 4 * PAGE_ROWS)}>
          Show {exactCount(Math.min(4 * PAGE_ROWS, rows.length - shown))} more rows
        </button>
      )}
    </>
  );
}

function DiffTotal(props: DiffProps) {
  const { diff, level } = props;
  const { total } = diff;
  const shown = changeFigure(total.delta.value, total.delta);
  const side = (names: string[]) =>
    names.length > 3
      ? `${plural(names.length, "run")}, ${printable(names[0]!)} …`
      : names.map(printable).join(", ");
  return (
    <div class="total">
      <p class="total-name">Change of what was {printable(diff.kind)}</p>
      <p class="total-value">
        {shown.value} <span class="error">{shown.error}</span>
      </p>
      <p>
        <Verdict row={total} level={level} />{" "}
        <span class="faint">{probabilityOf("q", total.q)}</span>
      </p>
      <p class="faint">
        {textOf(figure(total.before, "bytes"))} before (<bdi>{side(diff.before)}</bdi>),{" "}
        {textOf(figure(total.after, "bytes"))} after (<bdi>{side(diff.after)}</bdi>)
      </p>
    </div>
  );
}

export function DiffView(props: DiffProps) {
  const { diff, level, state, change } = props;
  const [by, setBy] = useState(diff.tables[0]?.by ?? "");
  const table = diff.tables.find((candidate) => candidate.by === by) ?? diff.tables[0];
  return (
    <>
      <section class="card head" aria-label="Comparison">
        <DiffTotal {...props} />
      </section>
      <section class="card views" aria-label="Changes">
        <div class="toolbar">
          <input
            id="search"
            type="search"
            placeholder="Search functions (regular expression)   /"
            aria-label="Search functions, a regular expression"
            value={state.search}
            onInput={(event) => change({ search: event.currentTarget.value })}
          />
          <span class="legend faint">
            width: |change| · <i class="swatch grew" /> grew <i class="swatch shrank" /> shrank, q
            &lt; {Number((1 - level).toPrecision(3))} · <i class="swatch unsure" /> within chance
          </span>
        </div>
        <Icicle {...props} />
      </section>
      {table && (
        <section class="card" aria-label="Tables of changes">
          {diff.tables.length > 1 && (
            <Choice
              name="Table by"
              chosen={table.by}
              onChoose={setBy}
              choices={diff.tables.map((candidate) => [
                candidate.by,
                `By ${printable(candidate.by)}`,
              ])}
            />
          )}
          <Rows key={table.by} {...props} rows={table.rows} by={table.by} />
        </section>
      )}
    </>
  );
}
