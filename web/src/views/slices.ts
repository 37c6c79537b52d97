// Work in slices of a frame: where something takes longer, the browser draws in between.
import { useEffect, useReducer, useRef } from "preact/hooks";
import { type Page, type Room, roomFor } from "../model/page";
import { select, type Selected, selecting, type Selection } from "../model/selection";
import { advanced, type Steps } from "../model/slices";

/** Of a frame's 16 ms. */
const SLICE_MS = 7;

/** Calls `goOn` in tasks of its own until it is true, then draws. */
function useTasks(isOpen: boolean, goOn: () => boolean, key: unknown): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (!isOpen) return undefined;
    let timer = 0;
    const step = () => {
      if (goOn()) redraw(0);
      else timer = window.setTimeout(step);
    };
    timer = window.setTimeout(step);
    return () => window.clearTimeout(timer);
  }, [isOpen, key]);
}

interface Making<T> {
  of: readonly unknown[];
  steps: Steps<T>;
  made: { value: T } | undefined;
}

/** What `make` makes of `of`; undefined until it is there. Pages of usual size have it at once. */
export function useSteps<T>(make: () => Steps<T>, of: readonly unknown[]): T | undefined {
  const making = useRef<Making<T>>();
  const isSame = making.current?.of.every((part, i) => Object.is(part, of[i]));
  if (!isSame) {
    const steps = make();
    making.current = { of, steps, made: advanced(steps, SLICE_MS) };
  }
  const now = making.current!;
  useTasks(!now.made, () => (now.made ??= advanced(now.steps, SLICE_MS)) !== undefined, now);
  return now.made?.value;
}

interface Work {
  page: Page;
  key: string;
  steps: Steps<Selected> | undefined;
  shown: Selected;
  /** What is not shown is made in the other one. */
  spare: Room | undefined;
}

function goOnSelecting(work: Work): boolean {
  const made = work.steps && advanced(work.steps, SLICE_MS);
  if (!made) return !work.steps;
  const { self, total } = work.shown;
  work.spare = { self, total };
  work.shown = made.value;
  work.steps = undefined;
  return true;
}

/** What is selected, or what was a moment ago. Undefined of pages that only compare. */
export function useSelected(page: Page, selection: Selection): Selected | undefined {
  const work = useRef<Work>();
  const key = JSON.stringify(selection);
  const hasAny = page.data.profiles.length > 0;
  if (hasAny && work.current?.page !== page) {
    const shown = select(page, selection);
    work.current = { page, key, steps: undefined, shown, spare: undefined };
  } else if (hasAny && work.current!.key !== key) {
    const now = work.current!;
    now.key = key;
    now.spare ??= roomFor(page.nodes);
    now.steps = selecting(page, selection, now.spare);
    goOnSelecting(now);
  }
  const now = work.current;
  useTasks(now?.steps !== undefined, () => goOnSelecting(now!), `${key} of ${page.data.title}`);
  return hasAny ? now!.shown : undefined;
}
