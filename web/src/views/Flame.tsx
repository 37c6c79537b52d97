// The icicle: callees from the root, callers from the leaves, or both around one function.
import { useMemo } from "preact/hooks";
import type { Estimate } from "../data";
import { type Paint, ROW } from "../draw/painter";
import { fillFor, fillForError, type Palette, shadeOf } from "../draw/palette";
import { EstimateBook } from "../model/book";
import { shownNode } from "../model/groups";
import { objectsFigure, relativeError, rowObjects, shareOf } from "../model/measure";
import { elided, shortened } from "../model/names";
import { baseName, functionName, moduleName, type Page, placeOf } from "../model/page";
import type { Search } from "../model/search";
import { type Steps, STRETCH } from "../model/slices";
import type { Colour, Mode } from "../model/state";
import { CallTree, type Direction, isEmpty, ROOT } from "../model/tree";
import { figure, isExact, plural, shareFigure, textOf } from "../numbers/format";
import { bytesForOrder, Sum } from "../numbers/sums";
import { Breadcrumb } from "./Breadcrumb";
import type { ViewProps } from "./context";
import { Choice, Switch } from "./controls";
import { intervalText } from "./Figure";
import { FlameChart, useZoomed } from "./FlameChart";
import { Busy, Kept } from "./Kept";
import { SourceLines } from "./Source";

/** Half of the interval over the value, above which a box is hatched. */
const UNCERTAIN = 0.5;
const LETTER = 7;
/** A box that has nearly all of its parent's bytes repeats its whisker: drawn once is enough. */
const REPEATS = 0.995;

interface Painter {
  page: Page;
  tree: CallTree;
  book: EstimateBook;
  palette: Palette;
  colour: Colour;
  found: Search | undefined;
  rootName: string;
  /** By function: what is worked out of its name once. */
  fills: string[];
  short: string[];
}

function labelOf(painter: Painter, node: number, width: number): string {
  if (node === ROOT) return painter.rootName;
  const of = painter.tree.functions[node]!;
  const name = functionName(painter.page, of);
  return name.length * LETTER > width ? (painter.short[of] ??= shortened(name)) : name;
}

function fillOfFunction({ page, palette, colour }: Painter, of: number): string {
  const name = functionName(page, of);
  const family = colour === "module" ? baseName(moduleName(page, of)) : name;
  return fillFor(family, shadeOf(name), palette);
}

function fillOf(painter: Painter, node: number, estimate: Estimate | undefined): string {
  const { palette, colour, found } = painter;
  if (node === ROOT) return palette.root;
  const of = painter.tree.functions[node]!;
  if (found) return found.matches[of] ? palette.match : palette.rest;
  if (colour === "certainty") return fillForError(estimate ? relativeError(estimate) : 0, palette);
  return (painter.fills[of] ??= fillOfFunction(painter, of));
}

function paintOf(painter: Painter, node: number, width: number): Paint {
  const estimate = width > 3 ? painter.book.peek(node) : undefined;
  const isMatch =
    painter.found && node !== ROOT && painter.found.matches[painter.tree.functions[node]!];
  const { tree } = painter;
  const isRepeated =
    node !== ROOT && tree.weight(node) > REPEATS * tree.weight(tree.parents[node]!);
  const isOpen = estimate && !isExact(estimate) && estimate.value > 0 && !isRepeated;
  return {
    fill: fillOf(painter, node, estimate),
    text: isMatch ? painter.palette.matchText : painter.palette.text,
    label: labelOf(painter, node, width),
    isHatched: estimate !== undefined && relativeError(estimate) > UNCERTAIN,
    limits: isOpen ? [estimate.lo / estimate.value, estimate.hi / estimate.value] : undefined,
  };
}

interface ChartOfProps extends ViewProps {
  tree: CallTree;
  /** The root is the whole selection, not a part of it. */
  isWhole: boolean;
  rootName: string;
  name: string;
  zoomed: number;
  isFlame: boolean;
  tallest: number;
  onZoom: (node: number) => void;
  onPick: (node: number) => void;
}

