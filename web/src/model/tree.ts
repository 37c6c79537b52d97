// The tree that an icicle shows, unfolded as far as somebody looks: functions below each other,
// callees of some nodes or their callers. A node stands for one or more entries, which are nodes of
// the page's call tree; no object is made for any of them.
import { bytesForOrder, emptySums, merge, Sum, type Sums } from "../numbers/sums";
import type { Page } from "./page";
import type { Selected } from "./selection";
import { finished, type Steps, STRETCH } from "./slices";

export type Direction = "callees" | "callers";

/** Node 0: all that the tree is about. */
export const ROOT = 0;
const NOT_UNFOLDED = -1;

type Numbers = Int32Array<ArrayBuffer>;

function grown(array: Numbers, least: number): Numbers {
  if (array.length >= least) return array;
  const larger = new Int32Array(Math.max(least, 2 * array.length));
  larger.set(array);
  return larger;
}

export class CallTree {
  /** Of each node; -1 for the root. */
  functions = new Int32Array(1024);
  parents = new Int32Array(1024);
  sums: Sums = emptySums(1024);
  private firstChild = new Int32Array(1024).fill(NOT_UNFOLDED);
  private childCount = new Int32Array(1024);
  private firstEntry = new Int32Array(1024);
  private entryCount = new Int32Array(1024);
  private nodes = 1;
  /** Where an entry stands, and whose sums it carries. */
  private cursor: Numbers;
  private origin: Numbers;
  private entries = 0;
  /** Scratch: the place of a function among the children being made, and whose children. */
  private readonly slot: Numbers;
  private readonly owner: Int32Array;

  private constructor(
    private readonly page: Page,
    private readonly weights: Sums,
    readonly direction: Direction,
    private readonly hidesPlumbing: boolean,
    capacity: number,
  ) {
    this.cursor = new Int32Array(capacity);
    this.origin = new Int32Array(capacity);
    this.slot = new Int32Array(page.functions);
    this.owner = new Int32Array(page.functions).fill(-1);
    this.functions[ROOT] = -1;
    this.parents[ROOT] = -1;
  }

  /** The whole call tree from its root. */
  static ofCallees(page: Page, selected: Selected, hidesPlumbing: boolean): CallTree {
    const tree = new CallTree(page, selected.total, "callees", hidesPlumbing, 4096);
    tree.add(0, 0);
    return tree.rooted();
  }

  /** Every function at the end of a stack, with its callers below. */
  static ofCallers(page: Page, selected: Selected, hidesPlumbing: boolean): CallTree {
    return finished(CallTree.growingCallers(page, selected, hidesPlumbing));
  }

  /** The same in steps, with the root unfolded: as many stacks as there are end there. */
  static *growingCallers(page: Page, selected: Selected, hidesPlumbing: boolean): Steps<CallTree> {
    const tree = new CallTree(page, selected.self, "callers", hidesPlumbing, page.nodes);
    for (let i = 1; i < page.nodes; ++i) {
      if (i % STRETCH === 0) yield;
      if (!isEmpty(selected.self, i)) tree.cursor[tree.entries++] = i;
    }
    tree.origin.set(tree.cursor.subarray(0, tree.entries));
    tree.entryCount[ROOT] = tree.entries;
    // All stacks pass through the root of all.
    merge(tree.sums, ROOT, selected.total, 0);
    yield* tree.unfoldCallers(ROOT);
    return tree;
  }

  /** What one function calls, or who calls it, wherever it stands outermost. */
  static around(
    page: Page,
    selected: Selected,
    functionIndex: number,
    direction: Direction,
    hidesPlumbing: boolean,
  ): CallTree {
    const tree = new CallTree(page, selected.total, direction, hidesPlumbing, 4096);
    for (const node of outermostNodes(page, functionIndex)) {
      if (isEmpty(selected.total, node)) continue;
      tree.add(direction === "callers" ? page.parent[node]! : node, node);
    }
    return tree.rooted();
  }

  get size(): number {
    return this.nodes;
  }

  /** [first, count] of the children, heaviest first. */
  children(node: number): [number, number] {
    if (this.firstChild[node] === NOT_UNFOLDED) this.unfold(node);
    return [this.firstChild[node]!, this.childCount[node]!];
  }

