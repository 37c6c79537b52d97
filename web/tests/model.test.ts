// Selections, trees, tables and the address, on a program that does not exist.
import { describe, expect, it } from "vitest";
import { FrameFlag } from "../src/data";
import { Layout, REST } from "../src/draw/layout";
import { Answer } from "../src/model/answers";
import { csvLine } from "../src/model/csv";
import { carriedOver } from "../src/model/carry";
import { DiffTree } from "../src/model/difftree";
import { findingOf, openingProfile } from "../src/model/finding";
import {
  dimensionGroups,
  functionGroups,
  lineGroups,
  moduleGroups,
  stackGroups,
} from "../src/model/groups";
import type { Stacks } from "../src/model/filter";
import { heldSiteOf, isUndecided, isUnreachable, partsOf } from "../src/model/holders";
import { accusedOf, hiddenText, openOf, openText } from "../src/model/leaks";
import { linesOf } from "../src/model/lines";
import { rowBytes, shareOf, totalBytes } from "../src/model/measure";
import { estimateBytes, exactBytes, figure, probabilityOf, shareFigure, textOf } from "../src/numbers/arithmetic";
import { bytesForOrder, emptySums, merge, rowOf, samplesOf, Sum, type Sums } from "../src/numbers/sums";
import { printable } from "../src/model/names";
import { firstOf, sorted } from "../src/model/order";
import { baseName, foldedPage, fullName, functionName, moduleName, pageOf, roomFor } from "../src/model/page";
import { matchedSums, searching } from "../src/model/search";
import { select, selecting, selectingBelow, type Selection } from "../src/model/selection";
import { finished } from "../src/model/slices";
import { DEFAULTS, openingState, type State, stateOf, textOfState } from "../src/model/state";
import { CallTree, ROOT } from "../src/model/tree";
import { valueAt } from "../src/views/Lifetimes";
import { stepOf, timeTexts, topOf } from "../src/views/Timeline";
import { fixture, whole } from "./fixture";
import { strataOf } from "./strata";

const page = pageOf(fixture({ nodes: 3000 }));
const folded = foldedPage(page);
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
      const found = estimateBytes(selected.whole, page.data.level, "total");
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

  it("knows the exact total of the whole alone", () => {
    expect(select(page, ALLOCATED).exact).toBe(page.data.profiles[1]!.exactTotal);
    const part = select(page, { ...ALLOCATED, window: { from: 0, to: 5 } });
    expect(part.exact).toBeUndefined();
    expect(part.calibrates).toBe(false);
  });

  it("ends live bytes at what was allocated", () => {
    const [live, ...others] = page.data.profiles;
    const { value } = live!.bytes;
    const most = Math.floor(value / 2);
    const limited = { ...page, data: { ...page.data, profiles: [{ ...live!, mostBytes: most }, ...others] } };
    const window = { from: 0, to: page.lastBucket };
    expect(totalBytes(select(page, { ...ALL, window }), 0.95).value).toBeCloseTo(value);
    const selected = select(limited, { ...ALL, window });
    for (const bytes of [totalBytes(selected, 0.95), rowBytes(selected, selected.whole.slice(), 0.95)]) {
      expect(bytes).toMatchObject({ value: most, hi: most });
      expect(bytes.lo).toBeLessThan(most);
    }
  });
});

describe("frames of an interpreter", () => {
  const data = fixture({ nodes: 3000 });
  data.frames.flags = data.frames.flags.map((flags) =>
    flags & FrameFlag.Plumbing ? flags | FrameFlag.Dispatch : flags,
  );
  const scripted = foldedPage(pageOf(data));

  it("are passed over below own code, with all they allocated", () => {
    for (let i = 1; i < scripted.nodes; ++i) {
      const isBelowOwn = scripted.parent[i]! > 0;
      expect(isBelowOwn && scripted.isDispatch[scripted.functionOf[i]!] === 1).toBe(false);
    }
    const sums = (of: typeof page) => added(select(of, ALL).self, of.nodes);
    expectSame(sums(scripted), sums(folded));
    expect(folded.nodes).toBeGreaterThan(scripted.nodes);
  });
});

