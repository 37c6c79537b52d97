// The canvas of an icicle or a flame graph: scrolling, pointer, keyboard. What it shows, and how a
// box looks, its user decides.
import type { ComponentChildren, JSX } from "preact";
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useReducer,
  useRef,
  useState,
} from "preact/hooks";
import { endOfChain, Layout, REST, startOfChain, type Tree } from "../draw/layout";
import { BOX, draw, type Paint, ROW, rowsInView, rowTop } from "../draw/painter";
import type { Palette } from "../draw/palette";
import type { Page } from "../model/page";
import { finished, type Steps } from "../model/slices";
import { Busy } from "./Kept";
import { type Made, soon, useSteps, useTasks } from "./slices";

export interface FlameChartProps {
  name: string;
  page: Page;
  tree: Tree;
  zoomed: number;
  isFlame: boolean;
  palette: Palette;
  /** Changes when boxes look different though the tree is the same. */
  look: unknown;
  paintOf: (box: Box) => Paint;
  /** A line with all that the box shows, for readers who cannot see it. */
  describe: (node: number) => string;
  tooltip: (node: number) => ComponentChildren;
  /** Of `count` children from `first` on that are too narrow to be drawn. */
  tooltipOfRest?: (first: number, count: number) => ComponentChildren;
  /** The node that is looked at; -1: none. */
  chosen: number;
  /** Whether the chart scrolls to it. */
  isRevealed?: boolean;
  /** Lower and upper limit over the value; undefined where exact. */
  limitsOf?: (node: number) => [number, number] | undefined;
  onChoose: (node: number) => void;
  onZoom: (node: number) => void;
  onPick?: (node: number) => void;
  onMenu?: (node: number, x: number, y: number) => void;
  /** Works on what paintOf left open; true if boxes look different now. */
  settling?: () => Steps<boolean>;
  tallest: number;
}

/** What a box stands for: a node, or a chain of only children that ends with it. */
export interface Box {
  node: number;
  first: number;
  width: number;
}

/** Height of what says that there are rows beyond the view. */
const EDGE = 24;

/** Rows beyond the view that are laid out ahead of scrolling. */
const AHEAD = 60;

/** A tree with the node that fills the width and the one that is looked at; -1: none. */
interface At<T> {
  tree: T;
  zoomed: number;
  chosen: number;
}

interface Findable {
  finding(path: readonly number[]): Steps<number>;
  path(node: number): number[];
}

/** The nodes that fill the width and that are looked at, by their paths. */
export function useFound<T extends Findable>(
  page: Page,
  tree: T,
  zoom: readonly number[],
  path: readonly number[],
): Made<At<T>> {
  return useSteps(
    function* () {
      const zoomed = yield* tree.finding(zoom);
      const chosen = path.length > 0 ? yield* tree.finding(path) : -1;
      // As much of a path as there is is not what was chosen.
      const isWhole = chosen > 0 && tree.path(chosen).length === path.length;
      return { tree, zoomed, chosen: isWhole ? chosen : -1 };
    },
    [page, tree, zoom, path],
  );
}

interface Place {
  element: { current: HTMLDivElement | null };
  /** For its ref. */
  attach: (element: HTMLDivElement | null) => void;
  width: number;
}

/** Of the chart before: the next one is most likely as wide, and needs not wait to be measured. */
let usualWidth = 0;

function usePlace(): Place {
  const element = useRef<HTMLDivElement | null>(null);
  const [current, setCurrent] = useState<HTMLDivElement | null>(null);
  const attach = useCallback((attached: HTMLDivElement | null) => {
    element.current = attached;
    setCurrent(attached);
  }, []);
  const [width, setWidth] = useState(usualWidth);
  useLayoutEffect(() => {
    if (!current) return undefined;
    const observer = new ResizeObserver(() => setWidth((usualWidth = current.clientWidth)));
    observer.observe(current);
    return () => observer.disconnect();
  }, [current]);
  return { element, attach, width };
}

interface Pointer {
  /** That the node is of: no other's node is shown for it. */
  layout: Layout;
  box: number;
  node: number;
  x: number;
  y: number;
}

