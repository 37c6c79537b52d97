// From sums to numbers: src/estimation/estimate.cc and calibration.cc, which say why. The names
// are theirs; docs/estimators.md has the proofs.
import type { Estimate } from "../data";
import { type Gamma, lowerQuantile, tails, upperQuantile } from "./gamma";
import { betaQuantileOdds, upperNormalQuantile } from "./special";
import { atMost, openOf, restOf, Sum, type Sums } from "./sums";

/** The total form, or the form of rows that are listed because they were sampled. */
export type Form = "total" | "listed";

interface Uncertain {
  seen: number;
  weighted: number;
  deviation: number;
  event: number;
  listing: number;
}

interface Interval {
  lo: number;
  hi: number;
}

const LARGEST_SUM = 1e150;
const SURELY_LISTED = 40;
const SAMPLES_TO_CALIBRATE = 5;
const SIZES_KNOWN_FROM = 4;
/** An allocator's least usual size. */
const LEAST_USUAL = 8;

function clean(sum: number): number {
  return sum > 0 ? Math.min(sum, LARGEST_SUM) : 0;
}

function alphaOf(level: number): number {
  const alpha = 1 - level;
  return alpha > 2 ** -53 ? Math.min(alpha, 1) : 2 ** -53;
}

/** Limit of what leaves no sample. */
export function detectionLimit(largestInterval: number, level: number): number {
  return largestInterval > 1 ? largestInterval * Math.log(2 / alphaOf(level)) : 0;
}

function lowerLaw(part: Uncertain): Gamma {
  return { mean: part.weighted, deviation: part.deviation };
}

function upperLaw(part: Uncertain): Gamma {
  return {
    mean: Math.max(part.weighted - part.seen, 0) + part.event,
    deviation: Math.hypot(part.deviation, part.event),
  };
}

function totalForm(part: Uncertain, alpha: number): Interval {
  return {
    lo: Math.max(part.seen, lowerQuantile(lowerLaw(part), alpha / 2)),
    hi: part.seen + upperQuantile(upperLaw(part), alpha / 2),
  };
}

/** The root of `f` between two points where its sign differs: Ridders' method. */
function root(f: (x: number) => number, low: number, high: number): number {
  let atLow = f(low);
  let atHigh = f(high);
  if (atLow === 0) return low;
  if (!(atLow * atHigh < 0)) return high;
  for (let i = 0; i < 100 && high - low > 1e-14 * high; ++i) {
    const middle = low / 2 + high / 2;
    const atMiddle = f(middle);
    const scale = Math.sqrt(atMiddle * atMiddle - atLow * atHigh);
    if (!(scale > 0)) return middle;
    const x = middle + ((middle - low) * Math.sign(atLow) * atMiddle) / scale;
    const atX = f(x);
    if (atX === 0) return x;
    // Of the four points the two neighbours between which the sign changes.
    const points: [number, number][] = [
      [low, atLow],
      [middle, atMiddle],
      [x, atX],
      [high, atHigh],
    ];
    points.sort((a, b) => a[0] - b[0]);
    const right = points.findIndex(([, value]) => value * atLow < 0);
    [low, atLow] = points[right - 1]!;
    [high, atHigh] = points[right]!;
  }
  return low / 2 + high / 2;
}

function listedLower(part: Uncertain, alpha: number, classical: number): number {
  if (classical <= part.seen || classical > SURELY_LISTED * part.event) return classical;
  const law = lowerLaw(part);
  const excess = (x: number) => tails(law, x).below + (alpha / 2) * Math.expm1(-x / part.event);
  return excess(part.seen) > 0 ? part.seen : root(excess, part.seen, classical);
}

function listedUpper(part: Uncertain, alpha: number, classical: number): number {
  if (classical > SURELY_LISTED * part.listing) return classical;
  const law = upperLaw(part);
  const excess = (x: number) => {
    const unlisted = Math.exp(-x / part.listing);
    return tails(law, x - part.seen).above - unlisted - (alpha / 2) * (1 - unlisted);
  };
  return root(excess, part.seen, classical);
}

