// Which table a tab shows, and what a click on its rows does.
import {
  dimensionGroups,
  functionGroups,
  type Groups,
  lineGroups,
  moduleGroups,
  stackGroups,
  stackOf,
} from "../model/groups";
import { doubtsText } from "../model/answers";
import { printable } from "../model/names";
import type { Matched } from "../model/search";
import type { Dimension } from "../model/selection";
import type { Steps } from "../model/slices";
import type { Tab } from "../model/state";
import { boundBytes } from "../numbers/arithmetic";
import { bytesForOrder, openBytes } from "../numbers/sums";
import type { ViewProps } from "./context";
import { SourceLines } from "./Source";
import { Sizes } from "./Sizes";
import { Table } from "./Table";

const DIMENSION_OF: Partial<Record<Tab, Dimension>> = {
  types: "type",
  sizes: "size",
  threads: "thread",
  labels: "label",
  processes: "process",
};

/** Whether a tab is a table of groups. */
export function hasTable(tab: Tab): boolean {
  return tab in DIMENSION_OF || ["functions", "lines", "modules", "stacks"].includes(tab);
}

export function groupsOf(props: ViewProps, tab: Tab): Steps<Groups> {
  const { page, selected } = props;
  if (tab === "functions") return functionGroups(page, selected);
  if (tab === "lines") return lineGroups(page, selected);
  if (tab === "modules") return moduleGroups(page, selected);
  if (tab === "stacks") return stackGroups(page, selected);
  return dimensionGroups(page, selected, DIMENSION_OF[tab]!);
}

/** What a click on the row of a key does, with a word for it. */
function actionOf(
  props: ViewProps & { groups: Groups },
  tab: Tab,
): [((key: number) => void) | undefined, string] {
  const { page, state, change, groups } = props;
  const dimension = DIMENSION_OF[tab];
  if (dimension) {
    return [
      (key) => change({ only: { ...state.only, [dimension]: key } }, true),
      `Show this ${dimension} alone`,
    ];
  }
  if (tab === "functions") {
    return [
      (key) => change({ tab: "flame", mode: "both", around: key }, true),
      "Show its callers and callees",
    ];
  }
  if (tab === "stacks") {
    return [
      (key) => {
        const zoom = stackOf(page, key).reverse();
        change({ tab: "flame", mode: "callees", zoom: [], chosen: zoom }, true);
      },
      "Show it in the flame graph",
    ];
  }
  if (tab === "lines" && page.data.sources.length > 0) {
    const of = groups.functionOf!;
    return [(key) => change({ around: of(key) }, true), "Show its source below"];
  }
  return [undefined, ""];
}

/** Below the lines: the source of the function chosen, or of the one that the finding is about. */
function Listing(props: ViewProps) {
  const { page, state, finding } = props;
  const of = state.around >= 0 ? state.around : (finding?.path.at(-1) ?? -1);
  if (page.data.sources.length === 0 || of < 0 || of >= page.functions) return null;
  return <SourceLines {...props} functionIndex={of} />;
}

/** Why totals reach further than what passes through a row. */
function CutNote({ sums, doubts }: Matched) {
  const bytes = bytesForOrder(sums, 0) + openBytes(sums);
  if (!(bytes > 0)) return null;
  return (
    <p class="faint" role="note">
      Upper limits of totals include {boundBytes(bytes)} of {doubtsText(doubts).join(", and ")}.
    </p>
  );
}

export function TableView(props: ViewProps & { tab: Tab; groups: Groups }) {
  const { tab, groups } = props;
  const by = DIMENSION_OF[tab] ?? tab.replace(/s$/, "");
  const [onRow, rowHint] = actionOf(props, tab);
  return (
    <section aria-label={`By ${printable(by)}`}>
      {tab === "sizes" && <Sizes {...props} groups={groups} />}
      <Table {...props} by={by} onRow={onRow} rowHint={rowHint} />
      {groups.cut && <CutNote {...groups.cut} />}
      {tab === "lines" && <Listing {...props} />}
    </section>
  );
}
