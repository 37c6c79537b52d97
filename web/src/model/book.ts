// Estimates of a tree's nodes: made on first use, and never so many at a time that a
// redraw waits for quantiles.
import type { Estimate } from "../numbers/arithmetic";
import { rowBytes, totalBytes } from "./measure";
import { OF_INTERVALS, Pace, type Steps } from "./slices";
import { type CallTree, ROOT } from "./tree";

export class EstimateBook {
  private readonly known: (Estimate | undefined)[] = [];
  private wanted: number[] = [];

  constructor(
    private readonly tree: CallTree,
    private readonly level: number,
    private readonly isWhole: boolean,
  ) {}

  /** At once, even if it takes long. */
  get(node: number): Estimate {
    return (this.known[node] ??= this.estimate(node));
  }

  /** What is known; requests the rest. */
  peek(node: number): Estimate | undefined {
    const found = this.known[node];
    if (!found) this.wanted.push(node);
    return found;
  }

  /** Makes the requested estimates; true if there is anything new. */
  *settling(): Steps<boolean> {
    const { wanted } = this;
    this.wanted = [];
    const pace = new Pace();
    for (const node of wanted) {
      if (pace.isDue(OF_INTERVALS)) yield;
      this.get(node);
    }
    return wanted.length > 0;
  }

  private estimate(node: number): Estimate {
    if (node === ROOT && this.isWhole) return totalBytes(this.tree.selected, this.level);
    return rowBytes(this.tree.selected, this.tree.sums(node), this.level);
  }
}
