// Colours of what is drawn on canvas; the rest of the page has its colours in style.css.

export interface Palette {
  isDark: boolean;
  text: string;
  faint: string;
  paper: string;
  /** Boxes too narrow to tell apart, and what a search did not match. */
  rest: string;
  match: string;
  matchText: string;
  root: string;
  hatch: string;
  whisker: string;
  focus: string;
  grew: string;
  shrank: string;
  unsure: string;
  live: string;
  band: string;
  rss: string;
  mark: string;
}

export const LIGHT: Palette = {
  isDark: false,
  text: "#22262b",
  faint: "#5c646d",
  paper: "#ffffff",
  rest: "#e6e8ea",
  match: "#ffc53d",
  matchText: "#2b1d00",
  root: "#dfe3e6",
  hatch: "rgba(40,48,56,.30)",
  whisker: "rgba(20,26,32,.62)",
  focus: "#0b57d0",
  grew: "#f2a08a",
  shrank: "#8fc3e8",
  unsure: "#dcdfe2",
  live: "#0a6b70",
  band: "rgba(10,107,112,.20)",
  rss: "#9a5b13",
  mark: "#5c646d",
};

export const DARK: Palette = {
  isDark: true,
  text: "#eceff1",
  faint: "#9aa4ad",
  paper: "#15191d",
  rest: "#2a3036",
  match: "#e0a31f",
  matchText: "#1b1300",
  root: "#2f363d",
  hatch: "rgba(235,240,245,.22)",
  whisker: "rgba(245,248,250,.7)",
  focus: "#8ab4f8",
  grew: "#9c4a37",
  shrank: "#2f678f",
  unsure: "#353b41",
  live: "#4fc1c5",
  band: "rgba(79,193,197,.24)",
  rss: "#e0a25a",
  mark: "#9aa4ad",
};

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

/** Hues that keep apart, none of them the search's yellow. */
const HUES = [198, 150, 262, 22, 222, 330, 96, 176, 288, 8, 242, 124];

/** A calm fill for a name: the same in every report. `shade` in 0..1 varies it a little. */
export function fillFor(name: string, shade: number, palette: Palette): string {
  if (name === "") return palette.rest;
  const hue = HUES[hashOf(name) % HUES.length]!;
  return palette.isDark
    ? `hsl(${hue} 26% ${25 + 7 * shade}%)`
    : `hsl(${hue} 42% ${81 + 7 * shade}%)`;
}

/** 0..1, from a name: neighbours of one colour differ a little. */
export function shadeOf(name: string): number {
  return (hashOf(name) % 1000) / 999;
}

/** From sure to unsure. `relative`: half of the interval over the value. */
export function fillForError(relative: number, palette: Palette): string {
  const share = Math.min(1, Math.max(0, relative));
  return palette.isDark
    ? `hsl(190 ${40 - 36 * share}% ${34 - 12 * share}%)`
    : `hsl(190 ${52 - 46 * share}% ${70 + 18 * share}%)`;
}
