// The additive sums of a set of samples (src/estimation/sums.h), laid out in a row of a
// Float64Array: a tree of 200,000 nodes has no objects.
import type { Strata } from "../data";

/** Columns of a row of sums. */
export const enum Sum {
  /** s: recorded with pi < 1. */
  Samples,
  /** XC */
  Certain,
  /** X */
  CertainBytes,
  /** B */
  Seen,
  /** Y */
  Weighted,
  /** V */
  Variance,
  /** C */
  Objects,
  /** VC */
  ObjectsVariance,
  /**
   * E, where a part of an object weighs more than the object; else the profile's. Columns before
   * this one are added, this one and the following are extremes.
   */
  LargestInterval,
  /** E_least; 0: none. */
  SmallestInterval,
  /** c */
  LargestObjectWeight,
  Width,
}

export type Sums = Float64Array;

export function emptySums(rows = 1): Sums {
  return new Float64Array(rows * Sum.Width);
}

/** Adds `count` times row `from` of `source` to row `to` of `target`. */
export function merge(target: Sums, to: number, source: Sums, from: number, count = 1): void {
  const t = to * Sum.Width;
  const f = from * Sum.Width;
  // Written out: this is most of what a selection of 200,000 nodes takes.
  target[t]! += count * source[f]!;
  target[t + 1]! += count * source[f + 1]!;
  target[t + 2]! += count * source[f + 2]!;
  target[t + 3]! += count * source[f + 3]!;
  target[t + 4]! += count * source[f + 4]!;
  target[t + 5]! += count * source[f + 5]!;
  target[t + 6]! += count * source[f + 6]!;
  target[t + 7]! += count * source[f + 7]!;
  if (source[f + Sum.Samples] === 0) return;
  const e = source[f + Sum.LargestInterval]!;
  if (e > target[t + Sum.LargestInterval]!) target[t + Sum.LargestInterval] = e;
  const least = source[f + Sum.SmallestInterval]!;
  const known = target[t + Sum.SmallestInterval]!;
  if (known === 0 || (least > 0 && least < known)) target[t + Sum.SmallestInterval] = least;
  const weight = source[f + Sum.LargestObjectWeight]!;
  if (weight > target[t + Sum.LargestObjectWeight]!) target[t + Sum.LargestObjectWeight] = weight;
}

/** The sums of what is in `whole` and not in `part`: rest_of of src/estimation/sums.cc. */
export function restOf(part: Sums, whole: Sums): Sums {
  const rest = emptySums();
  const less = (column: Sum) => Math.max(0, whole[column]! - part[column]!);
  rest[Sum.LargestInterval] = whole[Sum.LargestInterval]!;
  rest[Sum.Certain] = less(Sum.Certain);
  if (rest[Sum.Certain]! > 0) rest[Sum.CertainBytes] = less(Sum.CertainBytes);
  rest[Sum.Samples] = less(Sum.Samples);
  if (rest[Sum.Samples] === 0) return rest;
  for (const column of [Sum.Seen, Sum.Weighted, Sum.Variance, Sum.Objects, Sum.ObjectsVariance]) {
    rest[column] = less(column);
  }
  rest[Sum.SmallestInterval] = whole[Sum.SmallestInterval]!;
  rest[Sum.LargestObjectWeight] = whole[Sum.LargestObjectWeight]!;
  return rest;
}

/** The row as an array of its own. */
export function rowOf(sums: Sums, row: number): Sums {
  return sums.slice(row * Sum.Width, (row + 1) * Sum.Width);
}

/** Estimated bytes without their error: for sorting and widths only. */
export function bytesForOrder(sums: Sums, row: number): number {
  return sums[row * Sum.Width + Sum.CertainBytes]! + sums[row * Sum.Width + Sum.Weighted]!;
}

export function samplesOf(sums: Sums, row: number): number {
  return sums[row * Sum.Width + Sum.Samples]! + sums[row * Sum.Width + Sum.Certain]!;
}

/** One row of sums for each stratum: what one object of it adds. */
export function strataSums(strata: Strata): Sums {
  const sums = emptySums(strata.bytes.length);
  for (let i = 0; i < strata.bytes.length; ++i) {
    const row = i * Sum.Width;
    if (strata.certain[i]) {
      sums[row + Sum.Certain] = 1;
      sums[row + Sum.CertainBytes] = strata.bytes[i]!;
      continue;
    }
    const objects = strata.objects[i]!;
    sums[row + Sum.Samples] = 1;
    sums[row + Sum.Seen] = strata.bytes[i]!;
    sums[row + Sum.Weighted] = strata.weighted[i]!;
    sums[row + Sum.Variance] = strata.variance[i]!;
    sums[row + Sum.Objects] = objects;
    sums[row + Sum.ObjectsVariance] = strata.objectsVariance[i]!;
    sums[row + Sum.LargestInterval] = strata.interval[i]!;
    sums[row + Sum.SmallestInterval] = strata.interval[i]!;
    sums[row + Sum.LargestObjectWeight] = objects;
  }
  return sums;
}
