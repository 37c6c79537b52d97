// Selections, trees, tables and the address, on a program that does not exist.
import { describe, expect, it } from "vitest";
import { Layout, REST } from "../src/draw/layout";
import { csvLine } from "../src/model/csv";
import { carriedOver } from "../src/model/carry";
import { DiffTree } from "../src/model/difftree";
import { dimensionGroups, functionGroups, moduleGroups, stackGroups } from "../src/model/groups";
import { rowBytes, totalBytes } from "../src/model/measure";
import { printable, shortened } from "../src/model/names";
import { firstOf, sorted } from "../src/model/order";
import { pageOf, roomFor } from "../src/model/page";
import { matchedSums, searching } from "../src/model/search";
import { select, selecting, type Selection } from "../src/model/selection";
import { finished } from "../src/model/slices";
import { DEFAULTS, type State, stateOf, textOfState } from "../src/model/state";
import { CallTree, ROOT } from "../src/model/tree";
import { probabilityOf } from "../src/numbers/format";
import { bytesForOrder, emptySums, merge, rowOf, Sum, type Sums } from "../src/numbers/sums";
import { fixture } from "./fixture";

const page = pageOf(fixture({ nodes: 3000 }));
const ALL: Selection = { profile: 0, window: undefined, only: {} };
const ALLOCATED: Selection = { ...ALL, profile: 1 };

function added(sums: Sums, rows: number): Sums {
  const all = emptySums();
  for (let i = 0; i < rows; ++i) merge(all, 0, sums, i);
  return all;
}

function expectSame(found: Sums, expected: Sums): void {
  for (const column of [
    Sum.Samples,
    Sum.Certain,
    Sum.CertainBytes,
    Sum.Seen,
    Sum.Weighted,
    Sum.Variance,
  ]) {
    expect(Math.abs(found[column]! - expected[column]!)).toBeLessThanOrEqual(
      1e-9 * expected[column]!,
    );
  }
}

describe("a selection", () => {
  it("arrives at the totals that the other reports print", () => {
    for (const [i, profile] of page.data.profiles.entries()) {
      if (profile.cells < 0) continue;
      const selected = select(page, { ...ALL, profile: i });
      const found = totalBytes({ ...selected, exact: undefined }, page.data.level);
      for (const key of ["value", "lo", "hi", "samples", "exact"] as const) {
        const expected = profile.bytes[key];
        expect(Math.abs(found[key] - expected)).toBeLessThanOrEqual(1e-9 * Math.abs(expected));
      }
    }
  });

  it("divides: what two windows hold adds up to the whole", () => {
    const whole = select(page, ALLOCATED).whole.slice();
    const parts = emptySums();
    merge(parts, 0, select(page, { ...ALLOCATED, window: { from: 0, to: 99 } }).whole, 0);
    merge(
      parts,
      0,
      select(page, { ...ALLOCATED, window: { from: 100, to: page.lastBucket } }).whole,
      0,
    );
    expectSame(parts, whole);
  });

  it("shows what is alive at the end of a window, whenever it was born", () => {
    const { born, died, times } = page.cells[0]!;
    const at = 120;
    let expected = 0;
    born.forEach((from, i) => {
      if (from <= at && (died[i] === -1 || died[i]! > at)) expected += times[i]!;
    });
    const { whole } = select(page, { ...ALL, window: { from: 100, to: at } });
    expect(whole[Sum.Samples]! + whole[Sum.Certain]!).toBe(expected);
  });

  it("counts processes that ended before the end, but in no window behind their end", () => {
    const data = fixture({ nodes: 40 });
    data.cells[0]!.born.fill(0);
    data.cells[0]!.died.fill(-2 - 50);
    const other = pageOf(data);
    const samples = (to: number) => {
      const { whole } = select(other, { ...ALL, window: { from: 0, to } });
      return whole[Sum.Samples]! + whole[Sum.Certain]!;
    };
    expect(samples(50)).toBeGreaterThan(0);
    expect(samples(51)).toBe(0);
    expect(samples(other.lastBucket)).toBe(samples(50));
  });

  it("knows the exact total of the whole alone", () => {
    expect(select(page, ALLOCATED).exact).toBe(page.data.profiles[1]!.exactTotal);
    const part = select(page, { ...ALLOCATED, window: { from: 0, to: 5 } });
    expect(part.exact).toBeUndefined();
    expect(part.calibrates).toBe(false);
  });
});

