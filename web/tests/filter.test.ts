// Expressions on frames: what hides changes no sum, what keeps stacks divides them.
import { describe, expect, it } from "vitest";
import { Answer, doubtsText, opposite } from "../src/model/answers";
import { filteredView, problemOf, type Stacks } from "../src/model/filter";
import { functionGroups, stackOf } from "../src/model/groups";
import { foldedPage, functionName, moduleName, type Page, pageOf } from "../src/model/page";
import { type Only, select } from "../src/model/selection";
import { finished } from "../src/model/slices";
import { matchedSums, searching } from "../src/model/search";
import { totalBytes } from "../src/model/measure";
import { openBytes, openOf, rowOf, samplesOf, Sum } from "../src/numbers/sums";
import { totalOf } from "../src/model/totals";
import { doubtful, ends } from "./doubtful";
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
      expect(rest.answers[node]).toBe(opposite(kept.answers[node]!));
      expect(kept.answers[node] === Answer.Yes).toBe(passes(node, /Query/));
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
    expect(view({ focus: "query" }).stacks!.answers).not.toEqual(view({ focus: "Query" }).stacks!.answers);
    expect(problemOf("Query(")).toBe("Unterminated group");
    expect(problemOf("")).toBe("");
    expect(view({ focus: "Query(" }).stacks).toBeUndefined();
  });
});

/** The kinds of stacks that a number of samples is made of. */
function kindsIn(count: number): string[] {
  return ends.filter((_, i) => count & (2 ** i));
}

describe("what a recording cannot tell", () => {
  const cut = pageOf(doubtful());
  const filtered = (part: Partial<typeof NONE>, only: Only = {}) => {
    const view = finished(filteredView(cut, foldedPage(cut), true, { ...NONE, ...part }));
    return select(cut, { profile: 0, window: undefined, only, stacks: view.stacks });
  };
  const kinds = (part: Partial<typeof NONE>, only: Only = {}) => {
    const { whole } = filtered(part, only);
    return { yes: kindsIn(samplesOf(whole, 0)), open: kindsIn(openOf(whole, 0)) };
  };
  it("is open in stacks: cut ones, ones without names, ones that the page leaves out", () => {
    const solver = { yes: ["solver", "smaller ones"], open: ["cut parser", "no stack", "unnamed"] };
    expect(kinds({ focus: "^from_solver$" })).toEqual(solver);
    expect(kinds({ ignore: "^from_solver$" })).toEqual({ yes: ["runtime", "other"], open: solver.open });
    // Nothing of that name is known: any module may have it, but the C library's own frames.
    expect(kinds({ focus: "nothing" })).toEqual({
      yes: [],
      open: ["cut parser", "no stack", "unnamed", "smaller ones"],
    });
    expect(kinds({ focus: "^other$", ignore: "^from_solver$" })).toEqual({
      yes: ["other"],
      open: ["cut parser", "no stack", "unnamed"],
    });
    expect(kinds({ focus: "^from_parser$" }).yes).toEqual(["cut parser"]);
  });
  it("is open in stacks of functions without a file, where files of their module are asked for", () => {
    const data = doubtful();
    data.frames.file[data.frames.name.indexOf(data.names.indexOf("other"))] = data.names.push("other.cc") - 1;
    const page = pageOf(data);
    const { stacks } = finished(filteredView(page, foldedPage(page), true, { ...NONE, focus: "other.cc" }));
    const { whole, doubts } = select(page, { ...ALL, stacks });
    expect(kindsIn(samplesOf(whole, 0))).toEqual(["other"]);
    expect(kindsIn(openOf(whole, 0))).toEqual(ends.filter((kind) => kind !== "other"));
    expect(doubtsText(doubts)).toContain(
      "stacks with functions without a file, in modules that have files asked for",
    );
  });
  it("is in upper limits only, with reasons", () => {
    const selected = filtered({ focus: "nothing" });
    const bytes = totalBytes(selected, 0.95);
    expect([bytes.value, bytes.lo]).toEqual([0, 0]);
    expect(bytes.hi).toBeGreaterThan(openBytes(selected.whole));
    expect(doubtsText(selected.doubts)).toEqual([
      "stacks that were cut",
      "the ends of stacks, omitted to limit the page's size",
      "stacks with functions without a name (keep their debug files)",
    ]);
    expect(doubtsText(filtered({}).doubts)).toEqual([]);
  });
  it("is open in a search", () => {
    const selected = filtered({});
    const { matches: is } = finished(searching(cut, "^from_solver$"))!;
    const { sums } = finished(matchedSums(cut, selected, { is }));
    expect(kindsIn(samplesOf(sums, 0))).toEqual(["solver", "smaller ones"]);
    expect(kindsIn(openOf(sums, 0))).toEqual(["cut parser", "no stack", "unnamed"]);
  });
  it("is open in totals of functions that stacks were cut before they reached", () => {
    const groups = finished(functionGroups(cut, filtered({})));
    const totalOf = (name: string) => {
      const rows = Array.from({ length: groups.count }, (_, row) => row);
      return rowOf(groups.total!, rows.find((row) => groups.name(row) === name)!);
    };
    const cutOnes = ["cut parser", "no stack", "smaller ones"];
    expect(kindsIn(openOf(totalOf("from_solver"), 0))).toEqual(["cut parser", "no stack"]);
    expect(kindsIn(openOf(totalOf("from_parser"), 0))).toEqual(["no stack", "smaller ones"]);
    expect(kindsIn(openOf(totalOf("other"), 0))).toEqual(cutOnes);
    expect(kindsIn(samplesOf(groups.cut!.sums, 0))).toEqual(cutOnes);
  });
  it("is open of types and of threads that changed their name", () => {
    const { names } = cut.data;
    const thread = (name: string) => kinds({}, { thread: names.indexOf(name) });
    const renamed = ends.filter((_, i) => i % 3 === 1);
    expect(thread("io")).toEqual({ yes: ends.filter((_, i) => i % 3 === 0), open: renamed });
    expect(thread("main")).toEqual({ yes: [], open: renamed });
    expect(thread("main, then io")).toEqual({ yes: renamed, open: [] });
    expect(thread("other thread").open).toEqual([]);
    const type = (name: string) => kinds({}, { type: names.indexOf(name) });
    expect(type("Row").open).toEqual(ends.filter((_, i) => i % 2 === 0));
    expect(type("[unknown]").open).toEqual([]);
  });
});
