// Expressions on frames: what hides changes no sum, what keeps stacks divides them.
import { describe, expect, it } from "vitest";
import { filteredView, problemOf, type Stacks } from "../src/model/filter";
import { functionGroups, stackOf } from "../src/model/groups";
import { foldedPage, functionName, moduleName, type Page, pageOf } from "../src/model/page";
import { select } from "../src/model/selection";
import { finished } from "../src/model/slices";
import { totalOf } from "../src/model/totals";
import { samplesOf, Sum } from "../src/numbers/sums";
import { fixture } from "./fixture";

const page = pageOf(fixture({ nodes: 800 }));
const folded = foldedPage(page);
const NONE = { hide: "", focus: "", ignore: "" };
const ALL = { profile: 0, window: undefined, only: {} };

function view(part: Partial<typeof NONE>, showsAll = false) {
  return finished(filteredView(page, folded, showsAll, { ...NONE, ...part }));
}

function samples(of: Page, stacks: Stacks | undefined): number {
  return samplesOf(select(of, { ...ALL, stacks }).whole, 0);
}

/** Whether any frame of the stack that ends in a node of the document matches. */
function passes(node: number, expression: RegExp): boolean {
  return stackOf(page, node).some(
    (of) => expression.test(page.names[page.data.frames.name[page.frameOf[of]!]!]!) || expression.test(moduleName(page, of)),
  );
}

describe("hide", () => {
  for (const showsAll of [false, true]) {
    it(`leaves out frames and no sample, ${showsAll ? "all frames" : "folded"}`, () => {
      const { page: shown, stacks } = view({ hide: "parse|cache" }, showsAll);
      expect(stacks).toBeUndefined();
      expect(samples(shown, stacks)).toBe(samples(page, undefined));
      const selected = select(shown, ALL);
      // Rows of own bytes add up to the whole, whatever is hidden.
      const groups = finished(functionGroups(shown, selected));
      let own = 0;
      for (let row = 0; row < groups.count; ++row) own += samplesOf(groups.self, row);
      expect(own).toBe(selected.whole[Sum.Samples]! + selected.whole[Sum.Certain]!);
    });
  }
  it("shows a hidden function only where a stack has nothing else", () => {
    const { page: shown } = view({ hide: "parse|cache" }, true);
    for (let node = 1; node < shown.nodes; ++node) {
      const isHidden = /parse|cache/.test(functionName(shown, shown.functionOf[node]!));
      if (isHidden) expect(shown.parent[node]).toBe(0);
    }
    const everything = view({ hide: "." }, true).page;
    expect(Array.from(everything.parent)).toEqual(Array.from(everything.parent, () => 0));
    expect(samples(everything, undefined)).toBe(samples(page, undefined));
  });
});

describe("focus and ignore", () => {
  it("divide the stacks", () => {
    const kept = view({ focus: "Query" }).stacks!;
    const rest = view({ ignore: "Query" }).stacks!;
    const { cells } = select(page, ALL);
    for (let i = 0; i < cells!.count; ++i) {
      const node = cells!.leaf[i]!;
      expect(kept.keeps[node]! + rest.keeps[node]!).toBe(1);
      expect(kept.keeps[node] === 1).toBe(passes(node, /Query/));
    }
    expect(samples(page, kept)).toBeGreaterThan(0);
    expect(samples(page, kept) + samples(page, rest)).toBe(samples(page, undefined));
  });
  it("keep the same whatever is folded or hidden", () => {
    const wanted = { focus: "Query", ignore: "flush" };
    const plain = view(wanted, true);
    const hiding = view({ ...wanted, hide: "parse|Query" });
    expect(samples(hiding.page, hiding.stacks)).toBe(samples(plain.page, plain.stacks));
  });
  it("say of what the kept is a part, and know no exact bytes of it", () => {
    const { stacks } = view({ focus: "Query" });
    const kept = finished(totalOf(page, { ...ALL, stacks }, 0.95));
    const all = finished(totalOf(page, ALL, 0.95));
    expect(kept.of).toEqual(all.bytes);
    expect(all.of).toBeUndefined();
    expect(kept.bytes.value).toBeLessThan(all.bytes.value);
    expect(select(page, { ...ALL, stacks }).exact).toBeUndefined();
  });
  it("count upper and lower case, and do not apply what is no expression", () => {
    expect(view({ focus: "query" }).stacks!.keeps).not.toEqual(view({ focus: "Query" }).stacks!.keeps);
    expect(problemOf("Query(")).toBe("Unterminated group");
    expect(problemOf("")).toBe("");
    expect(view({ focus: "Query(" }).stacks).toBeUndefined();
  });
});
