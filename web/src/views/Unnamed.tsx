// Frames without names: how much of what is shown they are in, and what gives them names.
import { rowBytes, shareOf } from "../model/measure";
import { shareFigure, textOf } from "../numbers/arithmetic";
import { bytesForOrder, isEmpty } from "../numbers/sums";
import { baseName, functionName, moduleName, type Page } from "../model/page";
import { matchedSums } from "../model/search";
import type { Selected } from "../model/selection";
import { Pace, type Steps } from "../model/slices";
import type { ViewProps } from "./context";
import { useSteps } from "./slices";

/** Below this share of the bytes neither they nor their module are worth a sentence. */
const LEAST_SHARE = 0.05;
const MOST_MODULES = 3;

interface Unnamed {
  share: string;
  /** One of them, as it is shown. */
  example: string;
  /** File names of their modules, those with most bytes first. */
  modules: string[];
}

function* unnamedOf({ page, selected, level }: ViewProps): Steps<Unnamed | undefined> {
  // What is folded needs no name.
  const isUnnamed = page.isUnnamed.map((is, of) => is & ~page.isLibrary[of]!);
  if (!isUnnamed.includes(1)) return undefined;
  const { sums } = yield* matchedSums(page, selected, { is: isUnnamed });
  if (isEmpty(sums, 0)) return undefined;
  const share = shareOf(selected, sums, rowBytes(selected, sums, level), level);
  if (share.value < LEAST_SHARE) return undefined;
  const { example, modules } = yield* heaviest(page, selected, isUnnamed);
  return { share: textOf(shareFigure(share)), example, modules };
}

function* heaviest(page: Page, selected: Selected, isUnnamed: Uint8Array) {
  const bytes = new Map<string, number>();
  let most = 0;
  const pace = new Pace();
  for (let node = 1; node < page.nodes; ++node) {
    if (pace.isDue()) yield;
    const of = page.functionOf[node]!;
    if (!isUnnamed[of]) continue;
    const weight = bytesForOrder(selected.total, node);
    const module = baseName(moduleName(page, of));
    bytes.set(module, (bytes.get(module) ?? 0) + weight);
    if (most === 0 || weight > bytesForOrder(selected.total, most)) most = node;
  }
  const sorted = [...bytes].sort(([, a], [, b]) => b - a);
  const least = LEAST_SHARE * (sorted[0]?.[1] ?? 0);
  const modules = sorted.filter(([, one]) => one >= least).map(([module]) => module);
  return { example: functionName(page, page.functionOf[most]!), modules };
}

export function UnnamedFrames(props: ViewProps) {
  const { page, selected } = props;
  const { value } = useSteps(() => unnamedOf(props), [page, selected]);
  if (!value) return null;
  const { share, example, modules } = value;
  const more = modules.length - MOST_MODULES;
  return (
    <p class="unnamed" role="note">
      {share} of the bytes pass through functions without names (<code>{example}</code>). Install the
      -dbgsym package of {modules.slice(0, MOST_MODULES).join(", ")}
      {more > 0 && ` and ${more} more`}, or set <code>DEBUGINFOD_URLS</code> and run{" "}
      <code>geiger symbolize --debuginfod</code>.
    </p>
  );
}
