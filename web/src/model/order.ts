// The first rows of an order, where all of them would take longer to sort than anybody waits.

type Compare = (a: number, b: number) => number;

/** Moves the last of the order to the top of a heap, from `at` down. */
function sink(heap: number[], compare: Compare, at: number): void {
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
export function firstOf(rows: readonly number[], count: number, compare: Compare): number[] {
  const heap = rows.slice(0, count);
  for (let at = (heap.length >> 1) - 1; at >= 0; --at) sink(heap, compare, at);
  for (let i = heap.length; i < rows.length && heap.length > 0; ++i) {
    if (compare(rows[i]!, heap[0]!) >= 0) continue;
    heap[0] = rows[i]!;
    sink(heap, compare, 0);
  }
  return heap.sort(compare);
}
