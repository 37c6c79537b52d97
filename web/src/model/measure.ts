// From the sums of a part to the numbers that are shown: src/analysis/present/measure.cc, share.cc.
import type { Estimate } from "../data";
import {
  calibratedBytes,
  estimateBytes,
  estimateObjects,
  hasEnoughToCalibrate,
} from "../numbers/estimate";
import { exactCount, type Figure, figure, isExact } from "../numbers/format";
import { atMost, openOf, restOf, Sum, type Sums, withoutOpen } from "../numbers/sums";
import { type Selected, withInterval } from "./selection";

export interface Share {
  value: number;
  lo: number;
  hi: number;
}

function exactly(bytes: number, samples: number): Estimate {
  return { value: bytes, lo: bytes, hi: bytes, variance: 0, samples, exact: bytes };
}

function calibrated(selected: Selected, part: Sums, level: number): Estimate | undefined {
  if (!selected.calibrates || !hasEnoughToCalibrate(part)) return undefined;
  return calibratedBytes(part, selected.whole, selected.exact!, level);
}

/** Of the whole selection. */
export function totalBytes(selected: Selected, level: number): Estimate {
  if (selected.exact !== undefined) {
    return exactly(selected.exact, selected.whole[Sum.Samples]!);
  }
  return estimateBytes(selected.whole, level, "total");
}

/** Of a row that is shown because it was sampled. `part` is changed: it learns the interval. */
export function rowBytes(selected: Selected, part: Sums, level: number): Estimate {
  withInterval(part, selected.profile);
  return (
    calibrated(selected, part, level) ??
    estimateBytes(part, level, part[Sum.Samples]! > 0 ? "listed" : "total")
  );
}

/** Of a part that was asked for, sampled or not: what a search matched. */
export function partBytes(selected: Selected, part: Sums, level: number): Estimate {
  withInterval(part, selected.profile);
  return calibrated(selected, part, level) ?? estimateBytes(part, level, "total");
}

export function rowObjects(selected: Selected, part: Sums, level: number): Estimate {
  withInterval(part, selected.profile);
  return estimateObjects(part, level, part[Sum.Samples]! > 0 ? "listed" : "total");
}

/** Where too few sizes were seen only the bytes have an upper limit that says something. */
export function hasObjectsInterval(bytes: Estimate, objects: Estimate): boolean {
  return bytes.hi < bytes.value + 1 || !objects.hasUnknownSizes;
}

/** Objects as text. */
export function objectsFigure(bytes: Estimate, objects: Estimate): Figure {
  if (hasObjectsInterval(bytes, objects)) return figure(objects, "objects");
  const least = Math.ceil(objects.lo);
  return { value: least === 0 ? "-" : `≥ ${exactCount(least)}`, error: "" };
}

/** Of two errors, of which one lowers a sum to `lo` at most: where that is what was seen, they add up. */
function distance(lowering: number, raising: number, lowered: Sums, { lo }: Estimate): number {
  const isWhatWasSeen = lo <= lowered[Sum.CertainBytes]! + lowered[Sum.Seen]!;
  return isWhatWasSeen ? lowering + raising : Math.hypot(lowering, raising);
}

/** Without the open samples of the part: part and rest are sampled independently (MOVER). */
function knownShare(part: Sums, whole: Sums, level: number): Share {
  const others = restOf(part, whole);
  const mine = estimateBytes(part, level, "total");
  const rest = estimateBytes(others, level, "total");
  const sum = mine.value + rest.value;
  if (!(sum > 0)) return { value: 0, lo: 0, hi: 0 };
  const share = mine.value / sum;
  const [belowMine, aboveMine] = [mine.value - mine.lo, mine.hi - mine.value];
  const [belowRest, aboveRest] = [rest.value - rest.lo, rest.hi - rest.value];
  const below = distance((1 - share) * belowMine, share * aboveRest, part, mine);
  const above = distance(share * belowRest, (1 - share) * aboveMine, others, rest);
  return {
    value: share,
    lo: Math.max(0, share - below / sum),
    hi: Math.min(1, share + above / sum),
  };
}

/** Share of a part in the whole: of the exact total if that is known. The upper limit has all that is open. */
export function shareOf(selected: Selected, part: Sums, bytes: Estimate, level: number): Share {
  const { exact } = selected;
  if (exact !== undefined && exact > 0) {
    const ofExact = (value: number) => Math.min(1, value / exact);
    return { value: ofExact(bytes.value), lo: ofExact(bytes.lo), hi: ofExact(bytes.hi) };
  }
  withInterval(part, selected.profile);
  const share = knownShare(withoutOpen(part), selected.whole, level);
  if (openOf(part, 0) === 0) return share;
  return { ...share, hi: Math.max(share.hi, knownShare(atMost(part), selected.whole, level).hi) };
}

/** Half of the interval over the value: above 0.5 a node is hatched. */
export function relativeError(estimate: Estimate): number {
  if (isExact(estimate)) return 0;
  return estimate.value > 0 ? (estimate.hi - estimate.lo) / 2 / estimate.value : Infinity;
}
