// Estimates of a tree's nodes: made when first asked for, a few milliseconds' worth at a time, so
// that a redraw never waits for quantiles.
import type { Estimate } from "../data";
import { rowOf } from "../numbers/sums";
import { rowBytes, totalBytes } from "./measure";
import type { Selected } from "./selection";
import { type CallTree, ROOT } from "./tree";

const SLICE_MS = 6;

export class EstimateBook {
  private readonly known: (Estimate | undefined)[] = [];
  private wanted: number[] = [];

  constructor(
    private readonly tree: CallTree,
    private readonly selected: Selected,
    private readonly level: number,
    private readonly isWhole: boolean,
  ) {}

  /** Now, whatever it takes. */
  get(node: number): Estimate {
    return (this.known[node] ??= this.estimate(node));
  }

  /** What is known; asks for the rest. */
  peek(node: number): Estimate | undefined {
    const found = this.known[node];
    if (!found) this.wanted.push(node);
    return found;
  }

  /** Makes what was asked for since; true if there is anything new. */
  settle(): boolean {
    const { wanted } = this;
    this.wanted = [];
    const end = performance.now() + SLICE_MS;
    let made = 0;
    while (made < wanted.length && performance.now() < end) this.get(wanted[made++]!);
    return made > 0;
  }

  private estimate(node: number): Estimate {
    if (node === ROOT && this.isWhole) return totalBytes(this.selected, this.level);
    return rowBytes(this.selected, rowOf(this.tree.sums, node), this.level);
  }
}
