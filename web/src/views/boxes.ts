// How the boxes of a call tree look: by function, module or certainty, and grey where they are calls into libraries.
import type { Paint } from "../draw/painter";
import { type Palette, type Tones, tonesFor, tonesForError } from "../draw/palette";
import type { EstimateBook } from "../model/book";
import { relativeError } from "../model/measure";
import { type Estimate, figure, isExact, textOf } from "../numbers/arithmetic";
import { baseName, functionName, moduleName, type Page, shortPlaceOf } from "../model/page";
import type { Search } from "../model/search";
import type { Colour } from "../model/state";
import { type CallTree, ROOT } from "../model/tree";
import type { Box } from "./FlameChart";

/** Narrower boxes show no figure, and need no text made. */
const LEAST_FIGURE = 150;
/** A chain names so many of its frames; the last one is what matters. */
const MOST_JOINED = 5;

export interface Painter {
  page: Page;
  tree: CallTree;
  book: EstimateBook;
  palette: Palette;
  colour: Colour;
  found: Search | undefined;
  rootName: string;
  /** The node that is looked at; -1: none. */
  chosen: number;
  /** By function: what is worked out of its name once. */
  tones: Tones[];
}

/** The nodes that a box stands for, the last one last. */
export function chainOf(
  parents: ArrayLike<number>,
  box: Pick<Box, "node" | "first">,
): number[] {
  const chain = [box.node];
  for (let at = box.node; at !== box.first;) chain.push((at = parents[at]!));
  return chain.reverse();
}

export function nameOf({ page, tree, rootName }: Pick<Painter, "page" | "tree" | "rootName">, node: number): string {
  return node === ROOT ? rootName : functionName(page, tree.functions[node]!);
}

/** Names of a chain; a function that calls its own clone or itself is named once. */
export function joinedNames(chain: number[], nameOf: (node: number) => string): string[] {
  const names = chain.slice(-MOST_JOINED).map(nameOf);
  if (chain.length > MOST_JOINED) names[0] = "…";
  return names.filter((name, i) => name !== names[i - 1]);
}

function tonesOfFunction({ page, palette, colour }: Painter, of: number): Tones {
  const name = functionName(page, of);
  const family = colour === "module" ? baseName(moduleName(page, of)) : name;
  return tonesFor(family, name, palette);
}

function tonesOf(painter: Painter, chain: number[], estimate: Estimate | undefined): Tones {
  const { palette, colour, found, tree } = painter;
  const node = chain.at(-1)!;
  if (node === ROOT) return palette.called;
  const of = tree.functions[node]!;
  if (found) {
    return chain.some((at) => found.matches[tree.functions[at]!]) ? palette.match : palette.miss;
  }
  if (colour === "certainty") return tonesForError(estimate ? relativeError(estimate) : 0, palette);
  if (tree.isLibrary(node)) return palette.called;
  return (painter.tones[of] ??= tonesOfFunction(painter, of));
}

function besideName({ page, tree }: Painter, node: number): string {
  if (node === ROOT) return "";
  const folded = tree.folded(node);
  return folded > 0 ? `+${folded} folded` : shortPlaceOf(page, tree.frame(node));
}

export function paintOf(painter: Painter, box: Box): Paint {
  const { tree, book, palette, chosen } = painter;
  const { node, width } = box;
  const estimate = book.peek(node);
  const chain = chainOf(tree.parents, box);
  const tones = tonesOf(painter, chain, estimate);
  const shows = width >= LEAST_FIGURE;
  return {
    tones,
    text: tones === palette.match ? palette.matchText : palette.text,
    names: width > 20 ? joinedNames(chain, (at) => nameOf(painter, at)) : [],
    place: shows ? besideName(painter, node) : "",
    figure: shows && estimate ? textOf(figure(estimate, "bytes")) : "",
    sure: estimate && estimate.value > 0 ? estimate.lo / estimate.value : 0,
    isBold: node === chosen,
    isDim: false,
  };
}

/** Limits over the value, for a whisker. */
export function limitsOf(book: EstimateBook, node: number): [number, number] | undefined {
  const estimate = book.get(node);
  if (isExact(estimate) || !(estimate.value > 0)) return undefined;
  return [estimate.lo / estimate.value, estimate.hi / estimate.value];
}
