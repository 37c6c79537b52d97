// Work in slices of a frame: where something takes longer, the browser draws and listens in
// between. What was made last stays until its successor is there.
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Stacks } from "../model/filter";
import { type Page, type Room, roomFor } from "../model/page";
import { select, type Selected, selecting, type Selection } from "../model/selection";
import { advanced, type Steps } from "../model/slices";

/** Of a frame's 16 ms, in a task that does nothing else. */
export const SLICE_MS = 4;
/** While the page is drawn: what takes no longer is there at once. */
const FIRST_MS = 1.5;

const waiting: (() => void)[] = [];
const channel = new MessageChannel();
channel.port1.onmessage = () => waiting.shift()?.();

/** Calls `act` in a task of its own, soon; returns what calls that off. */
export function soon(act: () => void): () => void {
  let isOff = false;
  waiting.push(() => {
    if (!isOff) act();
  });
  channel.port2.postMessage(0);
  return () => {
    isOff = true;
  };
}

/** Calls `goOn` in tasks of its own until it is true, and `done` in one more. */
export function inTasks(goOn: () => boolean, done: () => void): () => void {
  let callOff = soon(step);
  function step(): void {
    callOff = soon(goOn() ? done : step);
  }
  return () => callOff();
}

function useRedraw(): () => void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  return () => redraw(0);
}

export interface Made<T> {
  /** What was made last; undefined before anything was. */
  value: T | undefined;
  /** Something else was asked for since. */
  isBusy: boolean;
}

interface Making<T> extends Made<T> {
  of: readonly unknown[];
  steps: Steps<T>;
}

/** What `make` makes of `of`, the first of which is the page: nothing is kept of another page. */
export function useSteps<T>(make: () => Steps<T>, of: readonly [Page, ...unknown[]]): Made<T> {
  const making = useRef<Making<T>>();
  const redraw = useRedraw();
  if (!making.current?.of.every((part, i) => Object.is(part, of[i]))) {
    const before = making.current;
    const steps = make();
    const made = advanced(steps, FIRST_MS);
    const kept = before && Object.is(before.of[0], of[0]) ? before.value : undefined;
    making.current = { of, steps, isBusy: !made, value: made ? made.value : kept };
  }
  const now = making.current!;
  useLayoutEffect(() => {
    if (!now.isBusy) return undefined;
    const goOn = () => {
      const made = advanced(now.steps, SLICE_MS);
      if (made) Object.assign(now, { value: made.value, isBusy: false });
      return made !== undefined;
    };
    return inTasks(goOn, redraw);
  }, [now]);
  return now;
}

/** Goes through steps in tasks, from when `key` changes; `done` gets the result. */
export function useTasks<T>(make: () => Steps<T>, done: (value: T) => void, key: unknown[]): void {
  useLayoutEffect(() => {
    const steps = make();
    let made: { value: T } | undefined;
    return inTasks(
      () => (made = advanced(steps, SLICE_MS)) !== undefined,
      () => done(made!.value),
    );
  }, key);
}

interface Selecting {
  page: Page;
  /** The selection but for its stacks, as text. */
  key: string;
  stacks: Stacks | undefined;
  steps: Steps<Selected> | undefined;
  shown: Selected;
  /** What is shown is in one of them, what is made in the other. */
  room: Room;
  spare: Room | undefined;
}

function goOnSelecting(work: Selecting, milliseconds: number): boolean {
  const made = work.steps && advanced(work.steps, milliseconds);
  if (!made) return !work.steps;
  [work.room, work.spare] = [work.spare!, work.room];
  work.shown = made.value;
  work.steps = undefined;
  return true;
}

/** Whose data is the same: another view of the page may take its time. */
function isOfSameData(work: Selecting | undefined, page: Page): work is Selecting {
  return work !== undefined && work.page.data === page.data;
}

function isOf(work: Selecting, page: Page, key: string, stacks: Stacks | undefined): boolean {
  return work.key === key && work.page === page && work.stacks === stacks;
}

/** What is selected, or what was a moment ago. Undefined of pages that only compare. */
export function useSelected(page: Page, selection: Selection): Made<Selected> {
  const work = useRef<Selecting>();
  const redraw = useRedraw();
  const { stacks, ...rest } = selection;
  const key = JSON.stringify(rest);
  const hasAny = page.data.profiles.length > 0;
  if (hasAny && !isOfSameData(work.current, page)) {
    const shown = select(page, selection);
    work.current = { page, key, stacks, steps: undefined, shown, room: page.room, spare: undefined };
  } else if (hasAny && !isOf(work.current!, page, key, stacks)) {
    const now = work.current!;
    Object.assign(now, { key, page, stacks });
    if (now.spare?.nodes !== page.nodes) now.spare = roomFor(page.nodes);
    now.steps = selecting(page, selection, now.spare);
    goOnSelecting(now, FIRST_MS);
  }
  const now = work.current;
  const steps = now?.steps;
  useLayoutEffect(() => {
    if (!steps) return undefined;
    return inTasks(() => goOnSelecting(now!, SLICE_MS), redraw);
  }, [steps]);
  return { value: hasAny ? now!.shown : undefined, isBusy: steps !== undefined };
}