function interval(part: Uncertain, alpha: number, form: Form, samples: number): Interval {
  const classical = totalForm(part, alpha);
  if (form === "total" || samples === 0 || !(part.event > 0)) return classical;
  return {
    lo: listedLower(part, alpha, classical.lo),
    hi: listedUpper(part, alpha, classical.hi),
  };
}

function assemble(exact: number, part: Uncertain, samples: number, limits: Interval): Estimate {
  const value = exact + part.weighted;
  return {
    value,
    lo: Math.min(exact + limits.lo, value),
    hi: Math.max(exact + limits.hi, value),
    variance: part.deviation * part.deviation,
    samples,
    exact,
  };
}

/**
 * An estimate of the least that open samples leave possible, with the upper limit of the most:
 * each limit holds for its own, and the truth lies between the two.
 */
function reaching<T extends Estimate | undefined>(sums: Sums, estimate: (sums: Sums) => T): T {
  const least = estimate(sums);
  const open = openOf(sums, 0);
  if (!least || open === 0) return least;
  const most = estimate(atMost(sums));
  return most && { ...least, hi: Math.max(least.hi, most.hi), open };
}

function knownBytes(sums: Sums, level: number, form: Form): Estimate {
  const part: Uncertain = {
    seen: clean(sums[Sum.Seen]!),
    weighted: clean(sums[Sum.Weighted]!),
    deviation: clean(Math.sqrt(sums[Sum.Variance]!)),
    event: clean(sums[Sum.LargestInterval]!),
    listing: clean(sums[Sum.SmallestInterval]!),
  };
  const samples = sums[Sum.Samples]!;
  const limits = interval(part, alphaOf(level), form, samples);
  return assemble(clean(sums[Sum.CertainBytes]!), part, samples, limits);
}

/** Bytes of one row of sums (an array of Sum.Width). */
export function estimateBytes(sums: Sums, level: number, form: Form): Estimate {
  return reaching(sums, (of) => knownBytes(of, level, form));
}

/** `event`: the heaviest object that may have been missed. */
function knownObjects(sums: Sums, event: number, level: number, form: Form): Estimate {
  const samples = sums[Sum.Samples]!;
  const part: Uncertain = {
    seen: clean(samples),
    weighted: clean(sums[Sum.Objects]!),
    deviation: clean(Math.sqrt(sums[Sum.ObjectsVariance]!)),
    event: clean(event),
    listing: 0,
  };
  const limits = interval(part, alphaOf(level), form, samples);
  return assemble(sums[Sum.Certain]!, part, samples, limits);
}

function isWide(sums: Sums): boolean {
  return sums[Sum.SmallestSize]! > 0 && sums[Sum.LargestSize]! >= 2 * sums[Sum.SmallestSize]!;
}

function isSizeKnown(sums: Sums): boolean {
  const samples = sums[Sum.Samples]! + sums[Sum.OpenSamples]!;
  return samples > 0 && (samples >= SIZES_KNOWN_FROM || !isWide(sums));
}

function nextObject(sums: Sums): number {
  const interval = sums[Sum.ObjectInterval]!;
  if (!isSizeKnown(sums)) return interval;
  const seen = sums[Sum.LargestObjectWeight]!;
  const size = sums[Sum.SmallestSize]!;
  const next = interval > 0 ? Math.max(seen, -1 / Math.expm1(-size / interval)) : seen;
  if (!isWide(sums)) return next;
  const smallerOnes = seen * (1 + Math.log(Math.max(size, LEAST_USUAL) / LEAST_USUAL));
  return Math.max(next, Math.min(smallerOnes, interval));
}

