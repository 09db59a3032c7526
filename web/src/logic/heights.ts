/** The heights of many rows, as a binary indexed tree: start of a row and row at a place in logarithmic time. */
export class Heights {
  private readonly tree: Float64Array;
  private readonly own: Float64Array;

  constructor(heights: number[]) {
    this.own = Float64Array.from(heights);
    this.tree = new Float64Array(heights.length + 1);
    for (let at = 1; at <= heights.length; at++) {
      this.tree[at] += heights[at - 1];
      const next = at + (at & -at);
      if (next <= heights.length) this.tree[next] += this.tree[at];
    }
  }

  get total(): number {
    return this.start(this.own.length);
  }

  /** Where a row starts. */
  start(row: number): number {
    let sum = 0;
    for (let at = Math.min(row, this.own.length); at > 0; at -= at & -at) sum += this.tree[at];
    return sum;
  }

  /** The row that stands at a place. */
  at(place: number): number {
    let row = 0;
    let left = Math.max(0, place);
    for (let bit = 1 << Math.floor(Math.log2(this.own.length || 1)); bit; bit >>= 1) {
      const next = row + bit;
      if (next <= this.own.length && this.tree[next] <= left) {
        row = next;
        left -= this.tree[next];
      }
    }
    return Math.min(row, Math.max(0, this.own.length - 1));
  }

  /** Corrects the height of a row; true where it changed. */
  set(row: number, height: number): boolean {
    const change = height - this.own[row];
    if (!Number.isFinite(change) || Math.abs(change) < 0.5) return false;
    this.own[row] = height;
    for (let at = row + 1; at < this.tree.length; at += at & -at) this.tree[at] += change;
    return true;
  }
}
