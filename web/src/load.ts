// Loads the page's data: from the page itself, or from the server of the page.
import type { PageData } from "./data";

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function gunzipped(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function fetched(address: string): Promise<PageData> {
  const answer = await fetch(address, { cache: "no-store", credentials: "same-origin" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return (await answer.json()) as PageData;
}

/** Of the script element that holds the data or says where it is. */
export interface Source {
  /** Served: asked for again after `refresh` of the data. */
  isServed: boolean;
  load: () => Promise<PageData>;
}

/** Throws an Error with a line for the reader. */
export function sourceOf(element: HTMLElement | null): Source {
  const address = element?.dataset.src;
  if (address) return { isServed: true, load: () => fetched(address) };
  const text = element?.textContent?.trim() ?? "";
  const load = async () => {
    if (text === "") throw new Error("this is a template: geiger report fills it in");
    try {
      return JSON.parse(await gunzipped(bytesOf(text))) as PageData;
    } catch {
      throw new Error("this page is damaged: its data ends early or was changed");
    }
  };
  return { isServed: false, load };
}
