// The call tree of a comparison. A node is as wide as its own change or as what is below it takes,
// whichever is more: children fill their parent where they account for it, and what grew in one
// place and shrank in another is seen in both.
import type { Diff } from "../data";
import type { Tree } from "../draw/layout";
import { sorted } from "./order";
import type { Page } from "./page";
import { Pace, type Steps, STRETCH } from "./slices";

export class DiffTree implements Tree {
  private constructor(
    private readonly page: Page,
    private readonly diff: Diff,
    /** Nodes of the page, breadth first, children heaviest first. */
    private readonly order: Int32Array,
    readonly parents: Int32Array,
    private readonly firstChild: Int32Array,
    private readonly childCount: Int32Array,
    /** By node of the page. */
    private readonly weights: Float64Array,
    /** By node of the page: its row of diff.nodes; -1: nothing is known of it. */
    private readonly rows: Int32Array,
  ) {}

  static *of(page: Page, diff: Diff): Steps<DiffTree> {
    const rows = new Int32Array(page.nodes).fill(-1);
    diff.nodes.node.forEach((node, row) => (rows[node] = row));
    const weights = yield* weightsOf(page, diff, rows);
    const order = new Int32Array(page.nodes);
    const parents = new Int32Array(page.nodes).fill(-1);
    const firstChild = new Int32Array(page.nodes);
    const childCount = new Int32Array(page.nodes);
    const heaviestFirst = (a: number, b: number) => weights[b]! - weights[a]! || a - b;
    const { start, child } = page.children;
    const pace = new Pace();
    let made = 1;
    for (let at = 0; at < page.nodes; ++at) {
      const node = order[at]!;
      firstChild[at] = made;
      childCount[at] = start[node + 1]! - start[node]!;
      const below = Array.from(child.subarray(start[node]!, start[node + 1]!));
      for (const next of below.length > 1 ? yield* sorted(below, heaviestFirst) : below) {
        if (pace.isDue()) yield;
        parents[made] = at;
        order[made++] = next;
      }
      if (pace.isDue()) yield;
    }
    return new DiffTree(page, diff, order, parents, firstChild, childCount, weights, rows);
  }

  children(node: number): [number, number] {
    return [this.firstChild[node]!, this.childCount[node]!];
  }

  /** An only child that changed as its parent did is drawn with it. */
  joins(parent: number, child: number): boolean {
    if (parent === 0 || this.childCount[parent] !== 1) return false;
    const [above, below] = [this.rowOf(parent), this.rowOf(child)];
    if (above < 0 || below < 0) return false;
    const { delta } = this.diff.nodes;
    const least = Math.abs(delta[above]!) * (1 - 1e-9);
    return Math.abs(delta[above]! - delta[below]!) <= Math.abs(delta[above]!) - least;
  }

  weight(node: number): number {
    return this.weights[this.order[node]!]!;
  }

  /** -1 of the root. */
  functionOf(node: number): number {
    return node === 0 ? -1 : this.page.functionOf[this.order[node]!]!;
  }

  rowOf(node: number): number {
    return this.rows[this.order[node]!]!;
  }

  path(node: number): number[] {
    const path: number[] = [];
    for (let at = node; at > 0; at = this.parents[at]!) path.push(this.functionOf(at));
    return path.reverse();
  }

  *finding(path: readonly number[]): Steps<number> {
    let node = 0;
    for (const wanted of path) {
      const [first, count] = this.children(node);
      let next = first;
      while (next < first + count && this.functionOf(next) !== wanted) ++next;
      if (next === first + count) return node;
      node = next;
      yield;
    }
    return node;
  }
}

/** By node: before one is reached, all of its children have added their widths to it. */
function* weightsOf(page: Page, diff: Diff, rows: Int32Array): Steps<Float64Array> {
  const weights = new Float64Array(page.nodes);
  for (let i = page.nodes - 1; i >= 0; --i) {
    if (i % STRETCH === 0) yield;
    const delta = rows[i]! < 0 ? 0 : diff.nodes.delta[rows[i]!]!;
    weights[i] = Math.max(Math.abs(delta), weights[i]!);
    if (i > 0) weights[page.parent[i]!]! += weights[i]!;
  }
  return weights;
}
