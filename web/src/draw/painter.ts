// Draws a layout on a canvas: boxes whose dark part reaches the lower limit and whose pale part
// reaches the estimate, with names, places and figures where there is room.
import { elided } from "../model/names";
import { type Layout, REST } from "./layout";
import type { Palette, Tones } from "./palette";

/** How a box looks. */
export interface Paint {
  tones: Tones;
  text: string;
  /** Of the frames that the box stands for, the innermost last. Empty: too narrow for any. */
  names: string[];
  /** "leaky.cc:11" or "+4 folded", beside the label where there is room. */
  place: string;
  /** "47.0 MiB [34.5, 62.6]", at the right end where there is room. */
  figure: string;
  /** Lower limit over the value, 0..1: how far the dark part reaches. */
  sure: number;
  isBold: boolean;
  isDim: boolean;
}

export interface Scene {
  layout: Layout;
  palette: Palette;
  paintOf: (box: number) => Paint;
  /** Root at the bottom. */
  isFlame: boolean;
  /** What of the rows is in view, in pixels. */
  top: number;
  height: number;
  width: number;
}

/** Of a row, and of its box: the rest is the gap. */
export const ROW = 30;
export const BOX = 28;
const MONO = "ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const SANS = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
const NAME_FONT = `500 12.5px ${MONO}`;
const BOLD_FONT = `700 12.5px ${MONO}`;
const TEXT_FONT = `12.5px ${SANS}`;
const LEAST_LABEL = 26;
const PADDING = 5;
const GAP = 10;
const ROUND = 3;

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

/** A name cut to fewer characters says nothing. */
const LEAST_CUT = 4;
/** From so many on there is room for both ends of a cut name. */
const BOTH_ENDS = 10;

/** "resize" of "vector<int>::resize": without its qualifiers. */
export function unqualified(name: string): string {
  let depth = 0;
  for (let i = name.length - 1; i > 0; --i) {
    if (">)]}".includes(name[i]!)) ++depth;
    else if ("<([{".includes(name[i]!)) --depth;
    else if (depth === 0 && name[i] === ":" && name[i - 1] === ":") return name.slice(i + 1);
  }
  return name;
}

/**
 * What may stand in a box, the best first: as much of a chain of names as fits, each name whole, outer
 * ones left out first, then the qualifiers of the last one; only then that one cut.
 */
function formsOf(names: readonly string[], characters: number): string[] {
  for (let first = 0; first < names.length; ++first) {
    const text = (first > 0 ? "… › " : "") + names.slice(first).join(" › ");
    if (text.length <= characters) return [text];
  }
  const last = names.at(-1) ?? "";
  if (last.length <= characters) return [last];
  const library = libraryOf(last);
  const own = library || unqualified(last);
  if (!library && own.length <= characters) return [own];
  if (characters < LEAST_CUT) return [];
  const begin = `${own.slice(0, characters - 1)}…`;
  if (library) return [begin];
  const end = `…${own.slice(1 - characters)}`;
  return characters < BOTH_ENDS ? [begin, end] : [elided(own, characters), begin, end];
}

/** Of "libLLVM.so+0x1a50b0", a frame without a name, "libLLVM.so": a part of the offset would be of
 * another frame, and the offset alone of any library. Else "". */
function libraryOf(name: string): string {
  return /^(.+)\+0x[0-9a-f]+$/.exec(name)?.[1] ?? "";
}

/**
 * The labels of boxes side by side. None that had to be cut can be read as the name of another
 * function beside it.
 */
export function labelsOf(boxes: readonly { names: readonly string[]; characters: number }[]): string[] {
  const forms = boxes.map(({ names, characters }) => formsOf(names, characters));
  const lasts = boxes.map(({ names }) => names.at(-1) ?? "");
  const whose = lasts.map((last) => libraryOf(last) || last);
  const only = new Map<string, string | undefined>();
  forms.forEach((all, i) => {
    for (const form of all) only.set(form, only.has(form) && only.get(form) !== whose[i] ? undefined : whose[i]);
  });
  return forms.map((all, i) => all.find((form) => form.endsWith(lasts[i]!) || only.get(form) === whose[i]) ?? "");
}

function fillBox(context: CanvasRenderingContext2D, x: number, y: number, width: number): void {
  if (width < 2 * ROUND) return context.fillRect(x, y, width, BOX);
  context.beginPath();
  context.roundRect(x, y, width, BOX, ROUND);
  context.fill();
}

