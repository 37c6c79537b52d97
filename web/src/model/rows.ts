// Rows of sums that become more: in blocks, so that none is ever copied to make room.
import { bytesForOrder, emptySums, merge, rowOf, type Sums } from "../numbers/sums";

const BLOCK_BITS = 10;
const BLOCK = 1 << BLOCK_BITS;

export class SumRows {
  private readonly blocks: Sums[] = [];

  /** Makes room for rows below `count`. */
  reserve(count: number): void {
    while (this.blocks.length << BLOCK_BITS < count) this.blocks.push(emptySums(BLOCK));
  }

  /** Adds row `from` of `source` to row `to`. */
  add(to: number, source: Sums, from: number): void {
    merge(this.blocks[to >> BLOCK_BITS]!, to & (BLOCK - 1), source, from);
  }

  /** The row as an array of its own. */
  copy(row: number): Sums {
    return rowOf(this.blocks[row >> BLOCK_BITS]!, row & (BLOCK - 1));
  }

  bytesForOrder(row: number): number {
    return bytesForOrder(this.blocks[row >> BLOCK_BITS]!, row & (BLOCK - 1));
  }
}
