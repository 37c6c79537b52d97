// Work that is done in steps: a generator that yields at places where it may be left for a while.

export type Steps<T> = Generator<void, T>;

/** Cells, nodes or stacks that are gone through between two such places. */
export const STRETCH = 16384;

/** All of it, at once. */
export function finished<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** As much as fits into some milliseconds; undefined if there is more. */
export function advanced<T>(steps: Steps<T>, milliseconds: number): { value: T } | undefined {
  const end = performance.now() + milliseconds;
  for (;;) {
    const step = steps.next();
    if (step.done) return { value: step.value };
    if (performance.now() > end) return undefined;
  }
}

/** Work of one step. */
export function* once<T>(make: () => T): Steps<T> {
  return make();
}
