// The flame graph: callees from the root, callers from the leaves, or both around one function.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ROW } from "../draw/painter";
import { EstimateBook } from "../model/book";
import { elided } from "../model/names";
import { fullName, functionName, shownNode } from "../model/page";
import { type Steps, STRETCH } from "../model/slices";
import { type Colour, COLOURS, type Mode } from "../model/state";
import { CallTree, type Direction, ROOT } from "../model/tree";
import { rowBytes } from "../model/measure";
import { exactCount, figure, plural, textOf } from "../numbers/arithmetic";
import { bytesForOrder, emptySums, isEmpty, merge } from "../numbers/sums";
import { actionsFor, Menu, type MenuAt } from "./actions";
import { limitsOf, nameOf, type Painter, paintOf } from "./boxes";
import { Breadcrumb } from "./Breadcrumb";
import type { ViewProps } from "./context";
import { Choice, Switch } from "./controls";
import { Detail } from "./Detail";
import { intervalText } from "./Figure";
import { FlameChart, useFound } from "./FlameChart";
import { FrameFacts } from "./FrameFacts";
import { Busy, Kept } from "./Kept";
import { SourceLines } from "./Source";

/** Rows of boxes before the chart scrolls. */
const MOST_ROWS = 14;
const LEAST_ROWS = 8;
/** What stands above the chart of a whole page, and of the detail below it what shows its figures. */
const BESIDE_CHART = 660;

function heightOfChart(): number {
  return Math.min(MOST_ROWS * ROW, Math.max(LEAST_ROWS * ROW, window.innerHeight - BESIDE_CHART));
}