  weight(node: number): number {
    const row = node * Sum.Width;
    return this.sums[row + Sum.CertainBytes]! + this.sums[row + Sum.Weighted]!;
  }

  depth(node: number): number {
    let depth = 0;
    for (let at = node; at > ROOT; at = this.parents[at]!) ++depth;
    return depth;
  }

  /** Functions from below the root to the node. */
  path(node: number): number[] {
    const path: number[] = [];
    for (let at = node; at > ROOT; at = this.parents[at]!) path.push(this.functions[at]!);
    return path.reverse();
  }

  /** The node of a path, or of as much of it as there is. */
  find(path: readonly number[]): number {
    let node = ROOT;
    for (const wanted of path) {
      const [first, count] = this.children(node);
      let next = -1;
      for (let i = first; i < first + count; ++i) if (this.functions[i] === wanted) next = i;
      if (next < 0) return node;
      node = next;
    }
    return node;
  }

  /** The frame of a node that carries most: with `--source` a function has one for each line. */
  frame(node: number): number {
    let best = -1;
    let most = -1;
    const first = this.firstEntry[node]!;
    for (let i = first; i < first + this.entryCount[node]!; ++i) {
      const row = this.origin[i]! * Sum.Width;
      const weight = this.weights[row + Sum.CertainBytes]! + this.weights[row + Sum.Weighted]!;
      if (weight > most) [best, most] = [this.cursor[i]!, weight];
    }
    return best < 0 ? -1 : this.page.data.nodes.frame[best]!;
  }

  /** Nodes of the page's tree that the node stands for. */
  entriesOf(node: number): Int32Array {
    const first = this.firstEntry[node]!;
    return this.cursor.subarray(first, first + this.entryCount[node]!);
  }

  private add(cursor: number, origin: number): void {
    this.cursor = grown(this.cursor, this.entries + 1);
    this.origin = grown(this.origin, this.entries + 1);
    this.cursor[this.entries] = cursor;
    this.origin[this.entries++] = origin;
  }

  private rooted(): this {
    this.entryCount[ROOT] = this.entries;
    for (let i = 0; i < this.entries; ++i) merge(this.sums, ROOT, this.weights, this.origin[i]!);
    return this;
  }

  private isShown(node: number): boolean {
    return !(this.hidesPlumbing && this.page.isPlumbing[this.page.functionOf[node]!]);
  }

  /** Calls `found` for every node one step further down. */
  private stepDown(cursor: number, found: (cursor: number, origin: number) => void): void {
    const { start, child } = this.page.children;
    for (let i = start[cursor]!; i < start[cursor + 1]!; ++i) {
      const node = child[i]!;
      if (isEmpty(this.weights, node)) continue;
      if (this.isShown(node)) found(node, node);
      else this.stepDown(node, found);
    }
  }

  private unfold(node: number): void {
    if (this.direction === "callers") return finished(this.unfoldCallers(node));
    const found: number[] = [];
    const keys: number[] = [];
    const weights: number[] = [];
    const counts: number[] = [];
    const last = this.firstEntry[node]! + this.entryCount[node]!;
    for (let entry = this.firstEntry[node]!; entry < last; ++entry) {
      this.stepDown(this.cursor[entry]!, (cursor, origin) => {
        const key = this.page.functionOf[cursor]!;
        if (this.owner[key] !== node) {
          this.owner[key] = node;
          this.slot[key] = keys.length;
          keys.push(key);
          weights.push(0);
          counts.push(0);
        }
        const slot = this.slot[key]!;
        const row = origin * Sum.Width;
        weights[slot]! += this.weights[row + Sum.CertainBytes]! + this.weights[row + Sum.Weighted]!;
        ++counts[slot]!;
        found.push(cursor, origin);
      });
    }
    finished(this.placeInOrder(node, found, keys, weights, counts));
  }

