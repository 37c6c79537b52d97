// The totals of every kind for what is selected otherwise: the numbers that choose the kind.
import type { Estimate } from "../numbers/arithmetic";
import type { Profile } from "../data";
import { totalBytes, wholeBytes } from "./measure";
import type { Page } from "./page";
import { isWhole, selectingBelow, type Selection } from "./selection";
import type { Steps } from "./slices";

export interface Total {
  profile: Profile;
  bytes: Estimate;
  /** Where focus or ignore keep a part: of what. */
  of?: Estimate;
}

const NO_NODES = new Int32Array(0);

function* bytesOf(page: Page, selection: Selection, level: number): Steps<Estimate> {
  if (isWhole(selection)) return wholeBytes(page.data.profiles[selection.profile]!);
  const made = yield* selectingBelow(page, selection, NO_NODES);
  return totalBytes(made.selected, level);
}

export function* totalOf(page: Page, selection: Selection, level: number): Steps<Total> {
  const profile = page.data.profiles[selection.profile]!;
  const bytes = yield* bytesOf(page, selection, level);
  if (!selection.stacks) return { profile, bytes };
  return { profile, bytes, of: yield* bytesOf(page, { ...selection, stacks: undefined }, level) };
}

/** Kinds that can be shown, in the order of the document. */
export function* totalsOf(
  page: Page,
  chosen: Omit<Selection, "profile">,
  level: number,
): Steps<Total[]> {
  const totals: Total[] = [];
  for (const [profile, { cells }] of page.data.profiles.entries()) {
    if (cells >= 0) totals.push(yield* totalOf(page, { ...chosen, profile }, level));
  }
  return totals;
}