function Facts(props: { props: ChartOfProps; book: EstimateBook; node: number }) {
  const { page, level, tree, rootName } = props.props;
  const { selected } = tree;
  const sums = tree.sums(props.node);
  const bytes = props.book.get(props.node);
  const share =
    props.node === ROOT && props.props.isWhole ? undefined : shareOf(selected, sums, bytes, level);
  const of = tree.functions[props.node]!;
  const objects = objectsFigure(bytes, rowObjects(selected, sums, level), sums[Sum.Certain]!);
  const frame = props.node === ROOT ? -1 : tree.frame(props.node);
  return (
    <>
      <p class="tooltip-name">
        <bdi>{props.node === ROOT ? rootName : elided(functionName(page, of), 400)}</bdi>
      </p>
      {props.node !== ROOT && (
        <p class="tooltip-place">
          {[baseName(moduleName(page, of)), placeOf(page, frame)].filter(Boolean).map((text) => (
            <bdi key={text}>{elided(text, 120)}</bdi>
          ))}
        </p>
      )}
      <p class="tooltip-figure">
        {textOf(figure(bytes, "bytes"))}
        {share && <span class="faint"> · {textOf(shareFigure(share))} of the total</span>}
      </p>
      <p class="faint">{intervalText(bytes, "bytes", level)}</p>
      <p class="faint">
        {textOf(objects)} objects
        {sums[Sum.Certain]! > 0 && `, ${plural(sums[Sum.Certain]!, "object")} recorded for certain`}
      </p>
    </>
  );
}

function ChartOf(props: ChartOfProps) {
  const { page, tree, level, palette, state, found } = props;
  const book = useMemo(() => new EstimateBook(tree, level, props.isWhole), [tree, level]);
  const { colour } = state;
  const { rootName } = props;
  const painter = useMemo(
    (): Painter => ({ page, tree, book, palette, found, colour, rootName, fills: [], short: [] }),
    [page, tree, book, palette, found, colour, rootName],
  );
  const describe = (node: number) => {
    const bytes = book.get(node);
    const name = node === ROOT ? rootName : functionName(page, tree.functions[node]!);
    const [, callees] = tree.children(node);
    return `${elided(name, 200)}: ${textOf(figure(bytes, "bytes"))}, ${intervalText(
      bytes,
      "bytes",
      level,
    )}, ${plural(callees, tree.direction === "callers" ? "caller" : "callee")}`;
  };
  return (
    <FlameChart
      name={props.name}
      page={page}
      tree={tree}
      zoomed={props.zoomed}
      isFlame={props.isFlame}
      palette={palette}
      look={painter}
      tallest={props.tallest}
      paintOf={(node, width) => paintOf(painter, node, width)}
      describe={describe}
      tooltip={(node) => <Facts props={props} book={book} node={node} />}
      onZoom={props.onZoom}
      onPick={props.onPick}
      settling={() => book.settling()}
    />
  );
}

/** The function with most bytes of its own: what mode "both" starts with. */
function* heaviestFunction(page: Page, props: ViewProps): Steps<number> {
  const { self } = props.selected;
  const weights = new Float64Array(page.functions);
  let heaviest = -1;
  for (let i = 1; i < page.nodes; ++i) {
    if (i % STRETCH === 0) yield;
    if (isEmpty(self, i)) continue;
    const shown = page.functionOf[shownNode(page, i, props.state.hidesPlumbing)]!;
    if (props.state.hidesPlumbing && page.isPlumbing[shown]) continue;
    weights[shown]! += bytesForOrder(self, i);
    if (heaviest < 0 || weights[shown]! > weights[heaviest]!) heaviest = shown;
  }
  return heaviest;
}

interface Around {
  /** Of the function wanted, or of the heaviest. */
  of: number;
  callers?: CallTree;
  callees?: CallTree;
}

/** What a flame graph shows: all, or what is around a function. */
export interface Trees {
  whole?: CallTree;
  around?: Around;
}

/** The function in the middle, as far as the reader chose one. */
function wantedFunction({ page, state }: ViewProps): number | undefined {
  const { focus, zoom } = state;
  return focus >= 0 && focus < page.functions ? focus : zoom.at(-1);
}

function* treesAround(props: ViewProps): Steps<Around> {
  const { page, selected, state } = props;
  const of = wantedFunction(props) ?? (yield* heaviestFunction(page, props));
  if (of < 0 || of >= page.functions) return { of };
  const around = (direction: Direction) =>
    CallTree.around(page, selected, of, direction, state.hidesPlumbing);
  return { of, callers: yield* around("callers"), callees: yield* around("callees") };
}

export function* treesOf(props: ViewProps): Steps<Trees> {
  const { page, selected, state } = props;
  if (state.mode === "both") return { around: yield* treesAround(props) };
  const of = state.mode === "callers" ? CallTree.ofCallers : CallTree.ofCallees;
  return { whole: yield* of.call(CallTree, page, selected, state.hidesPlumbing) };
}

