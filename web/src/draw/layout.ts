// Where the boxes of an icicle stand: row by row from the zoomed node down, only as far as requested
// and only what is wide enough to be seen. Children come heaviest first, so that what is left out
// of a row is one stretch at its right end.
import { lastUpTo } from "../model/order";
import { finished, Pace, type Steps } from "../model/slices";

/** What a chart draws. Node 0 is the root. */
export interface Tree {
  /** [first, count] of the children, heaviest first. */
  children(node: number): [number, number];
  /** Makes the children, of a tree that has not all of them from the beginning. */
  unfolding?(node: number): Steps<void>;
  /** Children share their parent's width in proportion. */
  weight(node: number): number;
  readonly parents: ArrayLike<number>;
  /** Whether an only child is drawn in one box with its parent. */
  joins?(parent: number, child: number): boolean;
}

/** Pixels below which a box is part of the rest of its row. */
const LEAST_WIDTH = 2;
/** In place of a node: boxes too narrow to draw. */
export const REST = -1;

/** Boxes by column. */
interface Row {
  /** The last node of the chain that a box stands for; of a rest REST. */
  node: number[];
  /** The first node of the chain, or of the children in a rest. */
  first: number[];
  /** Children in a rest; 0 of other boxes. */
  rest: number[];
  x: number[];
  width: number[];
}

/** The last node of the chain that is drawn in one box. */
export function* endOfChain(tree: Tree, node: number): Steps<number> {
  for (let at = node; ;) {
    if (!tree.joins) return at;
    if (tree.unfolding) yield* tree.unfolding(at);
    const [child, count] = tree.children(at);
    if (count !== 1 || !tree.joins(at, child)) return at;
    at = child;
  }
}

export function startOfChain(tree: Tree, node: number): number {
  let at = node;
  while (at > 0 && tree.joins?.(tree.parents[at]!, at)) at = tree.parents[at]!;
  return at;
}

export class Layout {
  /** Boxes, row after row; row r is rowStart[r] to rowStart[r + 1]. */
  readonly node: number[] = [];
  readonly first: number[] = [];
  readonly rest: number[] = [];
  readonly x: number[] = [];
  readonly width: number[] = [];
  readonly rowStart: number[] = [0];
  /** Rows of what stands above the zoomed node. */
  readonly above: number;

  constructor(
    readonly tree: Tree,
    readonly zoomed: number,
    readonly pixels: number,
  ) {
    const path: [number, number][] = [];
    for (let at = zoomed; at >= 0;) {
      const first = startOfChain(tree, at);
      path.push([first, at]);
      at = first === 0 ? -1 : tree.parents[first]!;
    }
    for (const [first, node] of path.reverse()) {
      this.push({ node: [node], first: [first], rest: [0], x: [0], width: [pixels] });
    }
    this.above = path.length - 1;
  }

  get rows(): number {
    return this.rowStart.length - 1;
  }

  /** Lays out further rows until there are `wanted` or no more. */
  extend(wanted: number): void {
    finished(this.extending(wanted));
  }

  /** extend(), in steps of a few milliseconds. */
  *extending(wanted: number): Steps<void> {
    while (this.rows < wanted) {
      const before = this.rows;
      const row = yield* this.nextRow();
      if (row.node.length === 0) return;
      // Another caller may have requested and got the same row meanwhile.
      if (this.rows === before) this.push(row);
    }
  }

  /** The row that a box stands in. */
  rowAt(box: number): number {
    return lastUpTo(this.rowStart, box, 0, this.rows - 1);
  }

  /** The box under a point of a row, or -1. */
  boxAt(row: number, x: number): number {
    if (row < 0 || row >= this.rows) return -1;
    const box = lastUpTo(this.x, x, this.rowStart[row]!, this.rowStart[row + 1]! - 1);
    return x >= this.x[box]! && x < this.x[box]! + this.width[box]! ? box : -1;
  }

  /** The box that a node is drawn in, or -1. */
  boxOf(node: number): number {
    return this.node.indexOf(finished(endOfChain(this.tree, node)));
  }

  private push(row: Row): void {
    for (let i = 0; i < row.node.length; ++i) {
      this.node.push(row.node[i]!);
      this.first.push(row.first[i]!);
      this.rest.push(row.rest[i]!);
      this.x.push(row.x[i]!);
      this.width.push(row.width[i]!);
    }
    this.rowStart.push(this.node.length);
  }

  private *nextRow(): Steps<Row> {
    const row: Row = { node: [], first: [], rest: [], x: [], width: [] };
    const pace = new Pace();
    const last = this.rowStart[this.rows]!;
    for (let box = this.rowStart[this.rows - 1]!; box < last; ++box) {
      if (this.node[box] === REST) continue;
      if (this.tree.unfolding) yield* this.tree.unfolding(this.node[box]!);
      yield* this.addChildren(row, box, pace);
    }
    return row;
  }

  private *addChildren(row: Row, box: number, pace: Pace): Steps<void> {
    const whole = this.tree.weight(this.node[box]!);
    if (!(whole > 0)) return;
    const scale = this.width[box]! / whole;
    const [first, count] = this.tree.children(this.node[box]!);
    let x = this.x[box]!;
    let rest = 0;
    let wide = count;
    for (let child = first; child < first + count; ++child) {
      if (pace.isDue()) yield;
      const width = this.tree.weight(child) * scale;
      if (rest > 0 || width < LEAST_WIDTH) {
        if (rest === 0) wide = child - first;
        rest += width;
        continue;
      }
      add(row, yield* endOfChain(this.tree, child), child, 0, x, width);
      x += width;
    }
    const width = Math.min(rest, this.pixels - x);
    if (rest >= LEAST_WIDTH) add(row, REST, first + wide, count - wide, x, width);
  }
}

function add(row: Row, node: number, first: number, rest: number, x: number, width: number): void {
  row.node.push(node);
  row.first.push(first);
  row.rest.push(rest);
  row.x.push(x);
  row.width.push(width);
}