/** The node at the end of the chain that is drawn in the box of a node. */
function end(tree: Tree, node: number): number {
  return finished(endOfChain(tree, node));
}

function neighbour(tree: Tree, node: number, step: number): number {
  const start = startOfChain(tree, node);
  const parent = tree.parents[start]!;
  if (!(parent >= 0) || start === 0) return node;
  const [first, count] = tree.children(parent);
  return end(tree, Math.min(Math.max(start + step, first), first + count - 1));
}

function moved(tree: Tree, node: number, key: string): number {
  if (key === "ArrowLeft") return neighbour(tree, node, -1);
  if (key === "ArrowRight") return neighbour(tree, node, 1);
  const start = startOfChain(tree, node);
  if (key === "ArrowUp") return start === 0 ? 0 : tree.parents[start]!;
  const [first, count] = tree.children(end(tree, node));
  return count > 0 ? end(tree, first) : node;
}

/** Rows above the box of a node. */
function depthOf(tree: Tree, node: number): number {
  let depth = 0;
  for (let at = startOfChain(tree, node); at > 0; at = startOfChain(tree, tree.parents[at]!)) {
    ++depth;
  }
  return depth;
}

/** Rows that fill the view, and some more. */
function rowsFor(props: FlameChartProps, top: number): number {
  if (props.isFlame) return Infinity;
  return Math.ceil(Math.ceil((top + props.tallest) / ROW) / AHEAD) * AHEAD + AHEAD;
}

function* layingOut(props: FlameChartProps, width: number): Steps<Layout | undefined> {
  if (width === 0) return undefined;
  const layout = new Layout(props.tree, props.zoomed, width);
  yield* layout.extending(rowsFor(props, 0));
  return layout;
}

interface Shown {
  layout: Layout;
  props: FlameChartProps;
}

/** What is laid out already, with all that belongs to it; and whether something else is wanted. */
function useShown(props: FlameChartProps, width: number): [Shown | undefined, boolean] {
  const { page, tree, zoomed, isFlame } = props;
  const { value, isBusy } = useSteps(
    () => layingOut(props, width),
    [page, tree, zoomed, isFlame, width],
  );
  const shown = useRef<Shown>();
  if (!isBusy) shown.current = value && { layout: value, props };
  return [shown.current, isBusy];
}

interface OutlineProps {
  layout: Layout;
  isFlame: boolean;
  box: number;
  kind: string;
  /** Lower and upper limit over the value. */
  limits?: [number, number] | undefined;
}

/** Frames a box, with its interval as a whisker from the lower limit to the upper one. */
function Outline({ layout, isFlame, box, kind, limits }: OutlineProps) {
  if (box < 0 || box >= layout.node.length) return null;
  const [x, width] = [layout.x[box]!, layout.width[box]!];
  const top = rowTop({ layout, isFlame, top: 0 }, layout.rowAt(box));
  const [from, to] = limits ? [width * limits[0], width * limits[1]] : [0, 0];
  const isCut = x + to > layout.pixels;
  return (
    <>
      <div
        class={`outline ${kind}`}
        style={{
          left: `${x}px`,
          top: `${top}px`,
          width: `${Math.max(2, width - 1.5)}px`,
          height: `${BOX}px`,
        }}
      />
      {to - from > 3 && (
        <div
          class={`whisker-line ${isCut ? "cut" : ""}`}
          style={{
            left: `${x + from}px`,
            top: `${top + BOX - 9}px`,
            width: `${Math.min(layout.pixels - x, to) - from}px`,
          }}
        />
      )}
    </>
  );
}

/** Gives a canvas its size in pixels of the screen, and pixels of the page to draw in. */
function sized(surface: HTMLCanvasElement, width: number, height: number): HTMLCanvasElement {
  const ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  // Setting a size makes the canvas anew, even where it has the size already.
  if (surface.width !== across) surface.width = across;
  if (surface.height !== down) surface.height = down;
  surface.getContext("2d")!.setTransform(ratio, 0, 0, ratio, 0, 0);
  return surface;
}

