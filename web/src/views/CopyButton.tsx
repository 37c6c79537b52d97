// Puts a table into the clipboard.
import { useEffect, useRef, useState } from "preact/hooks";
import { advanced, type Steps } from "../model/slices";
import { inTasks, SLICE_MS } from "./slices";

const TYPE = "text/plain";
const SHOWN_MS = 2500;

/** Pages from file:// may lack the clipboard's interface; the older way works everywhere. */
async function copy(text: Promise<Blob>): Promise<boolean> {
  try {
    // Requested at the click, even if the text comes later: a permission lasts only seconds.
    await navigator.clipboard.write([new ClipboardItem({ [TYPE]: text })]);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = await (await text).text();
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}

interface CopyProps {
  /** Lines; `onRow` gets the number made so far. */
  text: (onRow: (made: number) => void) => Steps<string[]>;
  rows: number;
}

export function CopyButton({ text, rows }: CopyProps) {
  const [told, tell] = useState("");
  const [isCopying, setCopying] = useState(false);
  const callOff = useRef<() => void>();
  useEffect(() => () => callOff.current?.(), []);
  const made = () =>
    new Promise<Blob>((resolve) => {
      let percent = 0;
      const steps = text((row) => (percent = Math.floor((100 * row) / rows)));
      let lines: string[] | undefined;
      callOff.current = inTasks(
        () => {
          lines = advanced(steps, SLICE_MS)?.value;
          if (!lines) tell(`Copying, ${percent} % …`);
          return lines !== undefined;
        },
        () => resolve(new Blob(lines, { type: TYPE })),
      );
    });
  const click = async () => {
    setCopying(true);
    tell((await copy(made())) ? "Copied" : "The browser does not allow it");
    setCopying(false);
    setTimeout(() => tell(""), SHOWN_MS);
  };
  return (
    <>
      <button class="quiet" disabled={isCopying} onClick={click}>
        Copy as CSV
      </button>
      <span class="faint" role="status">
        {told}
      </span>
    </>
  );
}
