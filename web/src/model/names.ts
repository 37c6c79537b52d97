// Names are text that the program chose: characters that act are shown as escapes, as in
// src/analysis/present/text.cc, and long names are cut where they are shown.

/** Controls, and what is invisible or changes the direction of the text around it. */
// eslint-disable-next-line no-control-regex
const ACTING =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\u{e0000}-\u{e007f}]/gu;

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  const digits = code.toString(16);
  const isControl = code < 0x20 || (code >= 0x7f && code < 0xa0);
  return isControl ? `\\x${digits.padStart(2, "0")}` : `\\u${digits.padStart(4, "0")}`;
}

/** The text with nothing in it that acts. */
export function printable(text: string): string {
  return text.replace(ACTING, escaped);
}

/** At most `length` characters, the middle left out: both ends of a symbol tell something. */
export function elided(text: string, length: number): string {
  if (text.length <= length) return text;
  const tail = Math.floor((length - 1) / 2);
  return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
}
