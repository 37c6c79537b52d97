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
import { Layout, type Tree } from "../draw/layout";
import { draw, type Paint, ROW, rowsInView, rowTop } from "../draw/painter";
import type { Palette } from "../draw/palette";
import type { Page } from "../model/page";
import type { Steps } from "../model/slices";
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
  paintOf: (node: number, width: number) => Paint;
  /** A line that says all that the box shows, for who cannot see it. */
  describe: (node: number) => string;
  tooltip: (node: number) => ComponentChildren;
  onZoom: (node: number) => void;
  onPick?: (node: number) => void;
  /** Works on what paintOf left open; true if boxes look different now. */
  settling?: () => Steps<boolean>;
  tallest: number;
}

/** Rows beyond the view that are laid out ahead of scrolling. */
const AHEAD = 60;

/** A tree with the node that fills the width. */
interface At<T> {
  tree: T;
  zoomed: number;
}

interface Findable {
  finding(path: readonly number[]): Steps<number>;
}

function* zoomedIn<T extends Findable>(tree: T, zoom: readonly number[]): Steps<At<T>> {
  return { tree, zoomed: yield* tree.finding(zoom) };
}

export function useZoomed<T extends Findable>(
  page: Page,
  tree: T,
  zoom: readonly number[],
): Made<At<T>> {
  return useSteps(() => zoomedIn(tree, zoom), [page, tree, zoom]);
}

interface Box {
  element: { current: HTMLDivElement | null };
  /** For its ref. */
  attach: (element: HTMLDivElement | null) => void;
  width: number;
}

/** Of the chart before: the next one is most likely as wide, and needs not wait to be measured. */
let usualWidth = 0;

/** At least as wide as any scrollbar. */
const SCROLLBAR = 24;

/**
 * A scrollbar that comes narrows the chart, and one that goes does not widen it: each might follow
 * from the other, for ever.
 */
function widthAfter(before: number, element: HTMLElement): number {
  const width = element.clientWidth;
  if (width >= before && width <= before + SCROLLBAR) return before;
  return (usualWidth = width);
}

function useBox(): Box {
  const element = useRef<HTMLDivElement | null>(null);
  const [current, setCurrent] = useState<HTMLDivElement | null>(null);
  const attach = useCallback((attached: HTMLDivElement | null) => {
    element.current = attached;
    setCurrent(attached);
  }, []);
  const [width, setWidth] = useState(usualWidth);
  useLayoutEffect(() => {
    if (!current) return undefined;
    const observer = new ResizeObserver(() => setWidth((before) => widthAfter(before, current)));
    observer.observe(current);
    return () => observer.disconnect();
  }, [current]);
  return { element, attach, width };
}

interface Pointer {
  /** That the node is of: no other's node is shown for it. */
  layout: Layout;
  node: number;
  x: number;
  y: number;
}

function neighbour(tree: Tree, node: number, step: number): number {
  const parent = tree.parents[node]!;
  if (!(parent >= 0) || node === 0) return node;
  const [first, count] = tree.children(parent);
  return Math.min(Math.max(node + step, first), first + count - 1);
}

function moved(tree: Tree, node: number, key: string): number {
  if (key === "ArrowLeft") return neighbour(tree, node, -1);
  if (key === "ArrowRight") return neighbour(tree, node, 1);
  if (key === "ArrowUp") return node === 0 ? node : tree.parents[node]!;
  const [first, count] = tree.children(node);
  return count > 0 ? first : node;
}