describe("frames without names", () => {
  const data = fixture({ nodes: 3000 });
  data.frames.flags = data.frames.flags.map((flags, i) =>
    i > 0 && i % 3 === 0 && !(flags & FrameFlag.Plumbing) ? flags | FrameFlag.Unknown : flags,
  );
  const whole = pageOf(data);
  const nameless = foldedPage(whole);
  const moduleOf = (of: number) => data.frames.module[nameless.frameOf[of]!]!;

  it("are passed over below a name of their module, with all they allocated", () => {
    let kept = 0;
    for (let i = 1; i < nameless.nodes; ++i) {
      const of = nameless.functionOf[i]!;
      if (!nameless.isUnnamed[of] || nameless.isLibrary[of]) continue;
      ++kept;
      for (let at = nameless.parent[i]!; at > 0; at = nameless.parent[at]!) {
        const above = nameless.functionOf[at]!;
        const isNamed = !nameless.isUnnamed[above] && !nameless.isLibrary[above];
        expect(isNamed && moduleOf(above) === moduleOf(of)).toBe(false);
      }
    }
    expect(kept).toBeGreaterThan(0);
    const sums = (of: typeof page) => added(select(of, ALL).self, of.nodes);
    expectSame(sums(nameless), sums(whole));
  });
});

describe("tables", () => {
  const selected = select(page, ALL);
  const ofFolded = select(folded, ALL);
  for (const [name, groups] of [
    ["functions", finished(functionGroups(page, selected))],
    ["own functions", finished(functionGroups(folded, ofFolded))],
    ["lines", finished(lineGroups(folded, ofFolded))],
    ["processes", finished(dimensionGroups(page, selected, "process"))],
    ["stacks", finished(stackGroups(page, selected))],
    ["modules", finished(moduleGroups(page, selected))],
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

  it("leave objects of unknown type open in every other type", () => {
    const groups = finished(dimensionGroups(page, selected, "type"));
    const rows = [...Array(groups.count).keys()];
    const unknown = rows.find((row) => groups.key(row) === page.data.unknownType)!;
    const bytes = (row: number, column: number) => groups.self[row * Sum.Width + column]!;
    for (const row of rows) {
      const open = row === unknown ? 0 : bytes(unknown, Sum.Samples);
      expect(bytes(row, Sum.OpenSamples)).toBe(open);
    }
  });

  it("count nested calls of a function once", () => {
    const data = fixture({ nodes: 40, depth: 40 });
    data.nodes.frame.fill(1, 1);
    const one = select(pageOf(data), ALL);
    const groups = finished(functionGroups(pageOf(data), one));
    expect(groups.count).toBe(1);
    expectSame(rowOf(groups.total!, 0), one.whole);
  });

  it("of sizes that were all recorded miss nothing", () => {
    const data = fixture({ nodes: 300 });
    data.profiles[0]!.completeFrom = 524288;
    const one = select(pageOf(data), ALL);
    const groups = finished(dimensionGroups(pageOf(data), one, "size"));
    const wanted = { groups, filter: "", sort: "self", isAscending: false, level: 0.95 } as const;
    const { lines } = finished(linesOf(wanted, 0, 100));
    const isExact = (line: (typeof lines)[number]) => line.self.hi === line.self.lo;
    expect(lines.filter(isExact).map(({ key }) => key).sort()).toEqual([19, 20]);
  });

  it("list what is only open", () => {
    const data = fixture({ nodes: 300 });
    const { strata } = data.cells[0]!;
    strata.open = strata.bytes.map(() => 1);
    const one = select(pageOf(data), ALL);
    const groups = finished(functionGroups(pageOf(data), one));
    expect(groups.count).toBeGreaterThan(10);
    const wanted = { groups, filter: "", sort: "self", isAscending: false, level: 0.95 } as const;
    for (const { self, samples } of finished(linesOf(wanted, 0, 30)).lines) {
      expect([samples, self.value, self.lo]).toEqual([0, 0, 0]);
      expect(self.open).toBeGreaterThan(0);
      expect(self.hi).toBeGreaterThan(0);
    }
  });

  it("are calibrated to the exact total", () => {
    const allocated = select(page, ALLOCATED);
    const groups = finished(functionGroups(page, allocated));
    let sum = 0;
    for (let i = 0; i < groups.count; ++i)
      sum += rowBytes(allocated, rowOf(groups.self, i), 0.95).value;
    const gap = allocated.exact! - bytesForOrder(allocated.whole, 0);
    expect(Math.abs(sum - allocated.exact!)).toBeLessThan(Math.abs(gap));
    select(page, ALL);
  });
});

describe("shares", () => {
  it("are as sure as the bytes of their rows where the total is exact", () => {
    const allocated = select(page, ALLOCATED);
    const certain = emptySums();
    certain[Sum.Certain] = 1;
    certain[Sum.CertainBytes] = certain[Sum.Seen] = allocated.exact! / 4;
    const bytes = rowBytes(allocated, certain, 0.95);
    const share = shareOf(allocated, certain, bytes, 0.95);
    expect(share.value).toBe(0.25);
    expect(share.lo).toBe(0.25);
    expect(share.hi).toBe(Math.min(1, bytes.hi / allocated.exact!));
    select(page, ALL);
  });
});

describe("a survival curve", () => {
  it("has an interval before the first free, and no lower limit after the last watch", () => {
    const curve = { name: "", samples: 3, time: [0, 1e6, 1e9], value: [1, 0.5, 0.5], lo: [0.3, 0.1, 0], hi: [1, 0.9, 0.9] };
    expect(valueAt(curve, 1e3)).toEqual({ value: 1, lo: 0.3, hi: 1 });
    expect(valueAt(curve, 1e9)).toEqual({ value: 0.5, lo: 0, hi: 0.9 });
    expect(valueAt({ ...curve, lo: [0.3, 0.1, 0.1] }, 60e9)).toEqual({ value: 0.5, lo: 0, hi: 0.9 });
  });
});

describe("a call tree", () => {
  const selected = select(page, ALL);
  for (const of of [page, folded]) {
    for (const make of [CallTree.ofCallees, CallTree.ofCallers]) {
      it(`${make.name}, ${of.isFolded ? "folded" : "whole"}: no child outweighs its parent`, () => {
        const tree = finished(make.call(CallTree, of, select(of, ALL)));
        expectSame(tree.sums(ROOT), selected.whole);
        const layout = new Layout(tree, ROOT, 800);
        layout.extend(50);
        for (let node = 0; node < Math.min(200, tree.size); ++node) {
          const [first, count] = tree.children(node);
          let below = 0;
          for (let i = first; i < first + count; ++i) {
            below += tree.weight(i);
            const isLeaf = of.isFolded && make === CallTree.ofCallees && tree.isLibrary(i);
            if (isLeaf) expect(tree.children(i)[1]).toBe(0);
            if (i > first) expect(tree.weight(i)).toBeLessThanOrEqual(tree.weight(i - 1));
          }
          expect(below).toBeLessThanOrEqual(tree.weight(node) * (1 + 1e-9));
        }
      });
    }
  }

  it("finds the way back by its path", () => {
    const tree = finished(CallTree.ofCallees(page, selected));
    const [first] = tree.children(ROOT);
    const [second] = tree.children(first);
    expect(finished(tree.finding(tree.path(second)))).toBe(second);
    expect(finished(tree.finding([-5]))).toBe(ROOT);
  });

  it("has around a function what the table says of it", () => {
    const groups = finished(functionGroups(page, selected));
    for (let row = 0; row < 20; ++row) {
      for (const direction of ["callers", "callees"] as const) {
        const tree = finished(CallTree.around(page, selected, groups.key(row), direction));
        expectSame(tree.sums(ROOT), rowOf(groups.total!, row));
      }
    }
  });

  it("lays out only what can be seen of 200,000 nodes", () => {
    const large = pageOf(fixture({ nodes: 200000, depth: 1028 }));
    const tree = finished(CallTree.ofCallees(large, select(large, ALL)));
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

/** A page of stacks, each from the root with how many samples of 1 MiB it has; "std::" is folded. */
function pageOfStacks(stacks: [string, number][]) {
  const data = fixture({ nodes: 1 });
  const cells = data.cells[0]!;
  const size = 1 << 20;
  cells.strata = strataOf([[size, 1 << 19]]);
  const frameOf = new Map<string, number>();
  const nodeOf = new Map<string, number>([["", 0]]);
  data.nodes = { up: [0], frame: [0] };
  for (const [text, count] of stacks) {
    let path = "";
    for (const name of text.split(" ")) {
      const above = nodeOf.get(path)!;
      path += ` ${name}`;
      if (nodeOf.has(path)) continue;
      if (!frameOf.has(name)) {
        frameOf.set(name, data.frames.name.push(data.names.push(name) - 1) - 1);
        data.frames.module.push(-1);
        data.frames.file.push(-1);
        data.frames.line.push(0);
        data.frames.flags.push(name.startsWith("std::") ? 2 : 0);
      }
      const node = data.nodes.up.length;
      nodeOf.set(path, node);
      data.nodes.up.push(node - above);
      data.nodes.frame.push(frameOf.get(name)!);
    }
    cells.node.push(nodeOf.get(path)!);
    cells.stratum.push(0);
    cells.count.push(count);
    for (const column of [cells.thread, cells.process, cells.type, cells.label]) column.push(-1);
    cells.born.push(0);
    cells.died.push(-1);
  }
  for (const profile of data.profiles) Object.assign(profile, whole(cells, () => true));
  return foldedPage(pageOf(data));
}

const LEAKY = pageOfStacks([
  ["std::start main open std::resize std::allocate", 80],
  ["std::start main open std::make_shared std::allocate std::new", 20],
  ["std::start main close std::push_back", 6],
  ["std::start std::thread lambda std::string", 4],
  ["std::start std::locale", 2],
]);

describe("the lines of a table", () => {
  const linesBy = (sort: "self" | "total") => {
    const groups = finished(functionGroups(LEAKY, select(LEAKY, ALL)));
    const wanted = { groups, filter: "", sort, isAscending: false, level: 0.95 };
    return finished(linesOf(wanted, 0, 30));
  };
  it("have samples, each of them", () => {
    const { lines, rows, all } = linesBy("self");
    expect(lines.map(({ name }) => name)).toEqual(["open", "close", "lambda", "std::locale"]);
    expect(lines.every(({ samples }) => samples > 0)).toBe(true);
    expect([rows.length, all]).toEqual([4, 4]);
    expect(linesBy("total").lines[0]!.name).toBe("main");
  });
  it("are one for each line of code, whatever it calls there", () => {
    const { count, name, self } = finished(lineGroups(LEAKY, select(LEAKY, ALL)));
    const found = Array.from({ length: count }, (_, row) => `${name(row)} ${samplesOf(self, row)}`);
    expect(found.sort()).toEqual(["close 6", "lambda 4", "open 100", "std::locale 2"]);
  });
});

describe("folding", () => {
  it("keeps own code and its first call into a library, and every sum", () => {
    const selected = select(LEAKY, ALL);
    const tree = finished(CallTree.ofCallees(LEAKY, selected));
    const text = (node: number): string => {
      const [first, count] = tree.children(node);
      const below = Array.from({ length: count }, (_, i) => text(first + i));
      const name = node === ROOT ? "all" : functionName(LEAKY, tree.functions[node]!);
      return below.length > 0 ? `${name}(${below.join(" ")})` : name;
    };
    expect(text(ROOT)).toBe(
      "all(main(open(std::resize std::make_shared) close(std::push_back)) " +
        "lambda(std::string) std::locale)",
    );
    expectSame(tree.sums(ROOT), selected.whole);
  });

  it("says how many frames are in a call", () => {
    const tree = finished(CallTree.ofCallees(LEAKY, select(LEAKY, ALL)));
    const open = finished(tree.finding(tree.path(tree.children(tree.children(ROOT)[0])[0])));
    const [resize] = tree.children(open);
    expect([tree.folded(resize), tree.folded(resize + 1)]).toEqual([1, 2]);
  });
});

const LEAKY_OPEN = ["main", "open"];
const indexOf = (of: typeof page, name: string) =>
  Array.from({ length: of.functions }, (_, i) => i).find((i) => functionName(of, i) === name)!;

describe("what a call allocated in total", () => {
  it("is that of all its lines, also of those that freed all of it", () => {
    const data = structuredClone(LEAKY.data);
    const { frames, nodes, cells } = data;
    const open = frames.name.findIndex((name) => data.names[name] === "open");
    const below = nodes.frame.indexOf(open);
    // Another line of open, whose only bytes are gone at the end.
    for (const column of [frames.name, frames.module, frames.file, frames.flags]) column.push(column[open]!);
    frames.line.push(7);
    frames.file[frames.line.length - 1] = data.names.push("open.cc") - 1;
    const node = nodes.up.push(nodes.up.length - (below - nodes.up[below]!)) - 1;
    nodes.frame.push(frames.name.length - 1);
    const at = cells[0]!;
    at.node.push(node);
    at.count.push(150);
    for (const column of [at.thread, at.process, at.type, at.label]) column.push(-1);
    for (const column of [at.stratum, at.born, at.died]) column.push(0);
    const known = foldedPage(pageOf(data));
    const tree = finished(CallTree.ofCallees(known, select(known, ALL)));
    const box = finished(tree.finding(LEAKY_OPEN.map((name) => indexOf(known, name))));
    const { part } = finished(selectingBelow(known, ALLOCATED, finished(tree.everywhere(box))));
    const groups = finished(functionGroups(known, select(known, ALLOCATED)));
    const row = Array.from({ length: groups.count }, (_, i) => i).find((i) => groups.name(i) === "open")!;
    expect(samplesOf(part, 0)).toBe(250);
    expect(samplesOf(groups.total!, row)).toBe(250);
    expect(groups.detail(row)).toBe("open.cc:7");
  });
});

describe("a chain of only children with the same bytes", () => {
  it("is one box, which ends where own code does", () => {
    const chain = pageOfStacks([
      ["main run open std::resize", 80],
      ["main run open close", 20],
    ]);
    const tree = finished(CallTree.ofCallees(chain, select(chain, ALL)));
    const layout = new Layout(tree, ROOT, 800);
    layout.extend(10);
    const name = (node: number) =>
      node === ROOT ? "all" : functionName(chain, tree.functions[node]!);
    const boxes = layout.node.map((node, i) => [name(layout.first[i]!), name(node)].join("-"));
    expect(boxes).toEqual([
      "all-all",
      "main-open",
      "std::resize-std::resize",
      "close-close",
    ]);
    const open = layout.node[1]!;
    expect(layout.boxOf(tree.parents[open]!)).toBe(1);
  });
});

describe("an axis", () => {
  it("of bytes keeps to one unit", () => {
    const unit = (bytes: number) => exactBytes(bytes).replace(/.* /, "");
    for (let most = 1; most < 2 ** 50; most *= 1.01) {
      const [step, top] = [stepOf(most), topOf(most)];
      expect([unit(step), top >= most, top % step]).toEqual([unit(top), true, 0]);
    }
  });
  it("of time keeps to one unit", () => {
    expect(timeTexts([0, 0.1, 0.2])).toEqual(["0 ms", "100", "200 ms"]);
    expect(timeTexts([0, 50, 100])).toEqual(["0 s", "50", "100 s"]);
    expect(timeTexts([0, 60, 120])).toEqual(["0 min", "1", "2 min"]);
    expect(timeTexts([0, 1800, 7200])).toEqual(["0 h", "0.5", "2 h"]);
  });
});

describe("the finding", () => {
  const said = (of: typeof page, selection = ALL) =>
    finished(findingOf(select(of, selection), 0.95))
      .parts.map(({ text }) => text)
      .join("");
  it("names the deepest own function that surely has a quarter", () => {
    expect(said(LEAKY)).toMatch(/^At the end, open held 89 % \[86, 92\] of 130 MiB \[120, 140\]\.$/);
    const { path } = finished(findingOf(select(LEAKY, ALL), 0.95));
    expect(path.map((of) => functionName(LEAKY, of))).toEqual(["main", "open"]);
  });
  it("says of how much as the document does, which of a peak is more than its sums tell", () => {
    const peak = structuredClone(LEAKY.data);
    const bytes = { ...peak.profiles[0]!.bytes, lo: 46e6, hi: 270e6 };
    peak.profiles[0]!.bytes = bytes;
    expect(said(foldedPage(pageOf(peak)))).toContain(`of ${textOf(figure(bytes, "bytes"))}.`);
  });
  it("names two where their intervals overlap", () => {
    const two = pageOfStacks([
      ["main a std::x", 40],
      ["main b std::x", 38],
    ]);
    expect(said(two)).toMatch(/^At the end, a and b held 51 % .* and 49 % .* of .*; which is the largest is not certain\.$/);
  });
  it("says so where none has a quarter", () => {
    const many = pageOfStacks("abcdefgh".split("").map((name) => [name, 10]));
    expect(said(many)).toMatch(
      /^At the end, no single function dominates; the largest, a, held 13 % .* of /,
    );
  });
  it("names none from fewer than six samples", () => {
    expect(said(pageOfStacks([["main open", 5]]))).toMatch(/^Too few samples to name a function: 5\./);
    expect(said(pageOfStacks([]))).toMatch(/^At the end, less than 1\.85 MiB was held/);
  });
  it("opens on the kind that the document opens on, or on the first", () => {
    const kinds = page.data.profiles.map(({ kind }) => kind);
    for (const kind of ["live", "allocated"]) {
      expect(kinds[openingProfile({ ...page.data, opening: kind })]).toBe(kind);
    }
    expect(openingProfile({ ...page.data, opening: "" })).toBe(0);
  });
  it("leaves out a caller most of whose bytes pass through another one that is named", () => {
    const nested = pageOfStacks([
      ["main run", 70],
      ["main run load std::x", 30],
    ]);
    // Most of run's bytes are its own; load is called by it, so that they do not compete.
    expect(said(nested)).toMatch(/^At the end, run held 100 % \[98, 100\] of 116 MiB/);
  });
  it("goes on with the parts of a function that has nearly everything", () => {
    const top = pageOfStacks([
      ["main", 60],
      ["main serve remember std::x", 30],
      ["main serve answer std::x", 10],
    ]);
    expect(said(top)).toMatch(
      /^At the end, main held 100 % \[98, 100\] of 116 MiB \S+ \S+: 60 % ± 5 in its own code, 30 % ± 5 in remember\.$/,
    );
    // One part with nearly everything says no more than its function.
    const one = pageOfStacks([
      ["main", 96],
      ["main serve std::x", 4],
    ]);
    expect(said(one)).toMatch(/^At the end, main held 100 % \[98, 100\] of 116 MiB [^:]*\.$/);
  });
  it("says of a whole what the document says of it, and searches where a reader selects", () => {
    const data = structuredClone(LEAKY.data);
    const close = data.names.indexOf("close");
    const node = data.nodes.frame.findIndex((frame) => data.frames.name[frame] === close);
    const share = { value: 0.5, lo: 0.4, hi: 0.6 };
    const site = { node: node + 1, function: close, place: "a.cc:7 +2", process: "cc1", share, parts: [] };
    const lives = "97 % of it was freed within 1 ms";
    data.profiles[0]!.finding = { verdict: "found", lives, sites: [site, { ...site, process: "" }] };
    const known = foldedPage(pageOf(data));
    expect(said(known)).toMatch(
      /^At the end, close a\.cc:7 \+2 in cc1 and close a\.cc:7 \+2 held 50 % ± 10 and 50 % ± 10 of 130 MiB .*; 97 % of it was freed within 1 ms; which is the largest is not certain\.$/,
    );
    const { path } = finished(findingOf(select(known, ALL), 0.95));
    expect(path.map((of) => functionName(known, of))).toEqual(["main", "close"]);
    expect(said(known, { ...ALL, only: { size: 20 } })).toMatch(/^At the end, open held 89 %/);
    data.profiles[0]!.finding = { verdict: "found", lives: "", sites: [{ ...site, process: "", sites: "10 sites" }] };
    expect(said(foldedPage(pageOf(data)))).toMatch(/^At the end, close a\.cc:7 \+2 held 50 % ± 10 of 130 MiB .*, in 10 sites\.$/);
  });
});

describe("holders", () => {
  const data = fixture();
  const holders = data.holders!;
  it("are told apart by what is known of each part", () => {
    const texts = (held: ReturnType<typeof partsOf>) => held.map(({ site, part }) => `${site.name}: ${part.hold}`);
    expect(texts(partsOf(holders, isUnreachable))).toEqual(["lose: unreferenced"]);
    expect(texts(partsOf(holders, isUndecided))).toEqual(["store::append: moving"]);
    const [site] = holders.sites;
    const small = structuredClone(site!);
    for (const { live } of small.parts) live.bytes.value /= 2;
    expect(texts(partsOf({ ...holders, sites: [{ ...small, name: "small" }, site!] }, ({ root }) => root === "g_cache")))
      .toEqual(["store::append: reached", "small: reached"]);
  });
  it("are those of a function by its name, and by its module where that is known", () => {
    const page = pageOf(data);
    const [site] = holders.sites;
    const of = page.functionOf[100]!;
    expect(heldSiteOf(page, of)).toBe(undefined);
    site!.name = fullName(page, of);
    expect(heldSiteOf(page, of)).toBe(site);
    site!.detail = "other";
    expect(heldSiteOf(page, of)).toBe(undefined);
    site!.detail = baseName(moduleName(page, of));
    expect(heldSiteOf(page, of)).toBe(site);
  });
});

describe("leaks", () => {
  const leaks = fixture().leaks!;
  it("are not cleared where samples are missing", () => {
    const none = { ...leaks, finding: "undecided" as const, suspects: 0, undecided: 0, sites: [] };
    expect(hiddenText({ ...none, missing: "3 samples were dropped" })).toBe(
      "Samples are missing (3 samples were dropped), and a leak may be among them.",
    );
    expect(hiddenText({ ...none, mayHaveLeaked: 54 * 2 ** 20 })).toMatch(
      /^A leak of up to 54\.0 MiB at one site could have been missed/,
    );
    expect(hiddenText(none)).toMatch(/^No verdict: a site needs 6 samples/);
  });
  it("list undecided sites, with the reason", () => {
    const open = openOf(leaks, undefined);
    expect(open.map((site) => openText(site, leaks))).toEqual([
      "p = 0.01 alone, but false-alarm rate 0.20 among 9 sites",
      "has 4, needs 6 samples",
    ]);
    const stacks = { answers: new Uint8Array(5000).fill(Answer.No) } as Stacks;
    expect(openOf(leaks, stacks)).toEqual([]);
  });
  it("stand below the function that explains them", () => {
    const site = leaks.sites[0]!;
    const part = { ...site, owner: 0 };
    const owned = {
      ...leaks,
      owners: [{ ...site, rate: { value: 3e6, lo: 2e6, hi: 4e6 }, sites: "2 sites" }],
      sites: [site, part, { ...part, verdict: "undecided" as const }],
    };
    const found = accusedOf(owned, undefined);
    expect(found.map(({ site: of, below }) => [of.sites, below.length])).toEqual([
      [undefined, 0],
      ["2 sites", 2],
    ]);
    const stacks = { answers: new Uint8Array(5000).fill(Answer.No) } as Stacks;
    expect(accusedOf(owned, stacks)).toEqual([]);
  });
  it("of recordings that began late are decided by the blocks in use", () => {
    const inUse = "blocks of 2,064 bytes in use stayed 40,000";
    expect(openText({ ...leaks.sites[0]!, open: "turnover", inUse }, leaks)).toContain(inUse);
    const growing = "blocks of 496 bytes in use grew by 10.0 KiB ± 0.1 a second";
    expect(hiddenText({ ...leaks, growing })).toContain(growing);
  });
});

describe("a share", () => {
  it("has one ± only where both sides are alike, and within 0 and 100 %", () => {
    const text = (value: number, lo: number, hi: number) => textOf(shareFigure({ value, lo, hi }));
    expect(text(0.9974, 0.951, 0.998)).toBe("99.7 % [95, 99.8]");
    expect(text(0.42, 0.39, 0.45)).toBe("42 % ± 3");
    expect(text(0.95, 0.862, 0.987)).toBe("95 % [86, 99]");
    expect(text(0.034, 0.0031, 0.1213)).toBe("3.4 % [0.3, 12.2]");
    expect(text(0.97, 0.88, 1)).toBe("97 % [88, 100]");
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
    expectSame(finished(matchedSums(page, selected, { is: found.matches })).sums, selected.whole);
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
    showsAll: true,
    colour: "certainty",
    window: { from: 3, to: 9 },
    only: { process: 4, thread: 5, size: -1 },
    zoom: [0, 35, 36],
    chosen: [7, 3],
    around: 40,
    hide: "^std::",
    focus: "a|b&c",
    ignore: "#=",
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
    const opening = openingState({ all_frames: true, hide: "^main$" });
    expect(stateOf("", opening)).toEqual(opening);
    expect(textOfState(opening, opening)).toBe("");
    for (const state of [DEFAULTS, full, { ...opening, hide: "" }, { ...opening, showsAll: false }]) {
      expect(stateOf(`#${textOfState(state, opening)}`, opening)).toEqual(state);
    }
  });
  it("that makes no sense is the usual state", () => {
    expect(stateOf("#tab=x&mode=&window=9-3&zoom=!!&around=-3&thread=1e9&theme=pink")).toEqual(
      DEFAULTS,
    );
  });
  it("follows names when numbers change", () => {
    const data = fixture({ nodes: 3000 });
    const { frames } = data;
    for (const column of Object.values(frames) as number[][]) column.unshift(column.pop()!);
    const other = pageOf(data);
    const state = { ...DEFAULTS, zoom: [3, 4], chosen: [3], around: 5 };
    const part = carriedOver(state, page, other);
    expect(part.zoom).toEqual([4, 5]);
    expect(part.chosen).toEqual([4]);
    expect(part.around).toBe(6);
  });
});

describe("names", () => {
  it("lose what acts", () => {
    expect(printable("a\u001b[31m\u202eb\n\ud800c")).toBe("a\\x1b[31m\\u202eb\\x0a\\ud800c");
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
