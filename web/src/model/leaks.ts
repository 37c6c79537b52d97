// What `geiger leaks` says of its sites, in the same figures.
import type { LeakSite, Leaks } from "../data";
import { boundBytes, duration, plural, probability, probabilityOf } from "../numbers/arithmetic";
import { Answer } from "./answers";
import type { Stacks } from "./filter";

type Verdict = LeakSite["verdict"];

/** The sites of a verdict whose stacks are kept, or may be, in the document's order: the fastest-growing first. */
export function sitesOf({ sites }: Leaks, wanted: Verdict, stacks: Stacks | undefined): LeakSite[] {
  const isKept = (node: number) => !stacks || !(stacks.answers[node]! & Answer.No);
  return sites.filter(({ verdict, node }) => verdict === wanted && isKept(node));
}

/** An owner, or a site that none explains. */
export interface Found {
  site: LeakSite;
  /** What an owner explains; empty of a site. */
  below: LeakSite[];
}

/** What is accused, the fastest-growing first; of owners those with a site that is kept, or may be. */
export function accusedOf(leaks: Leaks, stacks: Stacks | undefined): Found[] {
  const kept = [...sitesOf(leaks, "suspect", stacks), ...sitesOf(leaks, "undecided", stacks), ...sitesOf(leaks, "clear", stacks)];
  const found = leaks.owners
    .map((site, i) => ({ site, below: kept.filter(({ owner }) => owner === i) }))
    .filter(({ site, below }) => site.verdict === "suspect" && below.length > 0);
  const alone = kept.filter(({ verdict, owner }) => verdict === "suspect" && owner === undefined);
  return [...found, ...alone.map((site) => ({ site, below: [] }))].sort((a, b) => b.site.rate.value - a.site.rate.value);
}

/** Those that are undecided, and that no owner explains. */
export function openOf(leaks: Leaks, stacks: Stacks | undefined): LeakSite[] {
  return sitesOf(leaks, "undecided", stacks).filter(({ owner }) => owner === undefined);
}

/** Why a site is undecided. */
export function openText({ open, kept, p, q, inUse }: LeakSite, { samplesNeeded, tested }: Leaks): string {
  switch (open) {
    case "samples":
      return `has ${kept}, needs ${samplesNeeded} samples`;
    case "slowing":
      return "may or may not have slowed down";
    case "alone":
      return `${probabilityOf("p", p)} alone, but false-alarm rate ${probability(q)} among ${plural(tested, "site")}`;
    case "turnover":
    case "chunks":
    case "unmeasured":
      return `${inUse}; may be turnover of what was allocated before the recording`;
    default:
      return "";
  }
}

/** What may be hidden, or why no site is a suspect. */
export function hiddenText(leaks: Leaks): string {
  if (leaks.slowFreesFrom !== undefined) {
    return `From ${duration(leaks.slowFreesFrom)} on the program freed most of its heap; earlier leaks may be hidden. geiger leaks --until cleanup judges the heap before that.`;
  }
  if (leaks.missing !== undefined) {
    return `Samples are missing (${leaks.missing}), and a leak may be among them.`;
  }
  if (leaks.growing !== undefined) return `No suspect explains that ${leaks.growing}.`;
  if (leaks.finding !== "undecided") return "";
  if (leaks.undecided > 0) return "A longer run or a smaller --interval decides.";
  if (leaks.tested > 0 && leaks.mayHaveLeaked !== undefined) {
    return `A leak of up to ${boundBytes(leaks.mayHaveLeaked)} at one site could have been missed. A longer run or a smaller --interval decides.`;
  }
  return `No verdict: a site needs ${leaks.samplesNeeded} samples. A longer run or a smaller --interval decides.`;
}