function Chart({ layout, props, place }: Shown & { place: Place }) {
  const { page, tree, zoomed, isFlame, palette, look } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointer, setPointer] = useState<Pointer>();
  const [focused, setFocused] = useState(-1);
  const [top, setTop] = useState(0);
  const [settled, settle] = useReducer((count: number) => count + 1, 0);
  const wanted = rowsFor(props, top);
  useSteps(() => layout.extending(wanted), [page, layout, wanted]);
  const { rows, pixels: width } = layout;
  const chosen = props.chosen < 0 ? -1 : end(tree, props.chosen);
  const total = rows * ROW;
  const height = Math.min(total, props.tallest);

  useEffect(() => setFocused(-1), [tree]);
  useLayoutEffect(() => {
    const scrolled = isFlame ? total - height : 0;
    if (top !== scrolled) place.element.current!.scrollTop = scrolled;
    setTop(scrolled);
  }, [tree, zoomed, isFlame, height]);

  const picture = [layout, rows, palette, look, isFlame, height, settled];
  const paint = () => {
    const surface = canvas.current!;
    const context = sized(surface, width, height).getContext("2d")!;
    const boxOf = (i: number): Box => ({
      node: layout.node[i]!,
      first: layout.first[i]!,
      width: layout.width[i]!,
    });
    const paintOf = (i: number) => props.paintOf(boxOf(i));
    const scene = { layout, palette, paintOf, isFlame, top, height, width };
    surface.dataset.boxes = String(draw(context, scene));
    surface.dataset.laidOut = String(layout.node.length);
  };
  const latest = useRef(paint);
  latest.current = paint;
  const drawnAt = useRef(top);
  // What scrolls is drawn at once, all else in a task of its own.
  useLayoutEffect(() => {
    if (drawnAt.current !== top) paint();
    drawnAt.current = top;
  }, [top]);
  useLayoutEffect(() => soon(() => latest.current()), picture);
  useTasks(
    function* () {
      return props.settling ? yield* props.settling() : false;
    },
    (isNew) => isNew && settle(0),
    [...picture, top],
  );

  const nodeUnder = (event: { clientX: number; clientY: number }): Pointer | undefined => {
    const edge = canvas.current!.getBoundingClientRect();
    const x = event.clientX - edge.left;
    const line = Math.floor((event.clientY - edge.top + top) / ROW);
    const box = layout.boxAt(isFlame ? layout.rows - 1 - line : line, x);
    if (box < 0) return undefined;
    return { layout, box, node: layout.node[box]!, x: event.clientX, y: event.clientY };
  };
  const click = (event: MouseEvent) => {
    const found = nodeUnder(event);
    if (!found || found.node === REST) return;
    if ((event.shiftKey || event.altKey) && props.onPick) props.onPick(found.node);
    else if (found.node === chosen) props.onZoom(found.node);
    else props.onChoose(found.node);
  };
  const openMenu = (event: MouseEvent) => {
    const found = nodeUnder(event);
    if (!found || found.node <= 0 || !props.onMenu) return;
    event.preventDefault();
    setPointer(undefined);
    props.onMenu(found.node, event.clientX, event.clientY);
  };

  const reveal = (node: number) => {
    const row = depthOf(tree, node);
    layout.extend(row + 1);
    const view = place.element.current!;
    const [first, last] = rowsInView({ layout, isFlame, top: view.scrollTop, height: height - ROW });
    if (row >= first && row <= last) return;
    view.scrollTop = (isFlame ? layout.rows - 1 - row : row) * ROW - height / 2;
  };
  useLayoutEffect(() => {
    if (chosen >= 0 && props.isRevealed) reveal(chosen);
  }, [tree, zoomed, isFlame, height, chosen]);
  const press = (event: JSX.TargetedKeyboardEvent<HTMLDivElement>) => {
    const at = focused < 0 ? zoomed : focused;
    if (event.key.startsWith("Arrow")) {
      const flipped: Record<string, string> = { ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };
      const node = moved(tree, at, isFlame ? (flipped[event.key] ?? event.key) : event.key);
      setFocused(node);
      reveal(node);
    } else if (event.key === "Home") setFocused(0);
    else if (event.key === "Enter") props.onZoom(at);
    else if (event.key === " ") props.onChoose(at);
    else if (event.key === "b" && props.onPick) props.onPick(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const current = focused < 0 ? zoomed : focused;
  const start = startOfChain(tree, current);
  const [eldest, siblings] = start > 0 ? tree.children(tree.parents[start]!) : [0, 1];
  const pointed = pointer?.layout === layout ? pointer : undefined;
  return (
    <>
      <div
        class="chart-view"
        ref={place.attach}
        tabIndex={0}
        role="tree"
        aria-label={props.name}
        aria-activedescendant={`${props.name}-node`}
        onKeyDown={press}
        onScroll={() => setTop(place.element.current!.scrollTop)}
        style={{ height: `${height}px` }}
        onBlur={() => setFocused(-1)}
      >
        <div class="chart-rows" style={{ height: `${total}px` }}>
          <canvas
            ref={canvas}
            aria-hidden="true"
            onClick={click}
            onContextMenu={openMenu}
            onPointerMove={(event) => setPointer(nodeUnder(event))}
            onPointerLeave={() => setPointer(undefined)}
            style={{ width: `${width}px`, height: `${height}px` }}
          />
          {chosen >= 0 && (
            <Outline layout={layout} isFlame={isFlame} box={layout.boxOf(chosen)} kind="chosen" />
          )}
          {pointed && (
            <Outline
              layout={layout}
              isFlame={isFlame}
              box={pointed.box}
              kind="hovered"
              limits={pointed.node < 0 ? undefined : props.limitsOf?.(pointed.node)}
            />
          )}
          {focused >= 0 && (
            <Outline
              layout={layout}
              isFlame={isFlame}
              box={layout.boxOf(focused)}
              kind="focused"
              limits={props.limitsOf?.(focused)}
            />
          )}
          <div
            id={`${props.name}-node`}
            class="unseen"
            role="treeitem"
            aria-level={depthOf(tree, current) + 1}
            aria-setsize={siblings}
            aria-posinset={start > 0 ? start - eldest + 1 : 1}
            aria-selected={focused >= 0}
          >
            {props.describe(current)}
          </div>
        </div>
      </div>
      {top > ROW / 2 && (
        <div class="chart-edge above" style={{ top: 0 }}>
          ▴ more above
        </div>
      )}
      {top + height < total - ROW / 2 && (
        <div class="chart-edge" style={{ top: `${height - EDGE}px` }}>
          ▾ more below
        </div>
      )}
      {focused >= 0 && (
        <p class="chart-focus" aria-hidden="true">
          {props.describe(focused)}
        </p>
      )}
      {pointed && (
        <Tooltip at={pointed}>
          {pointed.node === REST
            ? props.tooltipOfRest?.(layout.first[pointed.box]!, layout.rest[pointed.box]!)
            : props.tooltip(pointed.node)}
        </Tooltip>
      )}
    </>
  );
}

export function FlameChart(props: FlameChartProps) {
  const place = usePlace();
  const [shown, isBusy] = useShown(props, place.width);
  return (
    <div class="chart kept" aria-busy={isBusy}>
      {shown ? <Chart {...shown} place={place} /> : <div class="chart-view" ref={place.attach} />}
      {isBusy && <Busy />}
    </div>
  );
}

/** Taller than any: nearer to the window's lower edge it stands above the pointer. */
const TOOLTIP = 190;

/** Beside the pointer, where there is room for it, which it needs not be measured for. */
export function Tooltip(props: { at: { x: number; y: number }; children: ComponentChildren }) {
  const { x, y } = props.at;
  const { innerWidth, innerHeight } = window;
  const isLeft = x > innerWidth / 2;
  const isAbove = y > innerHeight - TOOLTIP;
  return (
    <div
      class="tooltip"
      style={{
        [isLeft ? "right" : "left"]: `${isLeft ? innerWidth - x + 12 : x + 12}px`,
        [isAbove ? "bottom" : "top"]: `${isAbove ? innerHeight - y + 12 : y + 18}px`,
      }}
    >
      {props.children}
    </div>
  );
}