/** Objects, given the sizes seen. */
export function estimateObjects(sums: Sums, level: number, form: Form): Estimate {
  const event = nextObject(sums);
  const estimate = reaching(sums, (of) => knownObjects(of, event, level, form));
  return isSizeKnown(sums) ? estimate : { ...estimate, hasUnknownSizes: true };
}

export function hasEnoughToCalibrate(part: Sums): boolean {
  return part[Sum.Samples]! >= SAMPLES_TO_CALIBRATE;
}

const LARGE_SHAPE = 1e10;
const NORMAL_SHAPE = 1e6;

function shapeOf(law: Gamma): number {
  if (!(law.deviation > 0)) return Infinity;
  return (law.mean / law.deviation) ** 2;
}

function oddsToShare(odds: number): number {
  return odds === Infinity ? 1 : odds / (1 + odds);
}

/** x with P(A / (A + B) <= x) = p, A and B independent. */
function shareQuantile(a: Gamma, b: Gamma, p: number): number {
  if (!(a.mean > 0)) return 0;
  if (!(b.mean > 0)) return 1;
  const [shapeA, shapeB] = [shapeOf(a), shapeOf(b)];
  const least = Math.min(shapeA, shapeB);
  if (Math.max(shapeA, shapeB) < LARGE_SHAPE && least < NORMAL_SHAPE) {
    const scale = (law: Gamma) => law.deviation * (law.deviation / law.mean);
    return oddsToShare(betaQuantileOdds(shapeA, shapeB, p) * (scale(a) / scale(b)));
  }
  if (least > NORMAL_SHAPE / 10) {
    const deviation = Math.sqrt(1 / shapeA + 1 / shapeB);
    return oddsToShare((a.mean / b.mean) * Math.exp(-upperNormalQuantile(p) * deviation));
  }
  return shapeA < shapeB
    ? oddsToShare(lowerQuantile(a, p) / b.mean)
    : oddsToShare(a.mean / upperQuantile(b, p));
}

function lawOf(sums: Sums, event: number): Gamma {
  return {
    mean: sums[Sum.Weighted]! + event,
    deviation: Math.hypot(Math.sqrt(sums[Sum.Variance]!), event),
  };
}

/** Bytes of a part of a whole that has exactly `exactBytes`; undefined where it does not fit. */
export function calibratedBytes(
  part: Sums,
  whole: Sums,
  exactBytes: number,
  level: number,
): Estimate | undefined {
  return reaching(part, (of) => knownCalibrated(of, whole, exactBytes, level));
}

function knownCalibrated(
  part: Sums,
  whole: Sums,
  exactBytes: number,
  level: number,
): Estimate | undefined {
  const total = exactBytes - whole[Sum.CertainBytes]!;
  if (!(total >= whole[Sum.Seen]!) || part[Sum.Weighted]! > whole[Sum.Weighted]! * (1 + 1e-9)) {
    return undefined;
  }
  const rest = restOf(part, whole);
  const ofGap = whole[Sum.Variance]! > 0 ? part[Sum.Variance]! / whole[Sum.Variance]! : 0;
  const least = part[Sum.Seen]!;
  const most = Math.max(least, total - rest[Sum.Seen]!);
  const held = (bytes: number) => Math.min(Math.max(bytes, least), most);
  const value = held(part[Sum.Weighted]! + (total - whole[Sum.Weighted]!) * ofGap);
  const event = whole[Sum.LargestInterval]!;
  const half = alphaOf(level) / 2;
  const lo = total * shareQuantile(lawOf(part, 0), lawOf(rest, event), half);
  const hi = total - total * shareQuantile(lawOf(rest, 0), lawOf(part, event), half);
  const exact = part[Sum.CertainBytes]!;
  return {
    value: exact + value,
    lo: exact + Math.min(value, held(lo)),
    hi: exact + Math.max(value, held(hi)),
    variance: rest[Sum.Variance]! * ofGap,
    samples: part[Sum.Samples]!,
    exact,
  };
}
