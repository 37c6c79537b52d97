// PageData as typed arrays, with what is derived from it once: functions, children.
import { type Cells, FrameFlag, type PageData, type Survival } from "../data";
import { emptySums, strataSums, type Sums } from "../numbers/sums";
import { foldedTree } from "./fold";
import { displayNames, flagged } from "./roles";
import { printable } from "./names";
import { finished, Pace, type Steps, STRETCH } from "./slices";

/** Cells as typed arrays. */
export interface CellColumns {
  count: number;
  strata: Sums;
  sizeClass: Int32Array;
  node: Int32Array;
  /** The node of the document, whatever is folded or hidden. */
  leaf: Int32Array;
  stratum: Int32Array;
  times: Float64Array;
  process: Int32Array;
  thread: Int32Array;
  type: Int32Array;
  label: Int32Array;
  born: Int32Array;
  died: Int32Array;
}

/** Children of all nodes, one after the other: those of i are child[start[i]] to child[start[i+1]]. */
export interface Children {
  start: Int32Array;
  child: Int32Array;
}

/** For the sums of a selection: making it anew takes longer than using it. */
export interface Room {
  nodes: number;
  self: Sums;
  total: Sums;
  /** Selections that were made in it. */
  uses: number;
}

export function roomFor(nodes: number): Room {
  return { nodes, self: emptySums(nodes), total: emptySums(nodes), uses: 0 };
}

export interface Page {
  data: PageData;
  /** In full, and as they are shown. */
  names: string[];
  shortNames: string[];
  /** Frames of libraries are folded into the own code that called them. */
  isFolded: boolean;
  /** Frames are left out that the reader hides. */
  isHiding: boolean;
  nodes: number;
  /** Of each node. */
  frame: ArrayLike<number>;
  /** Of each node: how many frames are folded into it, at most. */
  folded: Uint16Array;
  /** Of each node; 0 for the root itself. */
  parent: Int32Array;
  children: Children;
  /** Of each node: its function. */
  functionOf: Int32Array;
  /** One frame of each function: a function is a name in a module, wherever its lines are. */
  frameOf: Int32Array;
  functionOfFrame: Int32Array;
  functions: number;
  /** Of each function: of an allocator, a standard library or a language's start: folded unless asked for. */
  isLibrary: Uint8Array;
  /** Of each function: of an interpreter, folded even where own code called it. */
  isDispatch: Uint8Array;
  /** Of each function: without a name, "module+0x1234". */
  isUnnamed: Uint8Array;
  /** Of each node of the document: the node that its stacks end in. */
  target: Int32Array;
  /** Functions that folding hides. */
  hidden: number;
  cells: (CellColumns | undefined)[];
  /** Of the current selection. */
  room: Room;
  /** Last bucket of the timeline; -1 without one. */
  lastBucket: number;
}

function parentsOf(up: number[]): Int32Array {
  const parent = new Int32Array(up.length);
  for (let i = 1; i < up.length; ++i) {
    const distance = up[i]!;
    if (!(distance >= 1 && distance <= i)) throw new Error(`node ${i} has no parent before it`);
    parent[i] = i - distance;
  }
  return parent;
}

function* childrenOf(parent: Int32Array): Steps<Children> {
  const start = new Int32Array(parent.length + 1);
  const pace = new Pace();
  for (let i = 1; i < parent.length; ++i) {
    if (pace.isDue()) yield;
    ++start[parent[i]! + 1]!;
  }
  for (let i = 0; i < parent.length; ++i) {
    if (pace.isDue()) yield;
    start[i + 1]! += start[i]!;
  }
  const next = start.slice();
  const child = new Int32Array(Math.max(0, parent.length - 1));
  for (let i = 1; i < parent.length; ++i) {
    if (pace.isDue()) yield;
    child[next[parent[i]!]!++] = i;
  }
  return { start, child };
}

/** Function of each frame: the first frame of the same name and module, numbered. */
function functionsOf(frames: PageData["frames"]): { of: Int32Array; first: Int32Array } {
  const known = new Map<string, number>();
  const of = new Int32Array(frames.name.length);
  const first: number[] = [];
  for (let i = 0; i < of.length; ++i) {
    const key = `${frames.name[i]} ${frames.module[i]}`;
    let index = known.get(key);
    if (index === undefined) {
      index = first.length;
      known.set(key, index);
      first.push(i);
    }
    of[i] = index;
  }
  return { of, first: Int32Array.from(first) };
}

function columnsOf(cells: Cells): CellColumns {
  const node = Int32Array.from(cells.node);
  return {
    count: cells.node.length,
    strata: strataSums(cells.strata),
    sizeClass: Int32Array.from(cells.strata.sizeClass),
    node,
    leaf: node,
    stratum: Int32Array.from(cells.stratum),
    times: Float64Array.from(cells.count),
    process: Int32Array.from(cells.process),
    thread: Int32Array.from(cells.thread),
    type: Int32Array.from(cells.type),
    label: Int32Array.from(cells.label),
    born: Int32Array.from(cells.born),
    died: Int32Array.from(cells.died),
  };
}

