// Draws a layout on a canvas: boxes, names, hatching of what is uncertain, whiskers.
import { type Layout, REST } from "./layout";
import type { Palette } from "./palette";

/** How a box looks. */
export interface Paint {
  fill: string;
  text: string;
  label: string;
  /** More than half of it is uncertain. */
  isHatched: boolean;
  /** Lower and upper limit over the value; undefined: not known yet, or exact. */
  limits: [number, number] | undefined;
}

export interface Scene {
  layout: Layout;
  palette: Palette;
  paintOf: (node: number, width: number) => Paint;
  /** Root at the bottom. */
  isFlame: boolean;
  /** What of the rows is in view, in pixels. */
  top: number;
  height: number;
  width: number;
}

export const ROW = 19;
const FONT = "11.5px ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const LEAST_LABEL = 26;
const LEAST_WHISKER = 22;
const PADDING = 4;

let hatches = new Map<string, CanvasPattern>();

/** Diagonal lines, seamless in 6 by 6 pixels. */
function hatchOf(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
  const known = hatches.get(colour);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d")!;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.3;
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  const pattern = context.createPattern(tile, "repeat");
  if (!pattern) return colour;
  hatches = new Map(hatches).set(colour, pattern);
  return pattern;
}

/** Top of a row in the view. */
export function rowTop(scene: Pick<Scene, "layout" | "isFlame" | "top">, row: number): number {
  const rows = scene.layout.rows;
  return (scene.isFlame ? rows - 1 - row : row) * ROW - scene.top;
}

/** First and last row in view. */
export function rowsInView(
  scene: Pick<Scene, "layout" | "isFlame" | "top" | "height">,
): [number, number] {
  const first = Math.max(0, Math.floor(scene.top / ROW));
  const last = Math.min(scene.layout.rows - 1, Math.floor((scene.top + scene.height) / ROW));
  if (!scene.isFlame) return [first, last];
  const rows = scene.layout.rows;
  return [Math.max(0, rows - 1 - last), Math.min(rows - 1, rows - 1 - first)];
}

function fitted(label: string, characters: number): string {
  if (label.length <= characters) return label;
  return characters < 4 ? "" : `${label.slice(0, characters - 1)}…`;
}

/** The interval's lower half from the right edge inwards, and the upper one as far as it goes. */
function drawWhisker(
  context: CanvasRenderingContext2D,
  limits: [number, number],
  x: number,
  y: number,
  width: number,
  right: number,
): void {
  const [lo, hi] = limits;
  const from = x + Math.max(1.5, width * lo);
  const to = Math.min(right - 1.5, x + width * hi);
  if (to - from < 2) return;
  const middle = y + ROW - 4.5;
  context.beginPath();
  context.moveTo(from, middle - 2);
  context.lineTo(from, middle + 2);
  context.moveTo(from, middle);
  context.lineTo(to, middle);
  if (to < right - 1.5) {
    context.moveTo(to, middle - 2);
    context.lineTo(to, middle + 2);
  }
  context.stroke();
}

/** Draws what is in view; returns how many boxes that were. */
export function draw(context: CanvasRenderingContext2D, scene: Scene): number {
  const { layout, palette } = scene;
  const hatch = hatchOf(context, palette.hatch);
  context.clearRect(0, 0, scene.width, scene.height);
  context.font = FONT;
  context.textBaseline = "middle";
  context.direction = "ltr";
  context.lineWidth = 1;
  const letter = context.measureText("0").width || 7;
  const [first, last] = rowsInView(scene);
  let boxes = 0;
  const whiskers: [[number, number], number, number, number][] = [];
  for (let row = first; row <= last; ++row) {
    const y = rowTop(scene, row);
    for (let box = layout.rowStart[row]!; box < layout.rowStart[row + 1]!; ++box, ++boxes) {
      const x = layout.x[box]!;
      const width = layout.width[box]!;
      const node = layout.node[box]!;
      const shown = Math.max(0.6, width - (width > 3 ? 1 : 0.3));
      if (node === REST) {
        context.fillStyle = palette.rest;
        context.fillRect(x, y, shown, ROW - 1);
        continue;
      }
      const paint = scene.paintOf(node, width);
      context.globalAlpha = row < layout.above ? 0.55 : 1;
      context.fillStyle = paint.fill;
      context.fillRect(x, y, shown, ROW - 1);
      if (paint.isHatched) {
        context.fillStyle = hatch;
        context.fillRect(x, y, shown, ROW - 1);
      }
      context.globalAlpha = 1;
      if (width >= LEAST_LABEL) {
        context.fillStyle = paint.text;
        const label = fitted(paint.label, Math.floor((width - 2 * PADDING) / letter));
        context.fillText(label, x + PADDING, y + ROW / 2);
      }
      if (paint.limits && width >= LEAST_WHISKER && row >= layout.above) {
        whiskers.push([paint.limits, x, y, width]);
      }
    }
  }
  context.strokeStyle = palette.whisker;
  for (const [limits, x, y, width] of whiskers) {
    drawWhisker(context, limits, x, y, width, scene.width);
  }
  return boxes;
}
