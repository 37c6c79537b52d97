// From the sums of a part of a selection to the numbers that are shown.
import type { Estimated, Measure, Profile } from "../data";
import {
  bytesOfPart,
  estimateObjects,
  isExact,
  type Share,
  shareOfPart,
  type Estimate,
} from "../numbers/arithmetic";
import { Sum, type Sums } from "../numbers/sums";
import { type Selected, withInterval } from "./selection";

/** Of a whole profile: exact where it was counted. */
export function wholeBytes({ bytes, exactTotal: exact }: Profile): Estimate {
  return exact === undefined ? bytes : { ...bytes, value: exact, lo: exact, hi: exact, variance: 0, exact };
}

/** Of the whole selection by its samples: of a whole profile the document's, which of a peak is wider than its sums. */
export function sampledBytes(selected: Selected, level: number): Estimate {
  const { isWhole, profile, whole } = selected;
  return isWhole ? profile.bytes : bytesOfPart(whole, selected, level, "total");
}

/** Of the whole selection. */
export function totalBytes(selected: Selected, level: number): Estimate {
  return selected.isWhole ? wholeBytes(selected.profile) : sampledBytes(selected, level);
}

const formOf = (part: Sums) => (part[Sum.Samples]! > 0 ? "listed" : "total");

/** Of a row that is shown because it was sampled. `part` is changed: it learns the interval. */
export function rowBytes(selected: Selected, part: Sums, level: number): Estimate {
  return bytesOfPart(withInterval(part, selected.profile), selected, level, formOf(part));
}

/** Of a part that was asked for, sampled or not: what a search matched. */
export function partBytes(selected: Selected, part: Sums, level: number): Estimate {
  return bytesOfPart(withInterval(part, selected.profile), selected, level, "total");
}

export function rowObjects(selected: Selected, part: Sums, level: number): Estimate {
  return estimateObjects(withInterval(part, selected.profile), level, formOf(part));
}

/** Share of a part in the whole: of the exact total if that is known. */
export function shareOf(selected: Selected, part: Sums, bytes: Estimate, level: number): Share {
  return shareOfPart(withInterval(part, selected.profile), selected, level, bytes);
}

/** Of a measure that the document has made. */
export function shownBytes({ bytes, calibrated }: Measure): Estimated {
  return calibrated ?? bytes;
}

/** Half of the interval over the value: above 0.5 a node is hatched. */
export function relativeError(estimate: Estimate): number {
  if (isExact(estimate)) return 0;
  return estimate.value > 0 ? (estimate.hi - estimate.lo) / 2 / estimate.value : Infinity;
}
