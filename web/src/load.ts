// Loads the page's data: from the page itself, or from the server of the page.
import type { PageData } from "./data";
import { loadArithmetic } from "./numbers/arithmetic";
import { bytesOf, gunzipped } from "./numbers/bytes";

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

/** The data, when the page can compute with it. */
async function loaded(data: Promise<PageData>): Promise<PageData> {
  const [found] = await Promise.all([data, loadArithmetic()]);
  return found;
}

/** Throws an Error with a line for the reader. */
export function sourceOf(element: HTMLElement | null): Source {
  const address = element?.dataset.src;
  if (address) return { isServed: true, load: () => loaded(fetched(address)) };
  const text = element?.textContent?.trim() ?? "";
  const load = async () => {
    if (text === "") throw new Error("this is a template: geiger report fills it in");
    try {
      return JSON.parse(await gunzipped(bytesOf(text)).text()) as PageData;
    } catch {
      throw new Error("this page is damaged: its data ends early or was changed");
    }
  };
  return { isServed: false, load: () => loaded(load()) };
}
