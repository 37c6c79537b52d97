// Names and roles of frames as the document gives them: the one place that knows how.
import type { FrameFlag, PageData } from "../data";
import { printable } from "./names";

/** Of each of the frames whether it has a flag. */
export function flagged({ frames }: PageData, some: ArrayLike<number>, flag: FrameFlag): Uint8Array {
  return Uint8Array.from(some, (frame) => (frames.flags[frame]! & flag ? 1 : 0));
}

/** Names of data.names as they are shown. */
export function displayNames(data: PageData): string[] {
  return data.names.map((name, i) => {
    const short = data.short_names[i];
    return printable((typeof short === "number" ? name.slice(0, short) : short) || name);
  });
}
