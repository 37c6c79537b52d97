// The reader's regular expressions on frames, with the meaning of --hide, --focus and --ignore:
// hidden frames are left out of stacks and change no sum; focus keeps the stacks with a matching
// frame, ignore those without one.
import { Answer, type Matches, opposite, stacksThrough } from "./answers";
import { fullName, moduleName, nameAt, type Page, viewOf } from "./page";
import { LONGEST_MATCHED } from "./search";
import { OF_TEXT, Pace, type Steps } from "./slices";

export const FILTERS = ["hide", "focus", "ignore"] as const;
export type FrameFilter = (typeof FILTERS)[number];
export type FrameFilters = Record<FrameFilter, string>;

/** Stacks that match focus and ignore. */
export interface Stacks {
  /** By node of the document: whether those that end in it do. */
  answers: Uint8Array;
}

/** The expression, or why it is not one. Upper and lower case count, as on the command line. */
function compiled(text: string): RegExp | string {
  try {
    return new RegExp(text, "u");
  } catch (error) {
    return (error as Error).message.replace(/^.*: /, "");
  }
}

/** Why a text is not a regular expression; "": it is one. */
export function problemOf(text: string): string {
  const found = compiled(text);
  return typeof found === "string" ? found : "";
}

/** By function whether its name, module or file matches; undefined of what is empty or wrong. */
function* matchesOf(page: Page, text: string): Steps<Matches | undefined> {
  const expression = compiled(text);
  if (text === "" || typeof expression === "string") return undefined;
  const is = new Uint8Array(page.functions);
  const isInFile = new Uint8Array(page.functions);
  const test = (one: string) => (expression.test(one.slice(0, LONGEST_MATCHED)) ? 1 : 0);
  const pace = new Pace();
  for (let i = 0; i < page.functions; ++i) {
    if (pace.isDue(OF_TEXT)) yield;
    const file = page.data.frames.file[page.frameOf[i]!]!;
    isInFile[i] = file >= 0 ? test(nameAt(page, file)) : 0;
    is[i] = isInFile[i]! || test(fullName(page, i)) || test(moduleName(page, i));
  }
  return { is, isInFile };
}

/** The page with every frame, as a reader looks at it. */
export interface View {
  page: Page;
  /** Undefined: all. */
  stacks: Stacks | undefined;
}

function* stacksOf(page: Page, { focus, ignore }: FrameFilters): Steps<Stacks | undefined> {
  const wanted = yield* matchesOf(page, focus);
  const unwanted = yield* matchesOf(page, ignore);
  if (!wanted && !unwanted) return undefined;
  const through = wanted && (yield* stacksThrough(page, wanted));
  const past = unwanted && (yield* stacksThrough(page, unwanted));
  const answers = new Uint8Array(page.nodes);
  const pace = new Pace();
  for (let i = 0; i < page.nodes; ++i) {
    if (pace.isDue()) yield;
    answers[i] = (through ? through[i]! : Answer.Yes) | (past ? opposite(past[i]!) : Answer.Yes);
  }
  return { answers };
}

/** `folded`: the page without library code and with nothing hidden. */
export function* filteredView(
  page: Page,
  folded: Page,
  showsAll: boolean,
  filters: FrameFilters,
): Steps<View> {
  const stacks = yield* stacksOf(page, filters);
  const hides = yield* matchesOf(page, filters.hide);
  if (hides) return { page: yield* viewOf(page, !showsAll, hides.is), stacks };
  return { page: showsAll ? page : folded, stacks };
}
