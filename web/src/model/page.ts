// PageData as typed arrays, with what is derived from it once: functions, children.
import { type Cells, FrameFlag, type PageData } from "../data";
import { emptySums, type Sums, strataSums } from "../numbers/sums";
import { printable } from "./names";

/** Cells as typed arrays. */
export interface CellColumns {
  count: number;
  strata: Sums;
  sizeClass: Int32Array;
  node: Int32Array;
  stratum: Int32Array;
  times: Float64Array;
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
  self: Sums;
  total: Sums;
  /** Selections that were made in it. */
  uses: number;
}

export function roomFor(nodes: number): Room {
  return { self: emptySums(nodes), total: emptySums(nodes), uses: 0 };
}

export interface Page {
  data: PageData;
  /** As they are shown. */
  names: string[];
  nodes: number;
  /** Of each node; 0 for the root itself. */
  parent: Int32Array;
  children: Children;
  /** Of each node: its function. */
  functionOf: Int32Array;
  /** One frame of each function: a function is a name in a module, wherever its lines are. */
  frameOf: Int32Array;
  functions: number;
  /** Of each function. */
  isPlumbing: Uint8Array;
  cells: (CellColumns | undefined)[];
  /** Of the selection that is looked at. */
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

export function childrenOf(parent: Int32Array): Children {
  const start = new Int32Array(parent.length + 1);
  for (let i = 1; i < parent.length; ++i) ++start[parent[i]! + 1]!;
  for (let i = 0; i < parent.length; ++i) start[i + 1]! += start[i]!;
  const next = start.slice();
  const child = new Int32Array(Math.max(0, parent.length - 1));
  for (let i = 1; i < parent.length; ++i) child[next[parent[i]!]!++] = i;
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
  return {
    count: cells.node.length,
    strata: strataSums(cells.strata),
    sizeClass: Int32Array.from(cells.strata.sizeClass),
    node: Int32Array.from(cells.node),
    stratum: Int32Array.from(cells.stratum),
    times: Float64Array.from(cells.count),
    thread: Int32Array.from(cells.thread),
    type: Int32Array.from(cells.type),
    label: Int32Array.from(cells.label),
    born: Int32Array.from(cells.born),
    died: Int32Array.from(cells.died),
  };
}

/** Throws an Error with a clear line where the data is not what data.ts says. */
export function pageOf(data: PageData): Page {
  if (data?.schema !== 1) throw new Error("this page's data is of another version");
  const nodes = data.nodes.up.length;
  const functions = functionsOf(data.frames);
  const parent = parentsOf(data.nodes.up);
  const functionOf = new Int32Array(nodes);
  for (let i = 0; i < nodes; ++i) functionOf[i] = functions.of[data.nodes.frame[i]!] ?? 0;
  const isPlumbing = new Uint8Array(functions.first.length);
  functions.first.forEach((frame, i) => {
    isPlumbing[i] = data.frames.flags[frame]! & FrameFlag.Plumbing ? 1 : 0;
  });
  return {
    data,
    names: data.names.map(printable),
    nodes,
    parent,
    children: childrenOf(parent),
    functionOf,
    frameOf: functions.first,
    functions: functions.first.length,
    isPlumbing,
    cells: data.cells.map(columnsOf),
    room: roomFor(nodes),
    lastBucket: data.timeline ? data.timeline.edges.length - 2 : -1,
  };
}

/** What stands where a function, thread ... has no name. */
export function nameAt(page: Page, index: number): string {
  return (index >= 0 && page.names[index]) || "[unnamed]";
}

export function functionName(page: Page, index: number): string {
  return nameAt(page, page.data.frames.name[page.frameOf[index]!]!);
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

/** The part of a path behind the last slash. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}