function depthOf(tree: Tree, node: number): number {
  let depth = 0;
  for (let at = node; at > 0; at = tree.parents[at]!) ++depth;
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

/** Frames the box of a node that is laid out. */
function Outline(props: { layout: Layout; isFlame: boolean; node: number; kind: string }) {
  const { layout, node } = props;
  const box = layout.node.indexOf(node);
  if (box < 0) return null;
  const scene = { layout, isFlame: props.isFlame, top: 0 };
  return (
    <div
      class={`outline ${props.kind}`}
      style={{
        left: `${layout.x[box]}px`,
        top: `${rowTop(scene, layout.rowAt(box))}px`,
        width: `${Math.max(2, layout.width[box]! - 1)}px`,
        height: `${ROW - 1}px`,
      }}
    />
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

function Chart({ layout, props, box }: Shown & { box: Box }) {
  const { page, tree, zoomed, isFlame, palette, look } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointer, setPointer] = useState<Pointer>();
  const [focused, setFocused] = useState(-1);
  const [top, setTop] = useState(0);
  const [settled, settle] = useReducer((count: number) => count + 1, 0);
  const wanted = rowsFor(props, top);
  useSteps(() => layout.extending(wanted), [page, layout, wanted]);
  const { rows, pixels: width } = layout;
  const total = rows * ROW;
  const height = Math.min(total, props.tallest);

  useEffect(() => setFocused(-1), [tree]);
  useLayoutEffect(() => {
    const scrolled = isFlame ? total - height : 0;
    if (top !== scrolled) box.element.current!.scrollTop = scrolled;
    setTop(scrolled);
  }, [tree, zoomed, isFlame, height]);

  const picture = [layout, rows, palette, look, isFlame, height, settled];
  const paint = () => {
    const surface = canvas.current!;
    const context = sized(surface, width, height).getContext("2d")!;
    const scene = { layout, palette, paintOf: props.paintOf, isFlame, top, height, width };
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
    const found = layout.boxAt(isFlame ? layout.rows - 1 - line : line, x);
    const node = found < 0 ? -2 : layout.node[found]!;
    return node < 0 ? undefined : { layout, node, x: event.clientX, y: event.clientY };
  };
  const click = (event: MouseEvent) => {
    const found = nodeUnder(event);
    if (!found) return;
    if ((event.shiftKey || event.altKey) && props.onPick) props.onPick(found.node);
    else props.onZoom(found.node);
  };

  const reveal = (node: number) => {
    const row = depthOf(tree, node);
    layout.extend(row + 1);
    const [first, last] = rowsInView({ layout, isFlame, top, height: height - ROW });
    if (row >= first && row <= last) return;
    box.element.current!.scrollTop = (isFlame ? layout.rows - 1 - row : row) * ROW - height / 2;
  };
  const press = (event: JSX.TargetedKeyboardEvent<HTMLDivElement>) => {
    const at = focused < 0 ? zoomed : focused;
    if (event.key.startsWith("Arrow")) {
      const flipped: Record<string, string> = { ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };
      const node = moved(tree, at, isFlame ? (flipped[event.key] ?? event.key) : event.key);
      setFocused(node);
      reveal(node);
    } else if (event.key === "Home") setFocused(0);
    else if (event.key === "Enter" || event.key === " ") props.onZoom(at);
    else if (event.key === "b" && props.onPick) props.onPick(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const current = focused < 0 ? zoomed : focused;
  const [, siblings] = current > 0 ? tree.children(tree.parents[current]!) : [0, 1];
  const pointed = pointer?.layout === layout ? pointer : undefined;
  return (
    <>
      <div
        class="chart-view"
        ref={box.attach}
        tabIndex={0}
        role="tree"
        aria-label={props.name}
        aria-activedescendant={`${props.name}-node`}
        onKeyDown={press}
        onScroll={() => setTop(box.element.current!.scrollTop)}
        style={{ height: `${height}px` }}
        onBlur={() => setFocused(-1)}
      >
        <div class="chart-rows" style={{ height: `${total}px` }}>
          <canvas
            ref={canvas}
            aria-hidden="true"
            onClick={click}
            onDblClick={(event) => {
              const found = nodeUnder(event);
              if (found) props.onPick?.(found.node);
            }}
            onPointerMove={(event) => setPointer(nodeUnder(event))}
            onPointerLeave={() => setPointer(undefined)}
            style={{ width: `${width}px`, height: `${height}px` }}
          />
          {pointed && (
            <Outline layout={layout} isFlame={isFlame} node={pointed.node} kind="hovered" />
          )}
          {focused >= 0 && (
            <Outline layout={layout} isFlame={isFlame} node={focused} kind="focused" />
          )}
          <div
            id={`${props.name}-node`}
            class="unseen"
            role="treeitem"
            aria-level={depthOf(tree, current) + 1}
            aria-setsize={siblings}
            aria-posinset={current > 0 ? current - tree.children(tree.parents[current]!)[0] + 1 : 1}
            aria-selected={focused >= 0}
          >
            {props.describe(current)}
          </div>
        </div>
      </div>
      {focused >= 0 && (
        <p class="chart-focus" aria-hidden="true">
          {props.describe(focused)}
        </p>
      )}
      {pointed && <Tooltip at={pointed}>{props.tooltip(pointed.node)}</Tooltip>}
    </>
  );
}

export function FlameChart(props: FlameChartProps) {
  const box = useBox();
  const [shown, isBusy] = useShown(props, box.width);
  return (
    <div class="chart kept" aria-busy={isBusy}>
      {shown ? <Chart {...shown} box={box} /> : <div class="chart-view" ref={box.attach} />}
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
