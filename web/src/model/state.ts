// The reader's settings, and their text form after the # of the page's address.
import type { Preset } from "../data";
import { FILTERS } from "./filter";
import { DIMENSIONS, type Only, type Window } from "./selection";

export const TABS = [
  "flame",
  "functions",
  "lines",
  "leaks",
  "advice",
  "holders",
  "lifetimes",
  "memory",
  "stacks",
  "modules",
  "types",
  "sizes",
  "threads",
  "labels",
  "processes",
  "source",
] as const;
export type Tab = (typeof TABS)[number];

export const MODES = ["callees", "callers", "both"] as const;
/** What the flame graph shows: callees, callers, or both around one function. */
export type Mode = (typeof MODES)[number];

export const COLOURS = ["function", "module", "certainty"] as const;
export type Colour = (typeof COLOURS)[number];

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** Of a page that compares: the changes, or the profile of the runs after. */
export const SIDES = ["changes", "after"] as const;
export type Side = (typeof SIDES)[number];

/** Changes the state; `isStep` when the reader may want to come back to what was. */
export type Change = (part: Partial<State>, isStep?: boolean) => void;

export interface State {
  side: Side;
  /** Name of a profile; "": the one that the page opens on. */
  kind: string;
  tab: Tab;
  mode: Mode;
  /** Root at the bottom. */
  isFlame: boolean;
  /** Frames of libraries too. */
  showsAll: boolean;
  colour: Colour;
  window: Window | undefined;
  only: Only;
  /** Functions from below the root to what fills the width. */
  zoom: number[];
  /** In the same way the frame whose detail is shown; empty: the one that the finding is about. */
  chosen: number[];
  /** The function in the middle of mode "both"; -1: the heaviest. */
  around: number;
  /** Regular expressions on frames (filter.ts). */
  hide: string;
  focus: string;
  ignore: string;
  search: string;
  /** Of the tables. */
  filter: string;
  sort: string;
  isAscending: boolean;
  theme: Theme;
}

export const DEFAULTS: State = {
  side: "changes",
  kind: "",
  tab: "flame",
  mode: "callees",
  isFlame: false,
  showsAll: false,
  colour: "function",
  window: undefined,
  only: {},
  zoom: [],
  chosen: [],
  around: -1,
  hide: "",
  focus: "",
  ignore: "",
  search: "",
  filter: "",
  sort: "",
  isAscending: false,
  theme: "system",
};

/** The initial settings. */
export function openingState(preset: Preset | undefined): State {
  return preset ? { ...DEFAULTS, showsAll: preset.all_frames, hide: preset.hide } : DEFAULTS;
}

function textOfPath(path: number[]): string {
  return path.map((index) => index.toString(36)).join(".");
}

/** The settings that differ from the initial ones, as parameters in a fixed order. */
export function textOfState(state: State, opening: State = DEFAULTS): string {
  const text = new URLSearchParams();
  const put = (name: string, value: string, usual: string) => {
    if (value !== usual) text.set(name, value);
  };
  put("side", state.side, "changes");
  put("kind", state.kind, "");
  put("tab", state.tab, "flame");
  put("mode", state.mode, "callees");
  put("flame", state.isFlame ? "1" : "", "");
  put("frames", state.showsAll ? "all" : "own", opening.showsAll ? "all" : "own");
  put("colour", state.colour, DEFAULTS.colour);
  put("window", state.window ? `${state.window.from}-${state.window.to}` : "", "");
  for (const dimension of DIMENSIONS) put(dimension, String(state.only[dimension] ?? ""), "");
  put("zoom", textOfPath(state.zoom), "");
  put("at", textOfPath(state.chosen), "");
  put("around", state.around < 0 ? "" : state.around.toString(36), "");
  for (const filter of FILTERS) put(filter, state[filter], opening[filter]);
  put("search", state.search, "");
  put("filter", state.filter, "");
  put("sort", state.sort + (state.isAscending ? "+" : ""), "");
  put("theme", state.theme, "system");
  return text.toString();
}

function oneOf<T extends string>(choices: readonly T[], text: string | null, usual: T): T {
  return choices.find((choice) => choice === text) ?? usual;
}

function indexOf(text: string | null): number {
  return text && /^[0-9a-z]{1,6}$/.test(text) ? parseInt(text, 36) : -1;
}

function pathOf(text: string | null): number[] {
  const path = (text ?? "").split(".").map(indexOf);
  return path.includes(-1) ? [] : path;
}

function windowOf(text: string | null): Window | undefined {
  const found = /^(\d{1,9})-(\d{1,9})$/.exec(text ?? "");
  if (!found) return undefined;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return from <= to ? { from, to } : undefined;
}

/** An address may contain anything: what makes no sense in it keeps its initial value. */
export function stateOf(text: string, opening: State = DEFAULTS): State {
  const words = new URLSearchParams(text.replace(/^#/, ""));
  const only: Only = {};
  for (const dimension of DIMENSIONS) {
    const value = words.get(dimension);
    if (value && /^-?\d{1,9}$/.test(value)) only[dimension] = Number(value);
  }
  const sort = words.get("sort") ?? "";
  return {
    side: oneOf(SIDES, words.get("side"), "changes"),
    kind: words.get("kind") ?? "",
    tab: oneOf(TABS, words.get("tab"), "flame"),
    mode: oneOf(MODES, words.get("mode"), "callees"),
    isFlame: words.get("flame") === "1",
    showsAll: (words.get("frames") ?? (opening.showsAll ? "all" : "own")) === "all",
    colour: oneOf(COLOURS, words.get("colour"), DEFAULTS.colour),
    window: windowOf(words.get("window")),
    only,
    zoom: pathOf(words.get("zoom")),
    chosen: pathOf(words.get("at")),
    around: indexOf(words.get("around")),
    hide: words.get("hide") ?? opening.hide,
    focus: words.get("focus") ?? opening.focus,
    ignore: words.get("ignore") ?? opening.ignore,
    search: words.get("search") ?? "",
    filter: words.get("filter") ?? "",
    sort: sort.replace(/\+$/, ""),
    isAscending: sort.endsWith("+"),
    theme: oneOf(THEMES, words.get("theme"), "system"),
  };
}