/** What treesOf depends on, beside the page and the selection. */
export function treesDependOn(props: ViewProps): unknown[] {
  const { mode, hidesPlumbing } = props.state;
  return [mode, hidesPlumbing, mode === "both" ? wantedFunction(props) : undefined];
}

function Both(props: ViewProps & { around: Around }) {
  const { page, change } = props;
  const { of, callers, callees } = props.around;
  if (!callers || !callees || isEmpty(callees.sums(ROOT), 0)) {
    return <p class="nothing">Nothing of this function is in the selection.</p>;
  }
  const name = functionName(page, of);
  // Function -1 of a root stands for the function in the middle: staying there changes nothing.
  const pick = (tree: CallTree) => (node: number) => {
    if (node !== ROOT) change({ mode: "both", focus: tree.functions[node]! }, true);
  };
  return (
    <div class="both">
      <p class="faint">
        Callers of{" "}
        <b>
          <bdi>{elided(name, 120)}</bdi>
        </b>{" "}
        above, its callees below; choose another function to look at that.
      </p>
      <ChartOf
        {...props}
        name="Callers"
        tree={callers}
        rootName={name}
        zoomed={ROOT}
        isFlame={true}
        tallest={16 * ROW}
        isWhole={false}
        onZoom={pick(callers)}
        onPick={pick(callers)}
      />
      <ChartOf
        {...props}
        name="Callees"
        tree={callees}
        rootName={name}
        zoomed={ROOT}
        isFlame={false}
        tallest={24 * ROW}
        isWhole={false}
        onZoom={pick(callees)}
        onPick={pick(callees)}
      />
      <SourceLines {...props} functionIndex={of} />
    </div>
  );
}

function Whole(props: ViewProps & { tree: CallTree }) {
  const { page, state, change } = props;
  const at = useZoomed(page, props.tree, state.zoom);
  if (!at.value) return <Busy />;
  const { tree, zoomed } = at.value;
  const rootName = tree.direction === "callers" ? "all functions that allocate" : "all";
  if (isEmpty(tree.sums(ROOT), 0)) return <p class="nothing">No sample is in this selection.</p>;
  return (
    <Kept isBusy={at.isBusy}>
      <Breadcrumb {...props} path={tree.path(zoomed)} rootName={rootName} />
      <ChartOf
        {...props}
        name="Call tree"
        tree={tree}
        rootName={rootName}
        zoomed={zoomed}
        isFlame={state.isFlame}
        tallest={Math.max(320, Math.round(window.innerHeight * 0.72))}
        isWhole={true}
        onZoom={(node) => change({ zoom: tree.path(node) }, true)}
        onPick={(node) => {
          if (node !== ROOT) change({ mode: "both", focus: tree.functions[node]! }, true);
        }}
      />
    </Kept>
  );
}

export function Flame(props: ViewProps & { trees: Trees }) {
  const { state, change, trees } = props;
  return (
    <section aria-label="Flame graph">
      <div class="toolbar">
        <Choice<Mode>
          name="Direction"
          chosen={state.mode}
          choices={[
            ["callees", "Callees"],
            ["callers", "Callers"],
            ["both", "Both"],
          ]}
          onChoose={(mode) => change({ mode, zoom: mode === "both" ? state.zoom : [] }, true)}
        />
        {state.mode !== "both" && (
          <Choice<string>
            name="Orientation"
            chosen={state.isFlame ? "flame" : "icicle"}
            choices={[
              ["icicle", "Icicle"],
              ["flame", "Flame"],
            ]}
            onChoose={(shape) => change({ isFlame: shape === "flame" }, true)}
          />
        )}
        <Choice<Colour>
          name="Colour"
          chosen={state.colour}
          choices={[
            ["module", "Module"],
            ["function", "Function"],
            ["certainty", "Certainty"],
          ]}
          onChoose={(colour) => change({ colour })}
        />
        <Switch
          label="Hide plumbing"
          isOn={state.hidesPlumbing}
          title="Leaves out the frames of allocators, standard libraries and language runtimes"
          onChange={(hidesPlumbing) => change({ hidesPlumbing, zoom: [] }, true)}
        />
        <span class="legend faint">
          <i class="hatch" /> more than ± 50 % · <i class="whisker" /> interval
        </span>
      </div>
      {trees.around && <Both {...props} around={trees.around} />}
      {trees.whole && <Whole {...props} tree={trees.whole} />}
    </section>
  );
}
