// What the page computes from sums, against the reference vectors of the estimators.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { livesText } from "../src/model/lives";
import {
  estimateBytes,
  estimateObjects,
  hasObjectsInterval,
  loadArithmetic,
  restOf,
} from "../src/numbers/arithmetic";
import { emptySums, isEmpty, merge, strataSums, Sum, type Sums } from "../src/numbers/sums";
import { strataOf } from "./strata";

await loadArithmetic();

interface Site {
  name: string;
  samples?: ([number, number] | string)[];
  E: number;
  s: number;
  B: number;
  Y: number;
  V: number;
  C: number;
  VC: number;
  [key: string]: unknown;
}

const vectors = JSON.parse(
  readFileSync(
    process.env.GEIGER_VECTORS ?? new URL("../../tests/vectors/statistics.json", import.meta.url),
    "utf8",
  ),
);

/** References below this share of 1 are noise. */
function near(value: number, expected: number, what: string, digits = 1e-10): void {
  expect(Math.abs(value - expected), `${what}: ${value} for ${expected}`).toBeLessThanOrEqual(
    digits * Math.abs(expected) + 1e-35,
  );
}

function sumsOf(site: Site): Sums {
  const objects: [number, number][] = [];
  for (const sample of site.samples ?? []) {
    const times = typeof sample === "string" ? Number(sample.slice(1)) - 1 : 1;
    const one = typeof sample === "string" ? (site.samples![0] as [number, number]) : sample;
    for (let i = 0; i < times; ++i) objects.push(one);
  }
  const strata = strataSums(strataOf(objects));
  const sums = emptySums();
  objects.forEach((_, i) => merge(sums, 0, strata, i));
  sums[Sum.LargestInterval] = Math.max(sums[Sum.LargestInterval]!, site.E);
  return sums;
}

describe("FF-SG", () => {
  for (const site of vectors.ffsg as Site[]) {
    it(site.name, () => {
      const sums = sumsOf(site);
      if (site.samples && site.E > 1) {
        near(sums[Sum.Seen]!, site.B, "B");
        near(sums[Sum.Weighted]!, site.Y, "Y");
        near(sums[Sum.Variance]!, site.V, "V");
        near(sums[Sum.Objects]!, site.C, "C");
        near(sums[Sum.ObjectsVariance]!, site.VC, "VC");
      }
      if (site.E <= 1) return;
      for (const [form, name] of [["total", "ffsg_0.05"], ["listed", "ffsg_listed_0.05"]] as const) {
        const limits = site[name] as [number, number] | undefined;
        if (!limits) continue;
        const { lo, hi } = estimateBytes(sums, 0.95, form);
        near(lo, limits[0], `lo of ${name}`);
        // The reference of listed ones conditions on the largest interval alone.
        if (form === "total") near(hi, limits[1], `hi of ${name}`);
      }
    });
  }

  it("takes what is open in upper limits alone, with all of its size", () => {
    const objects: [number, number][] = [[100, 1000], [300, 1000], [5000, 1], [700, 1000]];
    const sums = (isOpen: number[]) => {
      const strata = strataSums({ ...strataOf(objects), open: isOpen });
      const all = emptySums();
      objects.forEach((_, i) => merge(all, 0, strata, i, 3));
      return all;
    };
    const known = emptySums();
    merge(known, 0, strataSums(strataOf([objects[0]!, objects[2]!])), 0, 3);
    merge(known, 0, strataSums(strataOf([objects[0]!, objects[2]!])), 1, 3);
    for (const estimate of [estimateBytes, estimateObjects]) {
      const found = estimate(sums([0, 1, 0, 1]), 0.95, "listed");
      const least = estimate(known, 0.95, "listed");
      const most = estimate(sums([0, 0, 0, 0]), 0.95, "listed");
      expect([found.value, found.lo, found.samples]).toEqual([least.value, least.lo, 3]);
      near(found.hi, most.hi, "hi");
      expect(found.openSamples).toBe(6);
    }
    const none = estimateBytes(sums([1, 1, 1, 1]), 0.95, "total");
    expect([none.value, none.lo, none.samples]).toEqual([0, 0, 0]);
    expect(none.hi).toBeGreaterThan(15000);
  });

  it("subtracts what is open from what is open", () => {
    const strata = strataSums({ ...strataOf([[100, 1000], [5000, 1]]), open: [1, 1] });
    const [part, whole] = [emptySums(), emptySums()];
    merge(part, 0, strata, 0, 2);
    merge(whole, 0, strata, 0, 5);
    merge(whole, 0, strata, 1, 1);
    const rest = restOf(part, whole);
    expect([rest[Sum.OpenSamples], rest[Sum.OpenCertainBytes], rest[Sum.Samples]]).toEqual([3, 5000, 0]);
    near(rest[Sum.OpenVariance]!, 3 * strata[Sum.OpenVariance]!, "V");
    expect(isEmpty(restOf(whole, whole), 0)).toBe(true);
  });

  it("bounds no objects by few samples of sizes that differ", () => {
    const strata = strataSums(strataOf([[64, 65536], [4096, 65536]]));
    const sums = emptySums();
    merge(sums, 0, strata, 0, 1);
    merge(sums, 0, strata, 1, 2);
    sums[Sum.LargestInterval] = sums[Sum.ObjectInterval] = 65536;
    const bytes = estimateBytes(sums, 0.95, "total");
    expect(hasObjectsInterval(bytes, estimateObjects(sums, 0.95, "total"))).toBe(false);
    merge(sums, 0, strata, 0, 1);
    const bounded = estimateObjects(sums, 0.95, "total");
    expect(hasObjectsInterval(bytes, bounded)).toBe(true);
    expect(bounded.hi).toBeGreaterThan(2048 + 3 * 1024);
  });
});

describe("lifetimes", () => {
  const curve = {
    name: "f",
    samples: 40,
    time: [0, 6800, 2.5e9],
    value: [1, 0.95, 0.95],
    lo: [0.9, 0.84, 0],
    hi: [1, 0.99, 0.99],
  };

  it("are at least as long as the longest that was observed, where the curve ends above", () => {
    expect(livesText(curve, 0.5)).toBe("2.50 s");
  });

  it("have the limits that the curve has", () => {
    expect(livesText({ ...curve, lo: [0.9, 0.4, 0] }, 0.5)).toBe("2.50 s [6.8 us, > 2.50 s]");
    const shorter = { ...curve, value: [1, 0.4, 0.4], lo: [0.9, 0.3, 0] };
    expect(livesText(shorter, 0.5)).toBe("6.8 us [6.8 us, > 2.50 s]");
  });
});
