// Where the boxes of an icicle stand: row by row from the zoomed node down, only as far as asked
// and only what is wide enough to be seen. Children come heaviest first, so that what is left out
// of a row is one stretch at its right end.
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
}

/** Pixels below which a box is part of the rest of its row. */
const LEAST_WIDTH = 1;
/** In place of a node: boxes too narrow to draw. */
export const REST = -1;

/** Boxes by column. */
interface Row {
  node: number[];
  x: number[];
  width: number[];
}

export class Layout {
  /** Boxes, row after row; row r is rowStart[r] to rowStart[r + 1]. */
  readonly node: number[] = [];
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
    const path: number[] = [];
    for (let at = zoomed; at >= 0; at = at === 0 ? -1 : tree.parents[at]!) path.push(at);
    for (const node of path.reverse()) this.push({ node: [node], x: [0], width: [pixels] });
    this.above = path.length - 1;
  }

  get rows(): number {
    return this.rowStart.length - 1;
  }

  /** Lays out further rows until there are `wanted` or no more. */
  extend(wanted: number): void {
    finished(this.extending(wanted));
  }

  /** The same in steps. */
  *extending(wanted: number): Steps<void> {
    while (this.rows < wanted) {
      const before = this.rows;
      const row = yield* this.nextRow();
      if (row.node.length === 0) return;
      // Somebody else may have asked for the same row meanwhile, and had it at once.
      if (this.rows === before) this.push(row);
    }
  }

  /** The row that a box stands in. */
  rowAt(box: number): number {
    let low = 0;
    let high = this.rows - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rowStart[middle]! <= box) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The box under a point of a row, or -1. */
  boxAt(row: number, x: number): number {
    if (row < 0 || row >= this.rows) return -1;
    let low = this.rowStart[row]!;
    let high = this.rowStart[row + 1]! - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.x[middle]! <= x) low = middle;
      else high = middle - 1;
    }
    const isInside = low >= 0 && x >= this.x[low]! && x < this.x[low]! + this.width[low]!;
    return isInside ? low : -1;
  }

  private push(row: Row): void {
    for (let i = 0; i < row.node.length; ++i) {
      this.node.push(row.node[i]!);
      this.x.push(row.x[i]!);
      this.width.push(row.width[i]!);
    }
    this.rowStart.push(this.node.length);
  }

  private *nextRow(): Steps<Row> {
    const row: Row = { node: [], x: [], width: [] };
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
    for (let child = first; child < first + count; ++child) {
      if (pace.isDue()) yield;
      const width = this.tree.weight(child) * scale;
      if (rest > 0 || width < LEAST_WIDTH) {
        rest += width;
        continue;
      }
      add(row, child, x, width);
      x += width;
    }
    if (rest >= LEAST_WIDTH) add(row, REST, x, Math.min(rest, this.pixels - x));
  }
}

function add(row: Row, node: number, x: number, width: number): void {
  row.node.push(node);
  row.x.push(x);
  row.width.push(width);
}