function drawBox(
  context: CanvasRenderingContext2D,
  paint: Paint,
  x: number,
  y: number,
  width: number,
): void {
  context.fillStyle = paint.tones.pale;
  fillBox(context, x, y, width);
  context.fillStyle = paint.tones.solid;
  const sure = width * Math.min(1, Math.max(0, paint.sure));
  if (sure > 0.5) {
    context.save();
    context.beginPath();
    context.rect(x, y, sure, BOX);
    context.clip();
    fillBox(context, x, y, width);
    context.restore();
  }
  if (width < 5) return;
  context.strokeStyle = paint.tones.solid;
  context.beginPath();
  context.roundRect(x + 0.5, y + 0.5, width - 1, BOX - 1, ROUND);
  context.stroke();
}

function drawText(
  context: CanvasRenderingContext2D,
  paint: Paint,
  label: string,
  x: number,
  y: number,
  width: number,
  letter: number,
): void {
  const room = width - 2 * PADDING;
  const middle = y + BOX / 2 + 0.5;
  context.fillStyle = paint.text;
  context.font = paint.isBold ? BOLD_FONT : NAME_FONT;
  context.fillText(label, x + PADDING, middle);
  let left = room - label.length * letter;
  if (left < 60 || !label.endsWith(paint.names.at(-1) ?? "")) return;
  context.font = TEXT_FONT;
  const figure = paint.figure === "" ? 0 : context.measureText(paint.figure).width + GAP;
  if (figure > 0 && figure <= left) {
    context.fillText(paint.figure, x + width - PADDING - figure + GAP, middle);
    left -= figure;
  }
  if (paint.place === "" || context.measureText(paint.place).width + GAP > left) return;
  context.globalAlpha = 0.8;
  context.fillText(paint.place, x + PADDING + label.length * letter + GAP, middle);
  context.globalAlpha = 1;
}

/** Of a box, less the gap to the next one. */
function shownWidth(width: number): number {
  return Math.max(0.6, width - (width > 4 ? 1.5 : 0.5));
}

/** Boxes too narrow to draw, as one. */
function drawRest(
  context: CanvasRenderingContext2D,
  palette: Palette,
  count: number,
  x: number,
  y: number,
  width: number,
): void {
  context.fillStyle = palette.rest;
  fillBox(context, x, y, shownWidth(width));
  if (width < 64) return;
  context.font = TEXT_FONT;
  context.fillStyle = palette.faint;
  context.fillText(`${count} small`, x + PADDING, y + BOX / 2 + 0.5);
}

/** Draws what is in view; returns how many boxes that were. */
export function draw(context: CanvasRenderingContext2D, scene: Scene): number {
  const { layout, palette } = scene;
  context.clearRect(0, 0, scene.width, scene.height);
  context.font = NAME_FONT;
  context.textBaseline = "middle";
  context.direction = "ltr";
  context.lineWidth = 1;
  const letter = context.measureText("0").width || 7.5;
  const [first, last] = rowsInView(scene);
  let boxes = 0;
  for (let row = first; row <= last; ++row) {
    const from = layout.rowStart[row]!;
    const y = rowTop(scene, row);
    const paints: (Paint | undefined)[] = [];
    for (let box = from; box < layout.rowStart[row + 1]!; ++box) {
      const [x, width] = [layout.x[box]!, layout.width[box]!];
      if (layout.node[box] === REST) {
        paints.push(undefined);
        drawRest(context, palette, layout.rest[box]!, x, y, width);
        continue;
      }
      const paint = scene.paintOf(box);
      paints.push(paint);
      context.globalAlpha = row < layout.above || paint.isDim ? 0.6 : 1;
      drawBox(context, paint, x, y, shownWidth(width));
      context.globalAlpha = 1;
    }
    const labels = labelsOf(
      paints.map((paint, i) => {
        const room = shownWidth(layout.width[from + i]!) - 2 * PADDING;
        return { names: paint?.names ?? [], characters: Math.floor(room / letter) };
      }),
    );
    paints.forEach((paint, i) => {
      const [x, width] = [layout.x[from + i]!, layout.width[from + i]!];
      if (!paint || width < LEAST_LABEL) return;
      drawText(context, paint, labels[i]!, x, y, shownWidth(width), letter);
    });
    boxes += paints.length;
  }
  return boxes;
}
