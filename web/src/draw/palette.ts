// Colours of what is drawn on canvas; the rest of the page has its colours in style.css.

/** Of a box: what is sure, and up to the estimate. */
export interface Tones {
  solid: string;
  pale: string;
}

export interface Palette {
  isDark: boolean;
  text: string;
  faint: string;
  paper: string;
  line: string;
  /** Boxes too narrow to tell apart, and what a search did not match. */
  rest: string;
  called: Tones;
  match: Tones;
  matchText: string;
  miss: Tones;
  focus: string;
  grew: Tones;
  shrank: Tones;
  unsure: Tones;
  live: string;
  band: string;
  rss: string;
  mapped: string;
  mark: string;
}

export const LIGHT: Palette = {
  isDark: false,
  text: "#1d2226",
  faint: "#586068",
  paper: "#fbfbfa",
  line: "#e4e5e3",
  rest: "#e6e8ea",
  called: { solid: "#d5d9dc", pale: "#eceef0" },
  match: { solid: "#f5c451", pale: "#fbe9bd" },
  matchText: "#2b1d00",
  miss: { solid: "#e9ebec", pale: "#f3f4f4" },
  focus: "#0b57d0",
  grew: { solid: "#f0b489", pale: "#f9e0cf" },
  shrank: { solid: "#a5d3d4", pale: "#ddefef" },
  unsure: { solid: "#dcdfe2", pale: "#dcdfe2" },
  live: "#0b6a70",
  band: "rgba(11,106,112,.19)",
  rss: "#a04a00",
  mapped: "#586068",
  mark: "#586068",
};

export const DARK: Palette = {
  isDark: true,
  text: "#e9ecee",
  faint: "#a1aab1",
  paper: "#101315",
  line: "#2b3034",
  rest: "#262b2f",
  called: { solid: "#434a50", pale: "#2a2f33" },
  match: { solid: "#a8790e", pale: "#57430f" },
  matchText: "#fff6e2",
  miss: { solid: "#25292c", pale: "#1c2022" },
  focus: "#8ab4f8",
  grew: { solid: "#8a4a1a", pale: "#4b2c14" },
  shrank: { solid: "#24666a", pale: "#173a3d" },
  unsure: { solid: "#353b41", pale: "#353b41" },
  live: "#66c9cd",
  band: "rgba(102,201,205,.22)",
  rss: "#f0ab63",
  mapped: "#a1aab1",
  mark: "#a1aab1",
};

/** Names differ at their ends, and a picture has a thousand of them. */
const HASHED = 24;

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let i = Math.max(0, text.length - HASHED); i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

/** Hues that keep apart, none of them the search's yellow. */
const HUES = [198, 150, 262, 22, 222, 330, 96, 176, 288, 8, 242, 124];

/**
 * Calm tones for a name of a family: the same in every report. Neighbours of one family differ a
 * little.
 */
export function tonesFor(family: string, name: string, palette: Palette): Tones {
  if (family === "") return palette.called;
  const hash = hashOf(name);
  const shade = (hash % 1000) / 999;
  const hue = HUES[(family === name ? hash : hashOf(family)) % HUES.length]!;
  return palette.isDark
    ? { solid: `hsl(${hue} 28% ${30 + 6 * shade}%)`, pale: `hsl(${hue} 24% ${19 + 4 * shade}%)` }
    : { solid: `hsl(${hue} 40% ${76 + 6 * shade}%)`, pale: `hsl(${hue} 44% ${89 + 4 * shade}%)` };
}

/** From sure to unsure. `relative`: half of the interval over the value. */
export function tonesForError(relative: number, palette: Palette): Tones {
  const share = Math.min(1, Math.max(0, relative));
  const fill = palette.isDark
    ? `hsl(190 ${40 - 36 * share}% ${34 - 12 * share}%)`
    : `hsl(190 ${52 - 46 * share}% ${70 + 18 * share}%)`;
  return { solid: fill, pale: fill };
}
