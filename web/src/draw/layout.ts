// Where the boxes of an icicle stand: row by row from the zoomed node down, only as far as asked
// and only what is wide enough to be seen. Children come heaviest first, so that what is left out
// of a row is one stretch at its right end.

/** What a chart draws. Node 0 is the root. */
export interface Tree {
  /** [first, count] of the children, heaviest first. */
  children(node: number): [number, number];
  /** Children share their parent's width in proportion. */
  weight(node: number): number;
  readonly parents: ArrayLike<number>;
}

/** Pixels below which a box is part of the rest of its row. */
const LEAST_WIDTH = 1;
/** In place of a node: boxes too narrow to draw. */
export const REST = -1;

export class Layout {
  /** Boxes by column, row after row; row r is rowStart[r] to rowStart[r + 1]. */
  node: number[] = [];
  x: number[] = [];
  width: number[] = [];
  rowStart: number[] = [0];
  /** Rows of what stands above the zoomed node. */
  readonly above: number;

  constructor(
    private readonly tree: Tree,
    zoomed: number,
    private readonly pixels: number,
  ) {
    const path: number[] = [];
    for (let at = zoomed; at >= 0; at = at === 0 ? -1 : tree.parents[at]!) path.push(at);
    for (const node of path.reverse()) {
      this.push(node, 0, pixels);
      this.rowStart.push(this.node.length);
    }
    this.above = path.length - 1;
  }

  get rows(): number {
    return this.rowStart.length - 1;
  }

  /** Lays out further rows until there are `wanted`; false when there are no more. */
  extend(wanted: number): boolean {
    while (this.rows < wanted) if (!this.addRow()) return false;
    return true;
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

  private push(node: number, x: number, width: number): void {
    this.node.push(node);
    this.x.push(x);
    this.width.push(width);
  }

  private addRow(): boolean {
    const first = this.rowStart[this.rows - 1]!;
    const last = this.rowStart[this.rows]!;
    for (let box = first; box < last; ++box) {
      if (this.node[box] !== REST) this.addChildren(box);
    }
    if (this.node.length === last) return false;
    this.rowStart.push(this.node.length);
    return true;
  }

  private addChildren(box: number): void {
    const node = this.node[box]!;
    const whole = this.tree.weight(node);
    if (!(whole > 0)) return;
    const scale = this.width[box]! / whole;
    const [first, count] = this.tree.children(node);
    let x = this.x[box]!;
    for (let child = first; child < first + count; ++child) {
      const width = this.tree.weight(child) * scale;
      if (width < LEAST_WIDTH) {
        this.addRest(child, first + count, x, scale);
        return;
      }
      this.push(child, x, width);
      x += width;
    }
  }

  private addRest(from: number, to: number, x: number, scale: number): void {
    let width = 0;
    for (let child = from; child < to; ++child) width += this.tree.weight(child) * scale;
    if (width >= LEAST_WIDTH) this.push(REST, x, Math.min(width, this.pixels - x));
  }
}
