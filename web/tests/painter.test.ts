// What is drawn of a flame graph: every box is dark up to its lower limit.
import { describe, expect, it } from "vitest";
import { Layout, REST } from "../src/draw/layout";
import { draw } from "../src/draw/painter";
import { DARK, LIGHT } from "../src/draw/palette";
import { EstimateBook } from "../src/model/book";
import { foldedPage, pageOf } from "../src/model/page";
import { select } from "../src/model/selection";
import { finished } from "../src/model/slices";
import { CallTree, ROOT } from "../src/model/tree";
import { type Painter, paintOf } from "../src/views/boxes";
import { fixture } from "./fixture";

/** A context that notes what is clipped: from where and how wide. */
function noting(onClip: (x: number, width: number) => void): CanvasRenderingContext2D {
  const known: Record<string, unknown> = {
    rect: (x: number, _: number, width: number) => onClip(x, width),
    measureText: (text: string) => ({ width: 7 * text.length }),
  };
  return new Proxy(known, {
    get: (target, name) => target[String(name)] ?? (() => undefined),
  }) as unknown as CanvasRenderingContext2D;
}

describe("boxes", () => {
  const page = foldedPage(pageOf(fixture({ nodes: 3000 })));
  for (const palette of [LIGHT, DARK]) {
    for (const profile of [0, 1]) {
      it(`of profile ${profile} are dark up to their lower limits, dark mode ${palette.isDark}`, () => {
        const selected = select(page, { profile, window: undefined, only: {} });
        const tree = finished(CallTree.ofCallees(page, selected));
        const layout = new Layout(tree, ROOT, 1200);
        layout.extend(100);
        const book = new EstimateBook(tree, page.data.level, true);
        const painter: Painter = {
          ...{ page, tree, book, palette, chosen: -1, tones: [] },
          ...{ colour: "function", found: undefined, rootName: "all" },
        };
        const paint = (i: number) => {
          const [node, first, width] = [layout.node[i]!, layout.first[i]!, layout.width[i]!];
          return paintOf(painter, { node, first, width });
        };
        // First drawn without estimates, which are asked for by that.
        layout.node.forEach((node, i) => node !== REST && paint(i));
        finished(book.settling());
        const dark = new Map<number, number>();
        let current = -1;
        const context = noting((_, width) => dark.set(current, width));
        const scene = { layout, palette, isFlame: false, top: 0, height: 30_000, width: 1200 };
        draw(context, { ...scene, paintOf: (i) => paint((current = i)) });
        let narrow = 0;
        layout.node.forEach((node, i) => {
          if (node === REST) return;
          const { lo, value } = book.get(node);
          const width = layout.width[i]!;
          // Boxes are drawn up to a gap of 1.5 pixels, and half a pixel of dark is not drawn.
          expect(Math.abs((dark.get(i) ?? 0) - (width * lo) / value)).toBeLessThanOrEqual(1.5);
          if (width <= 3 && lo > value / 2) expect(dark.get(i), `box ${i}`).toBeGreaterThan(0.5);
          if (width <= 3) ++narrow;
        });
        expect(layout.node.length).toBeGreaterThan(100);
        expect(narrow).toBeGreaterThan(5);
      });
    }
  }
});
