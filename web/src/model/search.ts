// Functions that a regular expression matches by name or file, and the sums of all stacks through any of them.
import { emptySums, isEmpty, type Sums } from "../numbers/sums";
import { type Matches, mergeAs, stacksThrough } from "./answers";
import { fullName, type Page, placeOf } from "./page";
import type { Selected } from "./selection";
import { OF_TEXT, Pace, type Steps, STRETCH } from "./slices";

export interface Search {
  /** Of each function whether it matches, and whether its file does. */
  matches: Uint8Array;
  isInFile: Uint8Array;
  functions: number;
  /** Why the text is not a regular expression: it was searched for literally. */
  problem: string;
}

/** Longer names are matched by their beginning: a pattern must not hold up the page. */
export const LONGEST_MATCHED = 4096;

/** Upper case letters in the text make the case count. */
export function expressionOf(text: string): { test: (name: string) => boolean; problem: string } {
  const flags = /[A-Z]/.test(text.replace(/\\./g, "")) ? "u" : "iu";
  try {
    const expression = new RegExp(text, flags);
    return { test: (name) => expression.test(name), problem: "" };
  } catch (error) {
    const problem = (error as Error).message.replace(/^.*: /, "");
    const wanted = text.toLowerCase();
    return { test: (name) => name.toLowerCase().includes(wanted), problem };
  }
}

export function* searching(page: Page, text: string): Steps<Search | undefined> {
  if (text === "") return undefined;
  const { test, problem } = expressionOf(text);
  const matches = new Uint8Array(page.functions);
  const isInFile = new Uint8Array(page.functions);
  const pace = new Pace();
  let functions = 0;
  for (let i = 0; i < page.functions; ++i) {
    if (pace.isDue(OF_TEXT)) yield;
    const name = fullName(page, i).slice(0, LONGEST_MATCHED);
    const place = placeOf(page, page.frameOf[i]!);
    isInFile[i] = place !== "" && test(place) ? 1 : 0;
    if (!test(name) && !isInFile[i]) continue;
    matches[i] = 1;
    ++functions;
  }
  return { matches, isInFile, functions, problem };
}

/** Stacks that pass through a function that matches, and what keeps open whether others do. */
export interface Matched {
  sums: Sums;
  doubts: number;
}

export function* matchedSums(
  page: Page,
  selected: Selected,
  matches: Matches,
): Steps<Matched> {
  const sums = emptySums();
  const answers = yield* stacksThrough(page, matches);
  let doubts = 0;
  for (let i = 1; i < page.nodes; ++i) {
    if (i % STRETCH === 0) yield;
    if (isEmpty(selected.self, i)) continue;
    doubts |= mergeAs(answers[i]!, sums, 0, selected.self, i);
  }
  return { sums, doubts };
}