/** The page with every frame. Throws an Error with a clear line where the data is not what data.ts says. */
export function pageOf(data: PageData): Page {
  if (data?.schema !== 1) throw new Error("this page's data has another version");
  const nodes = data.nodes.up.length;
  const functions = functionsOf(data.frames);
  const parent = parentsOf(data.nodes.up);
  const functionOf = new Int32Array(nodes);
  for (let i = 0; i < nodes; ++i) functionOf[i] = functions.of[data.nodes.frame[i]!] ?? 0;
  return {
    data,
    names: data.names.map(printable),
    shortNames: displayNames(data),
    isFolded: false,
    isHiding: false,
    nodes,
    frame: data.nodes.frame,
    folded: new Uint16Array(nodes),
    parent,
    children: finished(childrenOf(parent)),
    functionOf,
    frameOf: functions.first,
    functionOfFrame: functions.of,
    functions: functions.first.length,
    isLibrary: flagged(data, functions.first, FrameFlag.Plumbing),
    isDispatch: flagged(data, functions.first, FrameFlag.Dispatch),
    isUnnamed: flagged(data, functions.first, FrameFlag.Unknown),
    target: Int32Array.from({ length: nodes }, (_, i) => i),
    hidden: 0,
    cells: data.cells.map(columnsOf),
    room: roomFor(nodes),
    lastBucket: data.timeline ? data.timeline.edges.length - 2 : -1,
  };
}

/** The page with library code folded into the code that called it, at once. */
export function foldedPage(page: Page): Page {
  return finished(viewOf(page, true, undefined));
}

function* movedCells(cells: CellColumns, target: Int32Array): Steps<CellColumns> {
  const node = new Int32Array(cells.count);
  for (let i = 0; i < cells.count; ++i) {
    if (i % STRETCH === STRETCH - 1) yield;
    node[i] = target[cells.node[i]!]!;
  }
  return { ...cells, node };
}

/** The page with every frame, some of them folded or hidden. Sums stay what they are. */
export function* viewOf(page: Page, folds: boolean, hides: Uint8Array | undefined): Steps<Page> {
  const tree = yield* foldedTree(page, folds, hides);
  const cells: Page["cells"] = [];
  for (const one of page.cells) cells.push(one && (yield* movedCells(one, tree.target)));
  const nodes = tree.source.length;
  const functionOf = new Int32Array(nodes);
  const frame = new Int32Array(nodes);
  const pace = new Pace();
  for (let i = 0; i < nodes; ++i) {
    if (pace.isDue()) yield;
    functionOf[i] = page.functionOf[tree.source[i]!]!;
    frame[i] = page.frame[tree.source[i]!]!;
  }
  const children = yield* childrenOf(tree.parent);
  return {
    ...page,
    isFolded: folds,
    isHiding: hides !== undefined,
    nodes,
    frame,
    folded: tree.folded,
    parent: tree.parent,
    children,
    functionOf,
    target: tree.target,
    hidden: tree.hidden,
    cells,
    room: roomFor(nodes),
  };
}

/** The node that stands for the end of a stack: of a call into a library, its caller. */
export function shownNode(page: Page, node: number): number {
  if (!page.isFolded) return node;
  let shown = node;
  while (shown > 0 && page.isLibrary[page.functionOf[shown]!]) shown = page.parent[shown]!;
  return shown > 0 ? shown : node;
}

/** The text shown for a function, thread ... without a name. */
export function nameAt(page: Page, index: number): string {
  return (index >= 0 && page.names[index]) || "[unnamed]";
}

/** As shown: without arguments and other parts that differ between machines only. */
export function functionName(page: Page, index: number): string {
  const name = page.data.frames.name[page.frameOf[index]!]!;
  return (name >= 0 && page.shortNames[name]) || "[unnamed]";
}

/** In full, for tooltips, search and what is copied. */
export function fullName(page: Page, index: number): string {
  return nameAt(page, page.data.frames.name[page.frameOf[index]!]!);
}

/** Whether a survival curve, called "name (module)", is of a function. */
export function isCurveOf(page: Page, curve: Pick<Survival, "name">, of: number): boolean {
  const name = printable(curve.name);
  const full = fullName(page, of);
  if (!name.startsWith(full)) return false;
  return name === full || name === `${full} (${baseName(moduleName(page, of))})`;
}

/** "" where not known. */
export function moduleName(page: Page, index: number): string {
  const module = page.data.frames.module[page.frameOf[index]!]!;
  return module >= 0 ? nameAt(page, module) : "";
}

/** "file:line" of a frame, "" where not known. */
export function placeOf(page: Page, frame: number): string {
  const file = page.data.frames.file[frame]!;
  if (!(file >= 0)) return "";
  const line = page.data.frames.line[frame]!;
  return line > 0 ? `${nameAt(page, file)}:${line}` : nameAt(page, file);
}

/** "leaky.cc:11": the place without its folders, "" where not known. */
export function shortPlaceOf(page: Page, frame: number): string {
  return frame < 0 ? "" : baseName(placeOf(page, frame));
}

const PYTHON_LIBRARY = /^.*\/(?:site|dist)-packages\/|^.*?\/lib(?:64)?\/python[\d.]+(?:zip)?\//;

/** The part of a path behind the last slash; of Python's libraries with the folders of the package,
 * and otherwise with its folder where many files have the same name: "asyncio/locks.py",
 * "app/__init__.py". */
export function baseName(path: string): string {
  if (/\.py(:\d+)?$/.test(path) && PYTHON_LIBRARY.test(path)) return path.replace(PYTHON_LIBRARY, "");
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1) || path;
  if (!/^__(init|main)__\.py/.test(name)) return name;
  return path.slice(path.lastIndexOf("/", slash - 1) + 1);
}
