// The call tree without library code: what is above own code goes, what is below becomes part of
// the first call out of own code, which stays because it says what was wanted. Sums of nodes never
// change by it: every stack ends somewhere in the folded tree.
import type { Page } from "./page";

export interface Folded {
  /** Of each folded node a node of the page that it stands for. */
  source: Int32Array;
  parent: Int32Array;
  /** Of each folded node: frames folded into it, at most. */
  folded: Uint16Array;
  /** Of each node of the page: the folded node that its stacks end in. */
  target: Int32Array;
  /** How many functions are hidden somewhere. */
  hidden: number;
}

/** Folded nodes, each once for its parent and frame. */
class Nodes {
  readonly source: number[] = [0];
  readonly parent: number[] = [0];
  private readonly known = new Map<number, number>();

  constructor(
    private readonly page: Page,
    private readonly frames: number,
  ) {}

  child(parent: number, node: number): number {
    const key = parent * this.frames + this.page.frame[node]!;
    let found = this.known.get(key);
    if (found === undefined) {
      found = this.source.push(node) - 1;
      this.parent.push(parent);
      this.known.set(key, found);
    }
    return found;
  }
}

export function foldedTree(page: Page): Folded {
  const { nodes, parent, functionOf, isLibrary } = page;
  const made = new Nodes(page, page.data.frames.name.length);
  /** Of each node: the folded node of the last own frame above it or of itself; 0: there is none. */
  const own = new Int32Array(nodes);
  /** Of each node of a library: the first call out of own code; 0: it is own code. */
  const call = new Int32Array(nodes);
  const depth = new Int32Array(nodes);
  const target = new Int32Array(nodes);
  const folded: number[] = [];
  const hidden = new Set<number>();
  for (let i = 1; i < nodes; ++i) {
    const above = parent[i]!;
    depth[i] = depth[above]! + 1;
    if (!isLibrary[functionOf[i]!]) {
      target[i] = own[i] = made.child(own[above]!, i);
      continue;
    }
    own[i] = own[above]!;
    // Where no own code called, the innermost frame says more than the start of the program.
    call[i] = own[i] === 0 ? i : call[above] || i;
    target[i] = made.child(own[i]!, call[i]!);
    if (call[i] !== i || own[i] === 0) hidden.add(functionOf[i]!);
    folded[target[i]!] = Math.max(folded[target[i]!] ?? 0, depth[i]! - depth[call[i]!]!);
  }
  return {
    source: Int32Array.from(made.source),
    parent: Int32Array.from(made.parent),
    folded: Uint16Array.from(made.source, (_, i) => Math.min(folded[i] ?? 0, 65535)),
    target,
    hidden: hidden.size,
  };
}
