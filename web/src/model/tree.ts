// The tree that an icicle shows, unfolded as far as the reader opens it: functions below each
// other, callees of some nodes or their callers. A node stands for one or more entries, which are
// nodes of the page's call tree; no object is made for any of them.
import { bytesForOrder, isEmpty, type Sums } from "../numbers/sums";
import { sorted } from "./order";
import { type Page, shownNode } from "./page";
import { SumRows } from "./rows";
import type { Selected } from "./selection";
import { finished, Pace, type Steps, STRETCH } from "./slices";

export type Direction = "callees" | "callers";

/** Node 0: the whole tree. */
export const ROOT = 0;
const NOT_UNFOLDED = -1;

type Numbers = Int32Array<ArrayBuffer>;

function grown(array: Numbers, least: number): Numbers {
  if (array.length >= least) return array;
  const larger = new Int32Array(Math.max(least, 2 * array.length));
  larger.set(array);
  return larger;
}

/** Entries found one step below a node, and the functions that they are of. */
interface Found {
  /** The node of an entry, and the node whose sums it carries. */
  cursors: number[];
  origins: number[];
}

export class CallTree {
  /** Of each node; -1 for the root. */
  functions: Numbers = new Int32Array(1024);
  parents: Numbers = new Int32Array(1024);
  private readonly rows = new SumRows();
  private firstChild: Numbers = new Int32Array(1024);
  private childCount: Numbers = new Int32Array(1024);
  private firstEntry: Numbers = new Int32Array(1024);
  private entryCount: Numbers = new Int32Array(1024);
  /** The entry that carries most. */
  private heaviest: Numbers = new Int32Array(1024);
  private nodes = 1;
  /** As in Found, of all nodes, those of a node together. */
  private cursor: Numbers = new Int32Array(1024);
  private origin: Numbers = new Int32Array(1024);
  private entries = 0;
  /** Where callees begin, also where nothing of what is selected is below. */
  private starts: number[] = [0];
  /** Of all unfolding: many small nodes take as long as a large one. */
  private readonly pace = new Pace();

  private constructor(
    private readonly page: Page,
    readonly selected: Selected,
    private readonly weights: Sums,
    readonly direction: Direction,
  ) {
    this.reserve(1, 0);
    this.functions[ROOT] = -1;
    this.parents[ROOT] = -1;
    this.firstChild[ROOT] = NOT_UNFOLDED;
  }

  /** The whole call tree from its root. */
  static *ofCallees(page: Page, selected: Selected): Steps<CallTree> {
    const tree = new CallTree(page, selected, selected.total, "callees");
    tree.add(0, 0);
    yield* tree.addUpRoot();
    return tree;
  }

  /** Every function at the end of a stack, with its callers below. */
  static *ofCallers(page: Page, selected: Selected): Steps<CallTree> {
    const tree = new CallTree(page, selected, selected.self, "callers");
    for (let i = 1; i < page.nodes; ++i) {
      if (i % STRETCH === 0) yield;
      if (!isEmpty(selected.self, i)) tree.add(shownNode(page, i), i);
    }
    tree.entryCount[ROOT] = tree.entries;
    // All stacks pass through the root of all.
    tree.rows.add(ROOT, selected.total, 0);
    return tree;
  }

  /** The callees or the callers of one function, counted where it is outermost. */
  static *around(
    page: Page,
    selected: Selected,
    functionIndex: number,
    direction: Direction,
  ): Steps<CallTree> {
    const tree = new CallTree(page, selected, selected.total, direction);
    const isBelow = new Uint8Array(page.nodes);
    tree.starts = [];
    for (let node = 1; node < page.nodes; ++node) {
      if (node % STRETCH === 0) yield;
      const isIt = page.functionOf[node] === functionIndex;
      const isNested = isBelow[page.parent[node]!]! === 1;
      isBelow[node] = isIt || isNested ? 1 : 0;
      if (isIt && !isNested) tree.starts.push(node);
      if (!isIt || isNested || isEmpty(selected.total, node)) continue;
      tree.add(direction === "callers" ? page.parent[node]! : node, node);
    }
    yield* tree.addUpRoot();
    return tree;
  }

