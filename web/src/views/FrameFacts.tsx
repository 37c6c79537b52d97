// All that is known of a frame, for the tooltip of its box.
import type { EstimateBook } from "../model/book";
import { countedOf } from "../model/finding";
import { rowObjects, shareOf } from "../model/measure";
import { figure, hasObjectsInterval, objectsFigure, plural, shareFigure, textOf } from "../numbers/arithmetic";
import { samplesOf, Sum } from "../numbers/sums";
import { elided } from "../model/names";
import { baseName, fullName, moduleName, type Page, placeOf } from "../model/page";
import { type CallTree, ROOT } from "../model/tree";
import { Name } from "./controls";
import { intervalText, objectsText } from "./Figure";

interface FrameFactsProps {
  page: Page;
  tree: CallTree;
  book: EstimateBook;
  node: number;
  level: number;
  isWhole: boolean;
  rootName: string;
}

export function FrameFacts(props: FrameFactsProps) {
  const { page, tree, book, node, level } = props;
  const { selected } = tree;
  const sums = tree.sums(node);
  const bytes = book.get(node);
  const isAll = node === ROOT && props.isWhole;
  const share = isAll ? undefined : shareOf(selected, sums, bytes, level);
  const of = tree.functions[node]!;
  const counted = countedOf(selected.profile.kind);
  const certain = sums[Sum.Certain]!;
  const estimate = rowObjects(selected, sums, level);
  const objects = objectsFigure(bytes, estimate);
  const folded = tree.folded(node);
  const places =
    node === ROOT ? [] : [baseName(moduleName(page, of)), placeOf(page, tree.frame(node))];
  return (
    <>
      <p class="tooltip-name">
        <Name text={node === ROOT ? props.rootName : elided(fullName(page, of), 400)} />
      </p>
      {places.some(Boolean) && (
        <p class="tooltip-place">
          {places.filter(Boolean).map((text) => (
            <bdi key={text}>{elided(text, 120)}</bdi>
          ))}
        </p>
      )}
      <p class="tooltip-figure">
        {textOf(figure(bytes, "bytes"))}
        {share && <span class="faint"> · {textOf(shareFigure(share))} of the total</span>}
      </p>
      <p class="faint">{intervalText(bytes, "bytes", level)}</p>
      <p class="faint">
        {counted === "range" ? plural(samplesOf(sums, 0), counted) : `${textOf(objects)} objects`}
        {counted === "sample" && certain > 0 && `, ${plural(certain, "object")} recorded exactly`}
        {folded > 0 && ` · ${plural(folded, "frame")} folded into it`}
      </p>
      {counted === "sample" && !hasObjectsInterval(bytes, estimate) && (
        <p class="faint">Objects: {objectsText(bytes, estimate, certain, level)}</p>
      )}
    </>
  );
}
