// Whether a selection contains a sample: yes, no, or unknown, which is open in sums.
// As src/analysis/profile/select/profile.h and frames/stack_answers.h have it.
import { FrameFlag } from "../data";
import { leaveOpen, merge, type Sums } from "../numbers/sums";
import type { Page } from "./page";
import { Pace, type Steps } from "./slices";

/** Yes, No, or the bits of all that keeps it open. "And" is the bitwise or; without No, that is. */
export const enum Answer {
  Yes = 0,
  Cut = 1,
  LeftOut = 2,
  Unnamed = 4,
  Renamed = 8,
  Untyped = 16,
  Lineless = 32,
  No = 128,
}

const DOUBTS: [Answer, string][] = [
  [Answer.Cut, "stacks that were cut"],
  [Answer.LeftOut, "the ends of stacks, omitted to limit the page's size"],
  [Answer.Unnamed, "stacks with functions without a name (keep their debug files)"],
  [Answer.Lineless, "stacks with functions without a file, in modules that have files asked for"],
  [Answer.Renamed, "threads that changed their name"],
  [Answer.Untyped, "objects whose type is not known"],
];

/** What keeps samples open, as the command line says it. */
export function doubtsText(doubts: number): string[] {
  return DOUBTS.filter(([bit]) => doubts & bit).map(([, text]) => text);
}

/** Of the opposite question. */
export function opposite(answer: Answer): Answer {
  if (answer & Answer.No) return Answer.Yes;
  return answer === Answer.Yes ? Answer.No : answer;
}

/** Adds what an answer selects to a row of sums. Returns what keeps it open. */
export function mergeAs(
  answer: Answer,
  target: Sums,
  to: number,
  source: Sums,
  from: number,
  count = 1,
): number {
  if (answer & Answer.No) return 0;
  if (answer === Answer.Yes) merge(target, to, source, from, count);
  else leaveOpen(target, to, source, from, count);
  return answer;
}

/** What a node keeps open: it stands for frames that are missing, at the root of stacks or at their end. */
export function cutAt(page: Page, node: number): Answer {
  if (!(page.data.frames.flags[page.frame[node]!]! & FrameFlag.Cut)) return Answer.Yes;
  const name = page.data.frames.name[page.frame[node]!]!;
  return page.data.names[name] === "[smaller ones]" ? Answer.LeftOut : Answer.Cut;
}

/** What an expression matches. */
export interface Matches {
  /** By function. */
  is: Uint8Array;
  /** By function: its file matches, if files are requested. */
  isInFile?: Uint8Array;
}

/** By function what it keeps open: without a name, or a file, it may be one of those that match. */
function mayMatch(page: Page, { is, isInFile }: Matches): Uint8Array {
  const { module, file, flags } = page.data.frames;
  const modulesOf = (which: Uint8Array | undefined) =>
    new Set(Array.from(page.frameOf, (frame, i) => (which?.[i] ? module[frame]! : undefined)));
  const [named, filed] = [modulesOf(is), modulesOf(isInFile)];
  const isAny = is.includes(1);
  return Uint8Array.from(page.frameOf, (frame, i) => {
    const may = isAny ? named.has(module[frame]!) : !(flags[frame]! & FrameFlag.Runtime);
    const unnamed = page.isUnnamed[i] && may ? Answer.Unnamed : 0;
    return unnamed | (file[frame]! < 0 && filed.has(module[frame]!) ? Answer.Lineless : 0);
  });
}

/** By node: whether stacks that end in it pass through a function that matches. */
export function* stacksThrough(page: Page, matches: Matches): Steps<Uint8Array> {
  const may = mayMatch(page, matches);
  const answers = new Uint8Array(page.nodes).fill(Answer.No);
  const pace = new Pace();
  for (let i = 1; i < page.nodes; ++i) {
    if (pace.isDue()) yield;
    const of = page.functionOf[i]!;
    const above = answers[page.parent[i]!]!;
    if (matches.is[of] || above === Answer.Yes) {
      answers[i] = Answer.Yes;
    } else {
      answers[i] = (above & ~Answer.No) | may[of]! | cutAt(page, i) || Answer.No;
    }
  }
  return answers;
}
