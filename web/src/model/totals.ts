// The totals of every kind for what is selected otherwise: the numbers that choose the kind.
import type { Estimate, Profile } from "../data";
import { totalBytes } from "./measure";
import type { Page } from "./page";
import { DIMENSIONS, type Only, selectingBelow, type Window } from "./selection";
import type { Steps } from "./slices";

export interface Total {
  profile: Profile;
  bytes: Estimate;
}

const NO_NODES = new Int32Array(0);

/** Of a whole: exact where it was counted. */
function knownOr({ bytes, exactTotal }: Profile): Estimate {
  if (exactTotal === undefined) return bytes;
  return { ...bytes, value: exactTotal, lo: exactTotal, hi: exactTotal, exact: exactTotal };
}

/** Kinds that can be shown, in the order of the document. */
export function* totalsOf(
  page: Page,
  window: Window | undefined,
  only: Only,
  level: number,
): Steps<Total[]> {
  const isWhole = !window && DIMENSIONS.every((of) => only[of] === undefined);
  const totals: Total[] = [];
  for (const [i, profile] of page.data.profiles.entries()) {
    if (profile.cells < 0) continue;
    if (isWhole) {
      totals.push({ profile, bytes: knownOr(profile) });
      continue;
    }
    const made = yield* selectingBelow(page, { profile: i, window, only }, NO_NODES);
    totals.push({ profile, bytes: totalBytes(made.selected, level) });
  }
  return totals;
}
