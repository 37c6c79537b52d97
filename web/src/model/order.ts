// Orders of rows in steps: all of them, or the first ones where all would take too long.
import { Pace, type Steps } from "./slices";

export type Compare<T> = (a: T, b: T) => number;

/** Sorted at once: what is longer is merged of such runs. */
const RUN = 512;

/** The rows in the order of `compare`. */
export function* sorted<T>(rows: readonly T[], compare: Compare<T>): Steps<T[]> {
  const runs: T[][] = [];
  for (let i = 0; i < rows.length; i += RUN) {
    if (i > 0) yield;
    runs.push(rows.slice(i, i + RUN).sort(compare));
  }
  let made = runs;
  while (made.length > 1) {
    const wider: T[][] = [];
    for (let i = 0; i < made.length; i += 2) {
      const [left, right] = [made[i]!, made[i + 1]];
      wider.push(right ? yield* merged(left, right, compare) : left);
    }
    made = wider;
  }
  return made[0] ?? [];
}

function* merged<T>(left: T[], right: T[], compare: Compare<T>): Steps<T[]> {
  const both: T[] = [];
  const pace = new Pace();
  for (let l = 0, r = 0; l < left.length || r < right.length;) {
    if (pace.isDue()) yield;
    const isLeft = r >= right.length || (l < left.length && compare(left[l]!, right[r]!) <= 0);
    both.push(isLeft ? left[l++]! : right[r++]!);
  }
  return both;
}

/** Moves the last of the order to the top of a heap, from `at` down. */
function sink<T>(heap: T[], compare: Compare<T>, at: number): void {
  const row = heap[at]!;
  for (;;) {
    let below = 2 * at + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && compare(heap[below + 1]!, heap[below]!) > 0) ++below;
    if (compare(heap[below]!, row) <= 0) break;
    heap[at] = heap[below]!;
    at = below;
  }
  heap[at] = row;
}

/** The first `count` of `rows` in the order of `compare`, which leaves no two rows equal. */
export function* firstOf<T>(rows: readonly T[], count: number, compare: Compare<T>): Steps<T[]> {
  const heap = rows.slice(0, count);
  const pace = new Pace();
  for (let at = (heap.length >> 1) - 1; at >= 0; --at) {
    if (pace.isDue()) yield;
    sink(heap, compare, at);
  }
  // Twice as many comparisons as the heap is deep.
  const depth = 2 * Math.ceil(Math.log2(heap.length + 1));
  for (let i = heap.length; i < rows.length && heap.length > 0; ++i) {
    const isAmong = compare(rows[i]!, heap[0]!) < 0;
    if (pace.isDue(isAmong ? 1 + depth : 1)) yield;
    if (!isAmong) continue;
    heap[0] = rows[i]!;
    sink(heap, compare, 0);
  }
  return yield* sorted(heap, compare);
}

/** The place from `low` to `high` of the last of ascending values that is at most `wanted`; `low` if none is. */
export function lastUpTo(values: ArrayLike<number>, wanted: number, low: number, high: number): number {
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (values[middle]! <= wanted) low = middle;
    else high = middle - 1;
  }
  return low;
}
