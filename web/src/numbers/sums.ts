// The additive sums of a set of samples (src/estimation/sums.h), laid out in a row of a
// Float64Array: a tree of 200,000 nodes has no objects.
import type { Strata } from "../data";
import * as Sum from "./compiled";

/** Columns of a row of sums. Constants of a module, unlike fields of an object, become numbers in the page. */
export { Sum };

/** Sums that are added, of what is known; the same of what is open are as many columns from OpenSamples on. */
const ADDED = Sum.LargestInterval - Sum.Samples;

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
  const open = source[f + Sum.OpenSamples]! + source[f + Sum.OpenCertain]!;
  if (open > 0) {
    for (let i = Sum.OpenSamples; i < Sum.Width; ++i) target[t + i]! += count * source[f + i]!;
  }
  if (source[f + Sum.Samples] === 0 && open === 0) return;
  extend(target, t, source, f);
}

/** As merge(), but with nothing known of what is added: leave_open of src/estimation/sums.h. */
export function leaveOpen(target: Sums, to: number, source: Sums, from: number, count = 1): void {
  const t = to * Sum.Width;
  const f = from * Sum.Width;
  for (let i = 0; i < ADDED; ++i) {
    target[t + Sum.OpenSamples + i]! += count * (source[f + i]! + source[f + Sum.OpenSamples + i]!);
  }
  if (source[f + Sum.Samples]! + source[f + Sum.OpenSamples]! > 0) extend(target, t, source, f);
}

/** Takes the extremes of both. */
function extend(target: Sums, t: number, source: Sums, f: number): void {
  const e = source[f + Sum.LargestInterval]!;
  if (e > target[t + Sum.LargestInterval]!) target[t + Sum.LargestInterval] = e;
  lower(target, t + Sum.SmallestInterval, source[f + Sum.SmallestInterval]!);
  const weight = source[f + Sum.LargestObjectWeight]!;
  if (weight > target[t + Sum.LargestObjectWeight]!) target[t + Sum.LargestObjectWeight] = weight;
  lower(target, t + Sum.SmallestSize, source[f + Sum.SmallestSize]!);
  const size = source[f + Sum.LargestSize]!;
  if (size > target[t + Sum.LargestSize]!) target[t + Sum.LargestSize] = size;
}

/** To the smaller of the two; 0 is none. */
function lower(target: Sums, at: number, value: number): void {
  if (target[at] === 0 || (value > 0 && value < target[at]!)) target[at] = value;
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

/** Samples whose bytes are not known. */
export function openOf(sums: Sums, row: number): number {
  return sums[row * Sum.Width + Sum.OpenSamples]! + sums[row * Sum.Width + Sum.OpenCertain]!;
}

/** Estimated bytes of them without their error, if each counts in full. */
export function openBytes(sums: Sums): number {
  return sums[Sum.OpenCertainBytes]! + sums[Sum.OpenWeighted]!;
}

/** Whether there is no sample at all, known or open. */
export function isEmpty(sums: Sums, row: number): boolean {
  return samplesOf(sums, row) + openOf(sums, row) === 0;
}

/** One row of sums for each stratum: what one object of it adds. */
export function strataSums(strata: Strata): Sums {
  const sums = emptySums(strata.bytes.length);
  for (let i = 0; i < strata.bytes.length; ++i) {
    const row = i * Sum.Width;
    const added = row + (strata.open?.[i] ? Sum.OpenSamples : Sum.Samples);
    if (strata.certain[i]) {
      sums[added + Sum.Certain] = 1;
      sums[added + Sum.CertainBytes] = strata.bytes[i]!;
      continue;
    }
    const objects = strata.objects[i]!;
    sums[added + Sum.Samples] = 1;
    sums[added + Sum.Seen] = strata.bytes[i]!;
    sums[added + Sum.Weighted] = strata.weighted[i]!;
    sums[added + Sum.Variance] = strata.variance[i]!;
    sums[added + Sum.Objects] = objects;
    sums[added + Sum.ObjectsVariance] = strata.objectsVariance[i]!;
    sums[row + Sum.LargestInterval] = (strata.largestInterval ?? strata.interval)[i]!;
    sums[row + Sum.SmallestInterval] = strata.interval[i]!;
    sums[row + Sum.LargestObjectWeight] = strata.largestObjectWeight?.[i] ?? objects;
    const size = strata.smallestSize?.[i] ?? Math.max(strata.bytes[i]!, 1);
    sums[row + Sum.SmallestSize] = size;
    sums[row + Sum.LargestSize] = strata.largestSize?.[i] ?? size;
  }
  return sums;
}