  /** An entry has one caller at most: without a call for each, as there may be 200,000. */
  private *unfoldCallers(node: number): Steps<void> {
    const { page, weights: sums, slot } = this;
    const first = this.firstEntry[node]!;
    const entries = this.entryCount[node]!;
    const found = new Int32Array(2 * entries);
    const keys: number[] = [];
    const weights: number[] = [];
    const counts: number[] = [];
    let made = 0;
    for (let entry = first; entry < first + entries; ++entry) {
      if (entry % STRETCH === STRETCH - 1) yield;
      // Below the root of all callers, and around a function, the first step is the cursor itself.
      let next = node === ROOT ? this.cursor[entry]! : page.parent[this.cursor[entry]!]!;
      while (next > 0 && !this.isShown(next)) next = page.parent[next]!;
      if (next <= 0) continue;
      const origin = this.origin[entry]!;
      const key = page.functionOf[next]!;
      if (this.owner[key] !== node) {
        this.owner[key] = node;
        slot[key] = keys.length;
        keys.push(key);
        weights.push(0);
        counts.push(0);
      }
      weights[slot[key]!]! += bytesForOrder(sums, origin);
      ++counts[slot[key]!]!;
      found[made++] = next;
      found[made++] = origin;
    }
    yield* this.placeInOrder(node, found.subarray(0, made), keys, weights, counts);
  }

  private *placeInOrder(
    node: number,
    found: ArrayLike<number>,
    keys: number[],
    weights: number[],
    counts: number[],
  ): Steps<void> {
    const order = keys
      .map((_, i) => i)
      .sort((a, b) => weights[b]! - weights[a]! || keys[a]! - keys[b]!);
    yield* this.place(node, found, keys, counts, order);
    // The root may be unfolded again under another number of children: forget whose slots these are.
    for (const key of keys) this.owner[key] = -1;
  }

  /** Makes the children of `node` in `order` and moves the found entries to them. */
  private *place(
    node: number,
    found: ArrayLike<number>,
    keys: number[],
    counts: number[],
    order: number[],
  ): Steps<void> {
    const first = this.nodes;
    this.reserve(first + order.length, this.entries + found.length / 2);
    const next = new Int32Array(order.length);
    let entry = this.entries;
    order.forEach((slot, i) => {
      const child = first + i;
      this.functions[child] = keys[slot]!;
      this.parents[child] = node;
      this.firstChild[child] = NOT_UNFOLDED;
      this.firstEntry[child] = entry;
      this.entryCount[child] = counts[slot]!;
      next[slot] = entry;
      this.slot[keys[slot]!] = slot;
      entry += counts[slot]!;
    });
    const childOf = new Int32Array(order.length);
    order.forEach((slot, i) => (childOf[slot] = first + i));
    for (let i = 0; i < found.length; i += 2) {
      if (i % STRETCH === STRETCH - 2) yield;
      const slot = this.slot[this.page.functionOf[found[i]!]!]!;
      this.cursor[next[slot]!] = found[i]!;
      this.origin[next[slot]!++] = found[i + 1]!;
      merge(this.sums, childOf[slot]!, this.weights, found[i + 1]!);
    }
    this.entries = entry;
    this.nodes = first + order.length;
    this.firstChild[node] = first;
    this.childCount[node] = order.length;
  }

  private reserve(nodes: number, entries: number): void {
    this.functions = grown(this.functions, nodes);
    this.parents = grown(this.parents, nodes);
    this.firstChild = grown(this.firstChild, nodes);
    this.childCount = grown(this.childCount, nodes);
    this.firstEntry = grown(this.firstEntry, nodes);
    this.entryCount = grown(this.entryCount, nodes);
    this.cursor = grown(this.cursor, entries);
    this.origin = grown(this.origin, entries);
    if (this.sums.length >= this.functions.length * Sum.Width) return;
    const sums = emptySums(this.functions.length);
    sums.set(this.sums);
    this.sums = sums;
  }
}

export function isEmpty(sums: Sums, row: number): boolean {
  return sums[row * Sum.Width + Sum.Samples] === 0 && sums[row * Sum.Width + Sum.Certain] === 0;
}

/** Nodes of a function that have no other node of it above them. */
export function outermostNodes(page: Page, functionIndex: number): number[] {
  const found: number[] = [];
  const isBelow = new Uint8Array(page.nodes);
  for (let i = 1; i < page.nodes; ++i) {
    const isIt = page.functionOf[i] === functionIndex;
    const above = isBelow[page.parent[i]!]!;
    if (isIt && !above) found.push(i);
    isBelow[i] = isIt || above ? 1 : 0;
  }
  return found;
}
