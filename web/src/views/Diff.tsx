// A comparison: what grew, what shrank, and how sure that is. Colour means significance.
import { useState } from "preact/hooks";
import type { Diff, DiffRow, Limited } from "../data";
import type { Paint } from "../draw/painter";
import type { Palette } from "../draw/palette";
import { DiffTree } from "../model/difftree";
import { elided, printable } from "../model/names";
import { baseName, functionName, moduleName, nameAt, type Page } from "../model/page";
import type { Search } from "../model/search";
import type { Change, State } from "../model/state";
import { changeFigure, figure, plural, probabilityOf, textOf } from "../numbers/arithmetic";
import { chainOf, joinedNames } from "./boxes";
import { Breadcrumb } from "./Breadcrumb";
import { Choice } from "./controls";
import { DiffTable, toneOf, Verdict } from "./DiffTable";
import { type Box, FlameChart, useFound } from "./FlameChart";
import { Busy } from "./Kept";
import { useSteps } from "./slices";

interface DiffProps {
  page: Page;
  diff: Diff;
  state: State;
  change: Change;
  level: number;
  palette: Palette;
  found: Search | undefined;
}

interface NodeFacts {
  before: Limited;
  after: Limited;
  delta: Limited;
  q: number;
  verdict: string;
}

function factsOf(page: Page, diff: Diff, row: number): NodeFacts | undefined {
  if (row < 0) return undefined;
  const { nodes } = diff;
  return {
    before: { value: nodes.before[row]!, lo: nodes.beforeLo[row]!, hi: nodes.beforeHi[row]! },
    after: { value: nodes.after[row]!, lo: nodes.afterLo[row]!, hi: nodes.afterHi[row]! },
    delta: { value: nodes.delta[row]!, lo: nodes.lo[row]!, hi: nodes.hi[row]! },
    q: nodes.q[row]!,
    verdict: nameAt(page, nodes.verdict[row]!),
  };
}

function factsOfTotal({ total }: Diff): NodeFacts {
  return { ...total, verdict: printable(total.verdict) };
}

/** Bytes that it changed by at least, in the direction that it did. */
function certainOf({ delta }: NodeFacts): number {
  return Math.max(0, delta.value > 0 ? delta.lo : -delta.hi);
}

function sideText({ value, lo, hi }: Limited): string {
  const samples = value > 0 ? 1 : 0;
  return textOf(figure({ value, lo, hi, samples, variance: 0, exact: 0 }, "bytes"));
}

function changeText(facts: NodeFacts): string {
  return `${textOf(changeFigure(facts.delta.value, facts.delta))}, ${facts.verdict}, ${probabilityOf("q", facts.q)}`;
}

function Icicle(props: DiffProps) {
  const made = useSteps(() => DiffTree.of(props.page, props.diff), [props.page, props.diff]);
  return made.value ? <IcicleOf {...props} tree={made.value} /> : <Busy />;
}

