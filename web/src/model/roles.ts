// Names and roles of frames as the document gives them: the one place that knows how.
import { FrameFlag, type PageData } from "../data";
import { printable } from "./names";

/** Of an allocator, a standard library or a language runtime: folded unless asked for. */
export function isLibraryFrame(data: PageData, frame: number): boolean {
  return (data.frames.flags[frame]! & FrameFlag.Plumbing) !== 0;
}

/** Of an interpreter: folded even where it is what own code called, which says nothing of the call. */
export function isDispatchFrame(data: PageData, frame: number): boolean {
  return (data.frames.flags[frame]! & FrameFlag.Dispatch) !== 0;
}

/** Called "module+0x1234". */
export function isUnnamedFrame(data: PageData, frame: number): boolean {
  return (data.frames.flags[frame]! & FrameFlag.Unknown) !== 0;
}

/** Names of data.names as they are shown. */
export function displayNames(data: PageData): string[] {
  return data.names.map((name, i) => {
    const short = data.short_names[i];
    return printable((typeof short === "number" ? name.slice(0, short) : short) || name);
  });
}
