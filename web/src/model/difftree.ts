// The call tree of a comparison. A node is as wide as its own change or as what is below it takes,
// whichever is more: children fill their parent where they account for it, and what grew in one
// place and shrank in another is seen in both.
import type { Diff } from "../data";
import type { Tree } from "../draw/layout";
import type { Page } from "./page";

export class DiffTree implements Tree {
  readonly parents: Int32Array;
  private readonly weights: Float64Array;
  /** Row of diff.nodes of each node; -1: nothing is known of it. */
  private readonly rows: Int32Array;
  /** Nodes of the page in the order in which children are heaviest first. */
  private readonly order: Int32Array;
  private readonly firstChild: Int32Array;
  private readonly childCount: Int32Array;

  constructor(
    private readonly page: Page,
    readonly diff: Diff,
  ) {
    const rowOf = new Int32Array(page.nodes).fill(-1);
    diff.nodes.node.forEach((node, row) => (rowOf[node] = row));
    const delta = (node: number) => (rowOf[node]! < 0 ? 0 : diff.nodes.delta[rowOf[node]!]!);
    // Before a node is reached, all of its children have added their widths to it.
    const weight = new Float64Array(page.nodes);
    for (let i = page.nodes - 1; i >= 0; --i) {
      weight[i] = Math.max(Math.abs(delta(i)), weight[i]!);
      if (i > 0) weight[page.parent[i]!]! += weight[i]!;
    }
    // Numbered anew, breadth first, so that children stand together.
    this.order = new Int32Array(page.nodes);
    this.parents = new Int32Array(page.nodes).fill(-1);
    this.firstChild = new Int32Array(page.nodes);
    this.childCount = new Int32Array(page.nodes);
    let made = 1;
    const { start, child } = page.children;
    for (let at = 0; at < page.nodes; ++at) {
      const node = this.order[at]!;
      const below = Array.from(child.subarray(start[node]!, start[node + 1]!)).sort(
        (a, b) => weight[b]! - weight[a]! || a - b,
      );
      this.firstChild[at] = made;
      this.childCount[at] = below.length;
      for (const next of below) {
        this.parents[made] = at;
        this.order[made++] = next;
      }
    }
    this.weights = Float64Array.from(this.order, (node) => weight[node]!);
    this.rows = Int32Array.from(this.order, (node) => rowOf[node]!);
  }

  children(node: number): [number, number] {
    return [this.firstChild[node]!, this.childCount[node]!];
  }

  weight(node: number): number {
    return this.weights[node]!;
  }

  /** -1 of the root. */
  functionOf(node: number): number {
    return node === 0 ? -1 : this.page.functionOf[this.order[node]!]!;
  }

  rowOf(node: number): number {
    return this.rows[node]!;
  }

  path(node: number): number[] {
    const path: number[] = [];
    for (let at = node; at > 0; at = this.parents[at]!) path.push(this.functionOf(at));
    return path.reverse();
  }

  find(path: readonly number[]): number {
    let node = 0;
    for (const wanted of path) {
      const [first, count] = this.children(node);
      let next = -1;
      for (let i = first; i < first + count && next < 0; ++i) {
        if (this.functionOf(i) === wanted) next = i;
      }
      if (next < 0) return node;
      node = next;
    }
    return node;
  }
}