describe("tables", () => {
  const selected = select(page, ALL);
  for (const [name, groups] of [
    ["functions", finished(functionGroups(page, selected, false))],
    ["functions without plumbing", finished(functionGroups(page, selected, true))],
    ["stacks", finished(stackGroups(page, selected, false))],
    ["modules", finished(moduleGroups(page, selected, false))],
    ["threads", finished(dimensionGroups(page, selected, "thread"))],
    ["types", finished(dimensionGroups(page, selected, "type"))],
    ["labels", finished(dimensionGroups(page, selected, "label"))],
    ["sizes", finished(dimensionGroups(page, selected, "size"))],
  ] as const) {
    it(`by ${name} have rows that add up to the whole`, () => {
      expect(groups.count).toBeGreaterThan(1);
      expectSame(added(groups.self, groups.count), selected.whole);
    });
  }

  it("count nested calls of a function once", () => {
    const data = fixture({ nodes: 40, depth: 40 });
    data.nodes.frame.fill(1, 1);
    const one = select(pageOf(data), ALL);
    const groups = finished(functionGroups(pageOf(data), one, false));
    expect(groups.count).toBe(1);
    expectSame(rowOf(groups.total!, 0), one.whole);
  });

  it("are calibrated to the exact total", () => {
    const allocated = select(page, ALLOCATED);
    const groups = finished(functionGroups(page, allocated, false));
    let sum = 0;
    for (let i = 0; i < groups.count; ++i)
      sum += rowBytes(allocated, rowOf(groups.self, i), 0.95).value;
    const gap = allocated.exact! - bytesForOrder(allocated.whole, 0);
    expect(Math.abs(sum - allocated.exact!)).toBeLessThan(Math.abs(gap));
    select(page, ALL);
  });
});

describe("a call tree", () => {
  const selected = select(page, ALL);
  for (const hides of [false, true]) {
    for (const make of [CallTree.ofCallees, CallTree.ofCallers]) {
      it(`${make.name}, plumbing ${hides ? "hidden" : "shown"}: no child outweighs its parent`, () => {
        const tree = finished(make.call(CallTree, page, selected, hides));
        expectSame(tree.sums(ROOT), selected.whole);
        const layout = new Layout(tree, ROOT, 800);
        layout.extend(50);
        for (let node = 0; node < Math.min(200, tree.size); ++node) {
          const [first, count] = tree.children(node);
          let below = 0;
          for (let i = first; i < first + count; ++i) {
            below += tree.weight(i);
            if (hides) expect(page.isPlumbing[tree.functions[i]!]).toBe(0);
            if (i > first) expect(tree.weight(i)).toBeLessThanOrEqual(tree.weight(i - 1));
          }
          expect(below).toBeLessThanOrEqual(tree.weight(node) * (1 + 1e-9));
        }
      });
    }
  }

  it("finds the way back by its path", () => {
    const tree = finished(CallTree.ofCallees(page, selected, false));
    const [first] = tree.children(ROOT);
    const [second] = tree.children(first);
    expect(finished(tree.finding(tree.path(second)))).toBe(second);
    expect(finished(tree.finding([-5]))).toBe(ROOT);
  });

  it("has around a function what the table says of it", () => {
    const groups = finished(functionGroups(page, selected, false));
    for (let row = 0; row < 20; ++row) {
      for (const direction of ["callers", "callees"] as const) {
        const tree = finished(CallTree.around(page, selected, groups.key(row), direction, false));
        expectSame(tree.sums(ROOT), rowOf(groups.total!, row));
      }
    }
  });

  it("lays out only what can be seen of 200,000 nodes", () => {
    const large = pageOf(fixture({ nodes: 200000, depth: 1028 }));
    const tree = finished(CallTree.ofCallees(large, select(large, ALL), false));
    const layout = new Layout(tree, ROOT, 1400);
    layout.extend(60);
    expect(layout.rows).toBe(60);
    expect(layout.node.length).toBeLessThan(60 * 1400);
    expect(tree.size).toBeLessThan(60000);
    for (let row = 0; row < layout.rows; ++row) {
      for (let box = layout.rowStart[row]! + 1; box < layout.rowStart[row + 1]!; ++box) {
        expect(layout.x[box]!).toBeGreaterThanOrEqual(
          layout.x[box - 1]! + layout.width[box - 1]! - 1e-6,
        );
      }
    }
    expect(layout.node.includes(REST)).toBe(true);
  });
});

describe("the tree of a comparison", () => {
  /** Root, one call, and three below it: +6, -4, nothing. */
  const data = fixture({ nodes: 5, hasDiff: true });
  data.nodes = { up: [0, 1, 1, 2, 3], frame: [0, 1, 2, 3, 4] };
  const nodes = data.diff!.nodes;
  const compared = (node: number[], delta: number[]) => {
    const none = node.map(() => 0);
    const columns = { ...nodes, node, delta, before: none, after: delta, lo: delta, hi: delta };
    return finished(DiffTree.of(pageOf(data), { ...data.diff!, nodes: columns }));
  };

  it("has a root as wide as what is below it, though no row is about the root", () => {
    const tree = compared([1, 2], [-7, -7]);
    expect([0, 1, 2].map((node) => tree.weight(node))).toEqual([7, 7, 7]);
  });

  it("is as wide as changes that cancel out", () => {
    const tree = compared([1, 2, 3], [2, 6, -4]);
    expect([0, 1, 2, 3].map((node) => tree.weight(node))).toEqual([10, 10, 6, 4]);
  });

  it("leaves a gap for what changed in the function itself", () => {
    const tree = compared([1, 2], [9, 6]);
    expect([0, 1, 2].map((node) => tree.weight(node))).toEqual([9, 9, 6]);
  });
});

