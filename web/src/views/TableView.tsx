// Which table a tab shows, and what a click on its rows does.
import {
  dimensionGroups,
  functionGroups,
  type Groups,
  moduleGroups,
  stackGroups,
  stackOf,
} from "../model/groups";
import { printable } from "../model/names";
import type { Dimension } from "../model/selection";
import type { Steps } from "../model/slices";
import type { Tab } from "../model/state";
import type { ViewProps } from "./context";
import { Busy } from "./controls";
import { Sizes } from "./Sizes";
import { useSteps } from "./slices";
import { Table } from "./Table";

const DIMENSION_OF: Partial<Record<Tab, Dimension>> = {
  types: "type",
  sizes: "size",
  threads: "thread",
  labels: "label",
};

function groupsOf(props: ViewProps, tab: Tab): Steps<Groups> {
  const { page, selected, state } = props;
  if (tab === "functions") return functionGroups(page, selected, state.hidesPlumbing);
  if (tab === "modules") return moduleGroups(page, selected, state.hidesPlumbing);
  if (tab === "stacks") return stackGroups(page, selected, state.hidesPlumbing);
  return dimensionGroups(page, selected, DIMENSION_OF[tab]!);
}

/** What a click on a row does, with a word for it. */
function actionOf(
  props: ViewProps,
  tab: Tab,
  groups: Groups,
): [((row: number) => void) | undefined, string] {
  const { page, state, change } = props;
  const dimension = DIMENSION_OF[tab];
  if (dimension) {
    return [
      (row) => change({ only: { ...state.only, [dimension]: groups.key(row) } }, true),
      `Show this ${dimension} alone`,
    ];
  }
  if (tab === "functions") {
    return [
      (row) => change({ tab: "flame", mode: "both", focus: groups.key(row) }, true),
      "Show its callers and callees",
    ];
  }
  if (tab === "stacks") {
    return [
      (row) =>
        change(
          {
            tab: "flame",
            mode: "callees",
            zoom: stackOf(page, groups.key(row), state.hidesPlumbing).reverse(),
          },
          true,
        ),
      "Show it in the flame graph",
    ];
  }
  return [undefined, ""];
}

export function TableView(props: ViewProps & { tab: Tab }) {
  const { page, selected, state, tab } = props;
  const groups = useSteps(() => groupsOf(props, tab), [page, selected, tab, state.hidesPlumbing]);
  if (!groups) return <Busy />;
  const by = DIMENSION_OF[tab] ?? tab.replace(/s$/, "");
  const [onRow, rowHint] = actionOf(props, tab, groups);
  return (
    <section aria-label={`By ${printable(by)}`}>
      {tab === "sizes" && <Sizes {...props} groups={groups} />}
      <Table key={tab} {...props} groups={groups} by={by} onRow={onRow} rowHint={rowHint} />
    </section>
  );
}
