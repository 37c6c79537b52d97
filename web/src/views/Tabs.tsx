// The tabs, and what the chosen one shows.
import type { Groups } from "../model/groups";
import type { Page } from "../model/page";
import { hasDimension, type Selected } from "../model/selection";
import type { Steps } from "../model/slices";
import { type Tab, TABS } from "../model/state";
import type { ViewProps } from "./context";
import { Advice } from "./Advice";
import { Flame, type Trees, treesDependOn, treesOf } from "./Flame";
import { Holders } from "./Holders";
import { Busy, Kept } from "./Kept";
import { Leaks } from "./Leaks";
import { Lifetimes } from "./Lifetimes";
import { Memory } from "./Memory";
import { SourceView } from "./Source";
import { useSteps } from "./slices";
import { groupsOf, hasTable, TableView } from "./TableView";

const TAB_NAMES: Record<Tab, string> = {
  flame: "Flame graph",
  functions: "Functions",
  lines: "Lines",
  leaks: "Leaks",
  advice: "Advice",
  holders: "Holders",
  lifetimes: "Lifetimes",
  memory: "Memory",
  stacks: "Stacks",
  modules: "Modules",
  types: "Types",
  sizes: "Sizes",
  threads: "Threads",
  labels: "Labels",
  processes: "Processes",
  source: "Source",
};

/** The tabs that are always in view, and those that are if there is anything in them; the others are in a list. */
const SHOWN_IF_FILLED: Tab[] = ["advice", "holders"];
const SHOWN: Tab[] = ["flame", "functions", "lines", "leaks", "lifetimes", "memory"];

/** Whether there is anything in a tab. */
function hasContent(page: Page, selected: Selected, tab: Tab): boolean {
  const { cells } = selected;
  if (tab === "types") return hasDimension(cells, "type");
  if (tab === "threads") return hasDimension(cells, "thread");
  if (tab === "labels") return hasDimension(cells, "label");
  if (tab === "processes") return hasDimension(cells, "process");
  if (tab === "source") return page.data.sources.length > 0;
  if (tab === "lifetimes") return page.data.lifetimes.length > 0;
  if (tab === "memory") return page.data.resident.length > 0;
  if (tab === "leaks") return page.data.leaks !== undefined;
  if (tab === "advice") return page.data.advice !== undefined;
  if (tab === "holders") return page.data.holders !== undefined;
  return true;
}

/** The tab to show: one that is in view always says how to record what it lacks. */
export function tabOf(page: Page, selected: Selected, tab: Tab): Tab {
  return SHOWN.includes(tab) || hasContent(page, selected, tab) ? tab : "flame";
}

function TabButton(props: ViewProps & { tab: Tab }) {
  const { page, selected, state, change, tab } = props;
  const isChosen = tab === state.tab;
  const suspects = tab === "leaks" ? (page.data.leaks?.suspects ?? 0) : 0;
  return (
    <button
      id={`tab-${tab}`}
      role="tab"
      class={hasContent(page, selected, tab) ? "" : "without"}
      aria-selected={isChosen}
      aria-controls="view"
      tabIndex={isChosen ? 0 : -1}
      onClick={() => change({ tab }, true)}
    >
      {TAB_NAMES[tab]}
      {suspects > 0 && <i>{suspects}</i>}
    </button>
  );
}

/** `isFiltering`: fields for expressions on frames are open. */
export function Tabs(props: ViewProps & { isFiltering: boolean; onFilter: () => void }) {
  const { page, selected, state, change } = props;
  const filled = TABS.filter((tab) => hasContent(page, selected, tab));
  const shown = TABS.filter((tab) => SHOWN.includes(tab) || (SHOWN_IF_FILLED.includes(tab) && filled.includes(tab)));
  const further = filled.filter((tab) => !shown.includes(tab));
  const tabs = TABS.filter((tab) => shown.includes(tab) || tab === state.tab);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    const at = tabs.indexOf(state.tab);
    const next = tabs[(at + step + tabs.length) % tabs.length]!;
    change({ tab: next }, true);
    document.getElementById(`tab-${next}`)?.focus();
    event.preventDefault();
  };
  return (
    <div class="tab-row">
      <div class="tabs" role="tablist" aria-label="Views" onKeyDown={move}>
        {tabs.map((tab) => (
          <TabButton key={tab} {...props} tab={tab} />
        ))}
      </div>
      <div class="tab-tools">
        <button
          class="quiet filter-button"
          aria-expanded={props.isFiltering}
          title="Regular expressions that hide frames, or keep stacks"
          onClick={props.onFilter}
        >
          Filter<span class="wide"> frames</span>
        </button>
        <select
          class="more"
          aria-label="More views"
          value=""
          onChange={(event) => change({ tab: event.currentTarget.value as Tab }, true)}
        >
          <option value="">More</option>
          {further.map((tab) => (
            <option key={tab} value={tab}>
              {TAB_NAMES[tab]}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

/** What a tab shows, made in steps where that takes longer. */
interface Shown {
  tab: Tab;
  trees?: Trees;
  groups?: Groups;
}

function* shownIn(props: ViewProps): Steps<Shown> {
  const { tab } = props.state;
  if (tab === "flame") return { tab, trees: yield* treesOf(props) };
  if (hasTable(tab)) return { tab, groups: yield* groupsOf(props, tab) };
  return { tab };
}

export function View(props: ViewProps) {
  const { page, selected, state } = props;
  const of = state.tab === "flame" ? treesDependOn(props) : [];
  const { value, isBusy } = useSteps(() => shownIn(props), [page, selected, state.tab, ...of]);
  if (!value) return <Busy />;
  const { tab, trees, groups } = value;
  return (
    <Kept isBusy={isBusy}>
      {trees && <Flame {...props} trees={trees} />}
      {groups && <TableView key={tab} {...props} tab={tab} groups={groups} />}
      {tab === "leaks" && <Leaks {...props} />}
      {tab === "advice" && page.data.advice && <Advice advice={page.data.advice} />}
      {tab === "holders" && page.data.holders && <Holders {...props} holders={page.data.holders} />}
      {tab === "lifetimes" && <Lifetimes {...props} />}
      {tab === "memory" && <Memory {...props} />}
      {tab === "source" && <SourceView {...props} />}
    </Kept>
  );
}