describe("a probability", () => {
  it("stands behind one sign", () => {
    expect(probabilityOf("q", 0.04)).toBe("q = 0.04");
    expect(probabilityOf("q", 1e-13)).toBe("q < 1e-12");
  });
});

describe("an order made in steps", () => {
  it("is the one made at once, and leaves what is equal as it was", () => {
    const rows = Array.from({ length: 5000 }, (_, i) => ({ key: (i * 193) % 97, i }));
    for (const count of [0, 1, 511, 512, 513, 5000]) {
      const some = rows.slice(0, count);
      const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(finished(sorted(some, compare))).toEqual(some.slice().sort(compare));
    }
  });
});

describe("the first rows of an order", () => {
  it("are those of all rows sorted", () => {
    const rows = Array.from({ length: 500 }, (_, i) => (i * 193) % 500);
    const compare = (a: number, b: number) => (a % 7) - (b % 7) || a - b;
    const all = rows.slice().sort(compare);
    for (const count of [0, 1, 60, 500, 900]) {
      expect(finished(firstOf(rows, count, compare))).toEqual(all.slice(0, count));
    }
  });
});

describe("a selection in slices", () => {
  it("is the one made at once, in a room of its own", () => {
    const room = roomFor(page.nodes);
    const sliced = finished(selecting(page, ALLOCATED, room));
    expect(sliced.total).toBe(room.total);
    expect(sliced.total).toEqual(select(page, ALLOCATED).total);
    select(page, ALL);
  });
});

describe("a search", () => {
  const selected = select(page, ALL);
  it("matches stacks once, however many of their functions match", () => {
    const found = finished(searching(page, "."))!;
    expect(found.functions).toBe(page.functions);
    expectSame(finished(matchedSums(page, selected, found)), selected.whole);
  });
  it("takes what is no expression literally", () => {
    const found = finished(searching(page, "(char"))!;
    expect(found.problem).not.toBe("");
    expect(found.functions).toBeGreaterThan(0);
  });
});

describe("the address", () => {
  const full: State = {
    ...DEFAULTS,
    side: "after",
    kind: "allocated",
    tab: "stacks",
    mode: "both",
    isFlame: true,
    hidesPlumbing: true,
    colour: "certainty",
    window: { from: 3, to: 9 },
    only: { thread: 5, size: -1 },
    zoom: [0, 35, 36],
    focus: 40,
    search: "a&b=#%+",
    filter: "ü ",
    sort: "name",
    isAscending: true,
    theme: "dark",
  };
  it("holds all state", () => {
    expect(stateOf(`#${textOfState(full)}`)).toEqual(full);
    expect(textOfState(DEFAULTS)).toBe("");
    expect(stateOf("")).toEqual(DEFAULTS);
  });
  it("that makes no sense is the usual state", () => {
    expect(stateOf("#tab=x&mode=&window=9-3&zoom=!!&focus=-3&thread=1e9&theme=pink")).toEqual(
      DEFAULTS,
    );
  });
  it("follows names when numbers change", () => {
    const data = fixture({ nodes: 3000 });
    const { frames } = data;
    for (const column of Object.values(frames) as number[][]) column.unshift(column.pop()!);
    const other = pageOf(data);
    const state = { ...DEFAULTS, zoom: [3, 4], focus: 5 };
    const part = carriedOver(state, page, other);
    expect(part.zoom).toEqual([4, 5]);
    expect(part.focus).toBe(6);
  });
});

describe("names", () => {
  it("lose what acts", () => {
    expect(printable("a\u001b[31m\u202eb\n\ud800c")).toBe("a\\x1b[31m\\u202eb\\x0a\\ud800c");
  });
  it("are shortened where there is no room", () => {
    expect(shortened("std::vector<int, std::allocator<int>>::push_back(int const&)")).toBe(
      "std::vector::push_back",
    );
    expect(shortened("[truncated]")).toBe("[truncated]");
    expect(shortened("operator new(unsigned long)")).toBe("operator new(unsigned long)");
  });
  it("are no formulas in copied tables", () => {
    expect(csvLine(["a", "=1", "-1", -1, 'x"y', "a,b"])).toBe(
      'a,"\'=1","\'-1",-1,"x""y","a,b"\r\n',
    );
  });
});

describe("data that is damaged", () => {
  it("is refused with a line", () => {
    const data = fixture({ nodes: 10 });
    data.nodes.up[5] = 9;
    expect(() => pageOf(data)).toThrow("node 5 has no parent");
    expect(() => pageOf({ ...data, schema: 2 as 1 })).toThrow("another version");
  });
});