  get size(): number {
    return this.nodes;
  }

  /** The sums of a node, as an array of its own. */
  sums(node: number): Sums {
    return this.rows.copy(node);
  }

  /** [first, count] of the children, heaviest first. */
  children(node: number): [number, number] {
    if (this.firstChild[node] === NOT_UNFOLDED) finished(this.unfolding(node));
    return [this.firstChild[node]!, this.childCount[node]!];
  }

  /** Makes the children, if they are not there yet. */
  *unfolding(node: number): Steps<void> {
    if (this.firstChild[node] !== NOT_UNFOLDED) return;
    const found = yield* this.direction === "callers" ? this.callersOf(node) : this.calleesOf(node);
    // Evicted sums are gone; the tree will be replaced soon.
    const isThere = this.selected.isThere();
    yield* this.place(node, isThere ? found : { cursors: [], origins: [] });
  }

  weight(node: number): number {
    return this.rows.bytesForOrder(node);
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
  *finding(path: readonly number[]): Steps<number> {
    let node = ROOT;
    for (const wanted of path) {
      yield* this.unfolding(node);
      const [first, count] = this.children(node);
      const next = this.functions.subarray(first, first + count).indexOf(wanted);
      if (next < 0) return node;
      node = first + next;
    }
    return node;
  }

  /** The frame of a node that carries most: a function has one for each line. */
  frame(node: number): number {
    return this.page.frame[this.cursor[this.heaviest[node]!]!] ?? -1;
  }

  /** How many frames below the node are folded into it, at most. */
  folded(node: number): number {
    return this.page.folded[this.cursor[this.heaviest[node]!]!] ?? 0;
  }

  /** Whether it is a call into a library, kept for what it shows of its caller. */
  isLibrary(node: number): boolean {
    return node !== ROOT && this.page.isLibrary[this.functions[node]!] === 1;
  }

  /** Nodes of the page that a node of callees stands for, those too that hold nothing of what is selected. */
  *everywhere(node: number): Steps<number[]> {
    const { functionOf, children } = this.page;
    const { start, child } = children;
    let found = this.starts;
    for (const wanted of this.path(node)) {
      const below: number[] = [];
      for (const at of found) {
        for (let i = start[at]!; i < start[at + 1]!; ++i) {
          if (this.pace.isDue()) yield;
          if (functionOf[child[i]!] === wanted) below.push(child[i]!);
        }
      }
      found = below;
    }
    return found;
  }

  /** Whether the only child is drawn in one box with its parent: it has all of its bytes. */
  joins(parent: number, child: number): boolean {
    if (parent === ROOT || this.childCount[parent] !== 1) return false;
    if (this.isLibrary(parent) !== this.isLibrary(child)) return false;
    return this.weight(child) >= this.weight(parent) * (1 - 1e-9);
  }

  private add(cursor: number, origin: number): void {
    this.reserve(this.nodes, this.entries + 1);
    this.cursor[this.entries] = cursor;
    this.origin[this.entries++] = origin;
  }

  private *addUpRoot(): Steps<void> {
    this.entryCount[ROOT] = this.entries;
    for (let i = 0; i < this.entries; ++i) {
      if (i % STRETCH === STRETCH - 1) yield;
      this.rows.add(ROOT, this.weights, this.origin[i]!);
    }
  }

  private *calleesOf(node: number): Steps<Found> {
    const { start, child } = this.page.children;
    const cursors: number[] = [];
    const first = this.firstEntry[node]!;
    const last = first + this.entryCount[node]!;
    for (let entry = first; entry < last; ++entry) {
      const cursor = this.cursor[entry]!;
      for (let i = start[cursor]!; i < start[cursor + 1]!; ++i) {
        if (this.pace.isDue()) yield;
        if (!isEmpty(this.weights, child[i]!)) cursors.push(child[i]!);
      }
      if (this.pace.isDue()) yield;
    }
    return { cursors, origins: cursors };
  }

  /** An entry has one caller at most. */
  private *callersOf(node: number): Steps<Found> {
    const { parent } = this.page;
    const found: Found = { cursors: [], origins: [] };
    const first = this.firstEntry[node]!;
    const last = first + this.entryCount[node]!;
    for (let entry = first; entry < last; ++entry) {
      if (this.pace.isDue()) yield;
      // Below the root of all callers, and around a function, the first step is the cursor itself.
      const next = node === ROOT ? this.cursor[entry]! : parent[this.cursor[entry]!]!;
      if (next <= 0) continue;
      found.cursors.push(next);
      found.origins.push(this.origin[entry]!);
    }
    return found;
  }

  /** Makes a child of each function found, heaviest first, and gives it its entries. */
  private *place(node: number, { cursors, origins }: Found): Steps<void> {
    const { functionOf } = this.page;
    // Of this call alone: while it waits, another node may be unfolded.
    const slots = new Map<number, number>();
    const keys: number[] = [];
    const weights: number[] = [];
    const counts: number[] = [];
    for (let i = 0; i < cursors.length; ++i) {
      if (this.pace.isDue()) yield;
      const key = functionOf[cursors[i]!]!;
      let slot = slots.get(key);
      if (slot === undefined) {
        slot = keys.length;
        slots.set(key, slot);
        keys.push(key);
        weights.push(0);
        counts.push(0);
      }
      weights[slot]! += bytesForOrder(this.weights, origins[i]!);
      ++counts[slot]!;
    }
    const order = yield* sorted(
      [...keys.keys()],
      (a, b) => weights[b]! - weights[a]! || keys[a]! - keys[b]!,
    );
    const first = this.addChildren(node, keys, counts, order);
    // From where a function was found first to its child.
    const childOf = new Int32Array(order.length);
    order.forEach((slot, i) => (childOf[slot] = first + i));
    for (let i = 0; i < cursors.length; ++i) {
      if (this.pace.isDue()) yield;
      this.give(childOf[slots.get(functionOf[cursors[i]!]!)!]!, cursors[i]!, origins[i]!);
    }
    this.firstChild[node] = first;
    this.childCount[node] = order.length;
  }

  /** Nodes of `keys` in `order`, with room for their entries. Returns the first. */
  private addChildren(node: number, keys: number[], counts: number[], order: number[]): number {
    const first = this.nodes;
    this.nodes += order.length;
    let entry = this.entries;
    for (const count of counts) this.entries += count;
    this.reserve(this.nodes, this.entries);
    order.forEach((slot, i) => {
      const child = first + i;
      this.functions[child] = keys[slot]!;
      this.parents[child] = node;
      this.firstChild[child] = NOT_UNFOLDED;
      this.firstEntry[child] = entry;
      entry += counts[slot]!;
    });
    return first;
  }

  private give(node: number, cursor: number, origin: number): void {
    const entry = this.firstEntry[node]! + this.entryCount[node]!++;
    this.cursor[entry] = cursor;
    this.origin[entry] = origin;
    this.rows.add(node, this.weights, origin);
    const isFirst = this.entryCount[node] === 1;
    const most = this.origin[this.heaviest[node]!]!;
    if (isFirst || bytesForOrder(this.weights, origin) > bytesForOrder(this.weights, most)) {
      this.heaviest[node] = entry;
    }
  }

  private reserve(nodes: number, entries: number): void {
    this.rows.reserve(nodes);
    if (this.functions.length < nodes) {
      this.functions = grown(this.functions, nodes);
      this.parents = grown(this.parents, nodes);
      this.firstChild = grown(this.firstChild, nodes);
      this.childCount = grown(this.childCount, nodes);
      this.firstEntry = grown(this.firstEntry, nodes);
      this.entryCount = grown(this.entryCount, nodes);
      this.heaviest = grown(this.heaviest, nodes);
    }
    this.cursor = grown(this.cursor, entries);
    this.origin = grown(this.origin, entries);
  }
}
