// The selection that is shown. Where adding it up takes longer than a frame, what was shown before
// stays until it is there, and the browser draws in between.
import { useEffect, useReducer, useRef } from "preact/hooks";
import { type Page, type Room, roomFor } from "../model/page";
import { select, type Selected, selecting, type Selection } from "../model/selection";

/** Of a frame's 16 ms. */
const SLICE_MS = 7;

interface Work {
  page: Page;
  key: string;
  steps: Generator<void, Selected> | undefined;
  shown: Selected;
  /** What is not shown is made in the other one. */
  spare: Room | undefined;
}

/** Goes on for some milliseconds; true when it is done. */
function goOn(work: Work): boolean {
  const end = performance.now() + SLICE_MS;
  while (work.steps) {
    const step = work.steps.next();
    if (step.done) {
      const { self, total } = work.shown;
      work.spare = { self, total };
      work.shown = step.value;
      work.steps = undefined;
    } else if (performance.now() > end) return false;
  }
  return true;
}

/** What is selected, or what was a moment ago. Undefined of pages that only compare. */
export function useSelected(page: Page, selection: Selection): Selected | undefined {
  const work = useRef<Work>();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const key = JSON.stringify(selection);
  const hasAny = page.data.profiles.length > 0;
  const isOpen = () => work.current?.steps !== undefined;
  if (hasAny && work.current?.page !== page) {
    const shown = select(page, selection);
    work.current = { page, key, steps: undefined, shown, spare: undefined };
  } else if (hasAny && work.current!.key !== key) {
    const now = work.current!;
    now.key = key;
    now.spare ??= roomFor(page.nodes);
    now.steps = selecting(page, selection, now.spare);
    // A page of usual size is done here.
    goOn(now);
  }
  useEffect(() => {
    if (!isOpen()) return undefined;
    let timer = 0;
    const step = () => {
      if (goOn(work.current!)) redraw(0);
      else timer = window.setTimeout(step);
    };
    timer = window.setTimeout(step);
    return () => window.clearTimeout(timer);
  }, [page, key]);
  return hasAny ? work.current!.shown : undefined;
}
