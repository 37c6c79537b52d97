// The canvas of an icicle or a flame graph: scrolling, pointer, keyboard. What it shows, and how a
// box looks, its user decides.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { Layout, type Tree } from "../draw/layout";
import { draw, type Paint, ROW, rowsInView, type Scene } from "../draw/painter";
import type { Palette } from "../draw/palette";

export interface FlameChartProps {
  name: string;
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
  /** Works on what paintOf left open, for some milliseconds; true if boxes look different now. */
  settle?: () => boolean;
  tallest: number;
}

/** Rows beyond the view that are laid out ahead of scrolling. */
const AHEAD = 60;

function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.floor(element.current?.clientWidth ?? 0));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

interface Pointer {
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

export function FlameChart(props: FlameChartProps) {
  const { tree, zoomed, isFlame, palette } = props;
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointer, setPointer] = useState<Pointer>();
  const [focused, setFocused] = useState(-1);
  const [top, setTop] = useState(0);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const layout = useMemo(() => new Layout(tree, zoomed, Math.max(1, width)), [tree, zoomed, width]);

  const rowsShown = Math.ceil((top + props.tallest) / ROW) + AHEAD;
  if (width > 0) layout.extend(isFlame ? Infinity : rowsShown);
  const total = layout.rows * ROW;
  const height = Math.min(total, props.tallest);
  const scene: Scene = {
    layout,
    palette,
    paintOf: props.paintOf,
    isFlame,
    top,
    height,
    width,
    hovered: pointer?.node ?? -2,
    focused,
  };

  useEffect(() => setFocused(-1), [tree]);
  useLayoutEffect(() => {
    const scrolled = isFlame ? total - height : 0;
    box.current!.scrollTop = scrolled;
    setTop(box.current!.scrollTop);
  }, [tree, zoomed, isFlame, height]);

  useLayoutEffect(() => {
    const surface = canvas.current!;
    const ratio = window.devicePixelRatio || 1;
    surface.width = Math.max(1, Math.round(width * ratio));
    surface.height = Math.max(1, Math.round(height * ratio));
    const context = surface.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    surface.dataset.boxes = String(draw(context, scene));
    surface.dataset.laidOut = String(layout.node.length);
    if (!props.settle) return undefined;
    const frame = requestAnimationFrame(() => {
      if (props.settle!()) redraw(0);
    });
    return () => cancelAnimationFrame(frame);
  });

  const nodeUnder = (event: { clientX: number; clientY: number }): Pointer | undefined => {
    const edge = canvas.current!.getBoundingClientRect();
    const x = event.clientX - edge.left;
    const line = Math.floor((event.clientY - edge.top + top) / ROW);
    const found = layout.boxAt(isFlame ? layout.rows - 1 - line : line, x);
    const node = found < 0 ? -2 : layout.node[found]!;
    return node < 0 ? undefined : { node, x: event.clientX, y: event.clientY };
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
    const [first, last] = rowsInView({ ...scene, height: height - ROW });
    if (row >= first && row <= last) return;
    box.current!.scrollTop = (isFlame ? layout.rows - 1 - row : row) * ROW - height / 2;
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
  return (
    <div class="chart">
      <div
        class="chart-view"
        ref={box}
        tabIndex={0}
        role="tree"
        aria-label={props.name}
        aria-activedescendant={`${props.name}-node`}
        onKeyDown={press}
        onScroll={() => setTop(box.current!.scrollTop)}
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
      {pointer && <Tooltip at={pointer}>{props.tooltip(pointer.node)}</Tooltip>}
    </div>
  );
}

export function Tooltip(props: { at: { x: number; y: number }; children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left: 0, top: 0 });
  useLayoutEffect(() => {
    const size = element.current!.getBoundingClientRect();
    const below = props.at.y + 18 + size.height < window.innerHeight;
    setPlace({
      left: Math.max(8, Math.min(props.at.x + 12, window.innerWidth - size.width - 12)),
      top: below ? props.at.y + 18 : Math.max(4, props.at.y - size.height - 12),
    });
  }, [props.at.x, props.at.y]);
  return (
    <div class="tooltip" ref={element} style={{ left: `${place.left}px`, top: `${place.top}px` }}>
      {props.children}
    </div>
  );
}
