// Puts a table into the clipboard.
import { useState } from "preact/hooks";

/** Pages from file:// may lack the clipboard's interface; the older way works everywhere. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}

export function CopyButton(props: { text: () => string; label?: string | undefined }) {
  const [done, setDone] = useState("");
  const click = async () => {
    setDone((await copy(props.text())) ? "Copied" : "The browser does not allow it");
    setTimeout(() => setDone(""), 2000);
  };
  return (
    <>
      <button class="quiet" onClick={click}>
        {props.label ?? "Copy as CSV"}
      </button>
      <span class="faint" role="status">
        {done}
      </span>
    </>
  );
}
