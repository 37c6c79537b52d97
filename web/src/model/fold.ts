// The call tree that is shown: without hidden frames, and without library code where that is
// folded: what is above own code goes, what is below becomes part of the first call out of own code,
// which stays because it says what was wanted. An interpreter's own frames below own code are passed
// over, and so are frames without a name below own code of their module that has one. Sums of nodes
// never change by it: every stack ends somewhere in the tree that is shown.
import type { Page } from "./page";
import { Pace, type Steps } from "./slices";

export interface Folded {
  /** Of each folded node a node of the page that it stands for. */
  source: Int32Array;
  parent: Int32Array;
  /** Of each folded node: frames folded into it, at most. */
  folded: Uint16Array;
  /** Of each node of the page: the folded node that its stacks end in. */
  target: Int32Array;
  /** How many functions are folded somewhere. */
  hidden: number;
}

/** Folded nodes, each once for its parent and frame: no more than there are nodes. */
class Nodes {
  readonly source: Int32Array;
  readonly parent: Int32Array;
  count = 1;
  private readonly known = new Map<number, number>();

  constructor(
    private readonly page: Page,
    private readonly frames: number,
  ) {
    this.source = new Int32Array(page.nodes);
    this.parent = new Int32Array(page.nodes);
  }

  child(parent: number, node: number): number {
    const key = parent * this.frames + this.page.frame[node]!;
    let found = this.known.get(key);
    if (found === undefined) {
      found = this.count++;
      this.source[found] = node;
      this.parent[found] = parent;
      this.known.set(key, found);
    }
    return found;
  }
}

/** Sets of modules, each a larger one with one more; 0 is empty. */
class ModuleSets {
  private readonly larger = [0];
  private readonly last = [-1];
  private readonly known = new Map<string, number>();

  has(set: number, module: number): boolean {
    for (let at = set; at > 0; at = this.larger[at]!) if (this.last[at] === module) return true;
    return false;
  }

  with(set: number, module: number): number {
    if (this.has(set, module)) return set;
    const key = `${set} ${module}`;
    let found = this.known.get(key);
    if (found === undefined) {
      found = this.last.length;
      this.known.set(key, found);
      this.larger.push(set);
      this.last.push(module);
    }
    return found;
  }
}

/** `hides`: by function, whether its frames are left out. */
export function* foldedTree(
  page: Page,
  folds: boolean,
  hides: Uint8Array | undefined,
): Steps<Folded> {
  const { nodes, parent, functionOf, isLibrary, isDispatch, isUnnamed } = page;
  const modules = new ModuleSets();
  /** Of each node: the modules of own code with names in it and above it. */
  const named = new Int32Array(nodes);
  const made = new Nodes(page, page.data.frames.name.length);
  /** Of each node: the folded node of the last own frame above it or of itself; 0: there is none. */
  const own = new Int32Array(nodes);
  /** Of each node of a library: the first call out of own code; 0: it is own code. */
  const call = new Int32Array(nodes);
  const depth = new Int32Array(nodes);
  const target = new Int32Array(nodes);
  const folded = new Uint16Array(nodes);
  const hidden = new Set<number>();
  const pace = new Pace();
  for (let i = 1; i < nodes; ++i) {
    if (pace.isDue()) yield;
    const above = parent[i]!;
    const of = functionOf[i]!;
    const module = page.data.frames.module[page.frameOf[of]!]!;
    named[i] = named[above]!;
    const isNameless = isUnnamed[of] !== 0 && modules.has(named[i]!, module);
    const isPassed = folds && own[above] !== 0 && (isDispatch[of] !== 0 || isNameless);
    if (isPassed) hidden.add(of);
    if (isPassed || hides?.[of]) {
      [depth[i], own[i], call[i]] = [depth[above]!, own[above]!, call[above]!];
      // A stack of nothing else keeps its innermost frame: its bytes have to be somewhere.
      target[i] = own[i] || call[i] ? target[above]! : made.child(0, i);
      continue;
    }
    depth[i] = depth[above]! + 1;
    if (!folds || !isLibrary[of]) {
      target[i] = own[i] = made.child(own[above]!, i);
      if (!isLibrary[of] && !isUnnamed[of]) named[i] = modules.with(named[i]!, module);
      continue;
    }
    own[i] = own[above]!;
    // Where no own code called, the innermost frame says more than the start of the program.
    call[i] = own[i] === 0 ? i : call[above] || i;
    target[i] = made.child(own[i]!, call[i]!);
    if (call[i] !== i || own[i] === 0) hidden.add(of);
    const below = Math.min(depth[i]! - depth[call[i]!]!, 65535);
    folded[target[i]!] = Math.max(folded[target[i]!]!, below);
  }
  return {
    source: made.source.subarray(0, made.count),
    parent: made.parent.subarray(0, made.count),
    folded: folded.subarray(0, made.count),
    target,
    hidden: hidden.size,
  };
}