/** How tall a chart may be so that the detail below it is in view. */
function useTallest(): number {
  const [tallest, setTallest] = useState(heightOfChart);
  useEffect(() => {
    const measure = () => setTallest(heightOfChart());
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  return tallest;
}

interface ChartOfProps extends ViewProps {
  tree: CallTree;
  /** The root is the whole selection, not a part of it. */
  isWhole: boolean;
  rootName: string;
  name: string;
  zoomed: number;
  chosen: number;
  isRevealed?: boolean;
  isFlame: boolean;
  tallest: number;
  book: EstimateBook;
  onChoose: (node: number) => void;
  onZoom: (node: number) => void;
  onPick: (node: number) => void;
}

/** Of children too narrow to be drawn. */
function RestFacts(props: { tree: CallTree; level: number; first: number; count: number }) {
  const { tree, level, first, count } = props;
  const sums = emptySums();
  for (let i = first; i < first + count; ++i) merge(sums, 0, tree.sums(i), 0);
  const bytes = rowBytes(tree.selected, sums, level);
  return (
    <>
      <p class="tooltip-figure">
        {exactCount(count)} small, {textOf(figure(bytes, "bytes"))}
      </p>
      <p class="faint">{intervalText(bytes, "bytes", level)}</p>
      <p class="faint">Zoom in to see them</p>
    </>
  );
}

function ChartOf(props: ChartOfProps) {
  const { page, tree, level, palette, state, found, book, rootName, chosen } = props;
  const { colour } = state;
  const [menu, setMenu] = useState<MenuAt>();
  const painter = useMemo(
    (): Painter => ({ page, tree, book, palette, found, colour, rootName, chosen, tones: [] }),
    [page, tree, book, palette, found, colour, rootName, chosen],
  );
  const describe = (node: number) => {
    const bytes = book.get(node);
    const [, callees] = tree.children(node);
    return `${elided(nameOf(painter, node), 200)}: ${textOf(figure(bytes, "bytes"))}, ${intervalText(
      bytes,
      "bytes",
      level,
    )}, ${plural(callees, tree.direction === "callers" ? "caller" : "callee")}`;
  };
  return (
    <>
      <FlameChart
        name={props.name}
        page={page}
        tree={tree}
        zoomed={props.zoomed}
        chosen={chosen}
        isRevealed={props.isRevealed ?? false}
        isFlame={props.isFlame}
        palette={palette}
        look={painter}
        tallest={props.tallest}
        paintOf={(box) => paintOf(painter, box)}
        describe={describe}
        tooltip={(node) => (
          <FrameFacts {...props} node={node} isWhole={props.isWhole} rootName={rootName} />
        )}
        tooltipOfRest={(first, count) => (
          <RestFacts tree={tree} level={level} first={first} count={count} />
        )}
        limitsOf={(node) => limitsOf(book, node)}
        onChoose={props.onChoose}
        onZoom={props.onZoom}
        onPick={props.onPick}
        onMenu={(node, x, y) => setMenu({ x, y, node })}
        settling={() => book.settling()}
      />
      {menu && (
        <Menu
          at={menu}
          actions={actionsFor(props, tree, menu.node)}
          onClose={() => setMenu(undefined)}
        />
      )}
    </>
  );
}

/** The function with most bytes of its own: what mode "both" starts with. */
function* heaviestFunction({ selected }: ViewProps): Steps<number> {
  const { page, self } = selected;
  const weights = new Float64Array(page.functions);
  let heaviest = -1;
  for (let i = 1; i < page.nodes; ++i) {
    if (i % STRETCH === 0) yield;
    if (isEmpty(self, i)) continue;
    const shown = page.functionOf[shownNode(page, i)]!;
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
  const { around, zoom } = state;
  return around >= 0 && around < page.functions ? around : zoom.at(-1);
}

function* treesAround(props: ViewProps): Steps<Around> {
  const { page, selected } = props;
  const of = wantedFunction(props) ?? (yield* heaviestFunction(props));
  if (of < 0 || of >= page.functions) return { of };
  const around = (direction: Direction) => CallTree.around(page, selected, of, direction);
  return { of, callers: yield* around("callers"), callees: yield* around("callees") };
}

export function* treesOf(props: ViewProps): Steps<Trees> {
  const { page, selected, state } = props;
  if (state.mode === "both") return { around: yield* treesAround(props) };
  const of = state.mode === "callers" ? CallTree.ofCallers : CallTree.ofCallees;
  return { whole: yield* of.call(CallTree, page, selected) };
}

/** What treesOf depends on, beside the page and the selection. */
export function treesDependOn(props: ViewProps): unknown[] {
  const { mode } = props.state;
  return [mode, mode === "both" ? wantedFunction(props) : undefined];
}

function AroundChart(
  props: ViewProps & { tree: CallTree; name: string; rootName: string; rows: number },
) {
  const { tree, level, change } = props;
  const book = useMemo(() => new EstimateBook(tree, level, false), [tree, level]);
  // Function -1 of a root stands for the function in the middle: staying there changes nothing.
  const pick = (node: number) => {
    if (node !== ROOT) change({ mode: "both", around: tree.functions[node]! }, true);
  };
  return (
    <ChartOf
      {...props}
      book={book}
      zoomed={ROOT}
      chosen={-1}
      isFlame={tree.direction === "callers"}
      tallest={props.rows * ROW}
      isWhole={false}
      onChoose={pick}
      onZoom={pick}
      onPick={pick}
    />
  );
}

function Both(props: ViewProps & { around: Around }) {
  const { page } = props;
  const { of, callers, callees } = props.around;
  if (!callers || !callees || isEmpty(callees.sums(ROOT), 0)) {
    return <p class="nothing">This function is not in the selection.</p>;
  }
  const name = functionName(page, of);
  return (
    <div class="both">
      <p class="faint">
        Callers of{" "}
        <b title={elided(fullName(page, of), 400)}>
          <bdi>{elided(name, 120)}</bdi>
        </b>{" "}
        above, its callees below; choose another function to look at that.
      </p>
      <AroundChart {...props} name="Callers" tree={callers} rootName={name} rows={10} />
      <AroundChart {...props} name="Callees" tree={callees} rootName={name} rows={MOST_ROWS} />
      <SourceLines {...props} functionIndex={of} />
    </div>
  );
}

/** "All of the peak". */
function rootNameOf({ selected, state }: ViewProps): string {
  if (state.mode === "callers") return "All functions that allocate";
  const { profile, stacks } = selected;
  if (stacks) return "Stacks kept by focus and ignore";
  if (profile.kind === "peak") return "All of the peak";
  if (profile.kind === "allocated") return "All allocated";
  if (profile.kind.startsWith("mapped")) return "All mapped";
  // The resident set has more than the heap: its largest total is another number.
  if (profile.kind === "resident") return "Resident part of the live heap";
  return profile.kind === "live" ? "All live" : "All";
}

const NO_PATH: number[] = [];

function Whole(props: ViewProps & { tree: CallTree }) {
  const { page, state, change, finding, level } = props;
  const isOfFinding = state.chosen.length === 0 && props.tree.direction === "callees";
  const wanted = isOfFinding ? (finding?.path ?? NO_PATH) : state.chosen;
  const at = useFound(page, props.tree, state.zoom, wanted);
  const tallest = useTallest();
  const tree = at.value?.tree ?? props.tree;
  const book = useMemo(() => new EstimateBook(tree, level, true), [tree, level]);
  if (!at.value) return <Busy />;
  const { zoomed, chosen } = at.value;
  const rootName = rootNameOf(props);
  if (isEmpty(tree.sums(ROOT), 0)) return <p class="nothing">No samples in this selection.</p>;
  const zoom = (node: number) => change({ zoom: tree.path(node) }, true);
  return (
    <Kept isBusy={at.isBusy}>
      <Breadcrumb {...props} path={tree.path(zoomed)} rootName={rootName} />
      <ChartOf
        {...props}
        name="Call tree"
        tree={tree}
        book={book}
        rootName={rootName}
        zoomed={zoomed}
        chosen={chosen}
        isRevealed={!isOfFinding}
        isFlame={state.isFlame}
        tallest={tallest}
        isWhole={true}
        onChoose={(node) => (node === ROOT ? zoom(node) : change({ chosen: tree.path(node) }, true))}
        onZoom={zoom}
        onPick={(node) => {
          if (node !== ROOT) change({ mode: "both", around: tree.functions[node]! }, true);
        }}
      />
      {chosen > 0 && <Detail {...props} tree={tree} book={book} node={chosen} />}
    </Kept>
  );
}

/** What is folded, and the way to see it. */
function Folding({ page, state, change }: ViewProps) {
  const show = (showsAll: boolean) => change({ showsAll, zoom: [], chosen: [] }, true);
  if (state.showsAll) {
    return (
      <span class="faint">
        All frames.{" "}
        <button class="text-link" onClick={() => show(false)}>
          Fold library code
        </button>
      </span>
    );
  }
  if (page.hidden === 0) return null;
  return (
    <span class="faint">
      {exactCount(page.hidden)} <span class="wide">library and start-up </span>
      {page.hidden === 1 ? "frame is" : "frames are"} folded.{" "}
      <button class="text-link" onClick={() => show(true)}>
        Show them
      </button>
    </span>
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
          onChoose={(mode) =>
            change({ mode, chosen: [], zoom: mode === "both" ? state.zoom : [] }, true)
          }
        />
        <Folding {...props} />
        <span class="legend faint">
          <span>
            <i class="swatch own" /> at least
          </span>
          <span>
            <i class="swatch own-pale" /> up to the estimate
          </span>
          <span class="wide">
            <i class="swatch called" /> library call
          </span>
        </span>
        <label>
          Colour by{" "}
          <select
            value={state.colour}
            onChange={(event) => change({ colour: event.currentTarget.value as Colour })}
          >
            {COLOURS.map((colour) => (
              <option key={colour} value={colour}>
                {colour}
              </option>
            ))}
          </select>
        </label>
        <Switch
          label="Root at the bottom"
          isOn={state.isFlame}
          onChange={(isFlame) => change({ isFlame }, true)}
        />
      </div>
      {trees.around && <Both {...props} around={trees.around} />}
      {trees.whole && <Whole {...props} tree={trees.whole} />}
    </section>
  );
}