function IcicleOf(props: DiffProps & { tree: DiffTree }) {
  const { page, diff, state, change, level, palette, found } = props;
  const at = useFound(page, props.tree, state.zoom, state.chosen);
  if (!at.value) return <Busy />;
  const { tree, zoomed, chosen } = at.value;
  const facts = (node: number) =>
    node === 0 ? factsOfTotal(diff) : factsOf(page, diff, tree.rowOf(node));
  const nameOf = (node: number) =>
    node === 0 ? "all changes" : functionName(page, tree.functionOf(node));
  /** Of a chain its own code, where it has any. */
  const namesIn = (box: Box) => {
    const chain = box.node === 0 ? [0] : chainOf(tree.parents, box);
    const own = chain.filter((node) => node === 0 || !page.isLibrary[tree.functionOf(node)]);
    return joinedNames(own.length > 0 ? own : chain, nameOf);
  };
  const paintOf = (box: Box): Paint => {
    const { node, width } = box;
    const known = facts(node);
    const tone = known ? toneOf(known, level) : "unsure";
    const isMatch = found && node > 0 && found.matches[tree.functionOf(node)];
    return {
      tones: found ? (isMatch ? palette.match : palette.miss) : palette[tone],
      text: isMatch ? palette.matchText : palette.text,
      names: namesIn(box),
      place: "",
      figure: known && width > 150 ? textOf(changeFigure(known.delta.value, known.delta)) : "",
      sure: known ? certainOf(known) / tree.weight(node) : 0,
      isBold: node === chosen,
      isDim: false,
    };
  };
  const describe = (node: number) => {
    const known = facts(node);
    return `${elided(nameOf(node), 200)}: ${known ? changeText(known) : "no change known"}`;
  };
  if (!(tree.weight(0) > 0)) return <p class="nothing">Nothing changed.</p>;
  return (
    <>
      <Breadcrumb page={page} path={tree.path(zoomed)} rootName="all changes" change={change} />
      <FlameChart
        name="Changes"
        page={page}
        tree={tree}
        zoomed={zoomed}
        isFlame={state.isFlame}
        palette={palette}
        look={`${chosen}${found ? state.search : ""}`}
        chosen={chosen}
        paintOf={paintOf}
        describe={describe}
        tallest={520}
        onChoose={(node) => change({ chosen: tree.path(node) }, true)}
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
                    {sideText(known.before)} before, {sideText(known.after)} after
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

/** What of a kind is there more or less of. */
const VERBS: Record<string, string> = {
  allocated: "allocated",
  live: "held",
  "live at the end": "held",
  "live at the peak": "held",
};

/** The function that surely changed most, in a sentence. */
function DiffFinding({ diff, level }: { diff: Diff; level: number }) {
  const rows = diff.tables.find(({ by }) => by === "function")?.rows ?? diff.tables[0]?.rows ?? [];
  const size = (row: DiffRow) => Math.abs(row.delta.value);
  const sure = rows.filter((row) => toneOf(row, level) !== "unsure");
  const [most] = sure.sort((a, b) => size(b) - size(a));
  if (!most) return <>No function changed significantly.</>;
  const { value, lo, hi } = most.delta;
  const isLess = value < 0;
  const change = isLess ? { value: -value, lo: -hi, hi: -lo } : { value, lo, hi };
  const shown = changeFigure(change.value, change);
  const text = shown.value.replace(/^\+/, "");
  return (
    <>
      <strong>
        <bdi>{elided(printable(most.shortName ?? most.name), 120)}</bdi>
      </strong>{" "}
      {most.place && (
        <>
          (<bdi>{printable(most.place)}</bdi>){" "}
        </>
      )}
      {VERBS[diff.kind] ?? "has"} <strong>{text}</strong>{" "}
      <span class="interval">{shown.error.replace(/\+/g, "")}</span> {isLess ? "less" : "more"} than
      before.
    </>
  );
}

function DiffTotal(props: DiffProps) {
  const { diff, level } = props;
  const { counted: total = diff.total } = diff;
  const shown = changeFigure(total.delta.value, total.delta);
  const side = (names: string[]) =>
    names.length > 3
      ? `${plural(names.length, "run")}, ${printable(names[0]!)} …`
      : names.map(printable).join(", ");
  return (
    <div class="finding">
      <h1>
        <DiffFinding diff={diff} level={level} />
      </h1>
      <p>
        Total: <strong>{shown.value}</strong> <span class="interval">{shown.error}</span>{" "}
        <Verdict row={total} level={level} />{" "}
        <span class="interval">({probabilityOf("q", total.q)})</span>
      </p>
      <p class="interval">
        {textOf(figure(total.before, "bytes"))} before (<bdi>{side(diff.before)}</bdi>),{" "}
        {textOf(figure(total.after, "bytes"))} after (<bdi>{side(diff.after)}</bdi>)
      </p>
    </div>
  );
}

export function DiffView(props: DiffProps) {
  const { diff, level } = props;
  const [by, setBy] = useState(diff.tables[0]?.by ?? "");
  const table = diff.tables.find((candidate) => candidate.by === by) ?? diff.tables[0];
  return (
    <>
      <section aria-label="Comparison">
        <DiffTotal {...props} />
      </section>
      <section class="card views" aria-label="Changes">
        <div class="toolbar">
          <span class="legend faint">
            width: |change|, dark: at least · <i class="swatch grew" /> grew{" "}
            <i class="swatch shrank" /> shrank, q &lt; {Number((1 - level).toPrecision(3))} ·{" "}
            <i class="swatch unsure" /> within chance
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
          <DiffTable key={table.by} {...props} rows={table.rows} by={table.by} />
        </section>
      )}
    </>
  );
}
