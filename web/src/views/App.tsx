// The page: what is selected, and the views of it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { DARK, LIGHT } from "../draw/palette";
import { type Groups, sizeClassName, valueName } from "../model/groups";
import { matchedSums, type Search, searching } from "../model/search";
import { partBytes, shareOf } from "../model/measure";
import { elided, printable } from "../model/names";
import type { Page } from "../model/page";
import {
  DIMENSIONS,
  type Dimension,
  hasDimension,
  type Selected,
  type Window,
} from "../model/selection";
import type { Steps } from "../model/slices";
import { carriedOver } from "../model/carry";
import { type Side, type State, type Tab, TABS } from "../model/state";
import { duration, exactCount, figure, shareFigure, textOf } from "../numbers/format";
import type { Sums } from "../numbers/sums";
import type { ViewProps } from "./context";
import { Chip, Choice, SearchInput } from "./controls";
import { About, Help } from "./Dialogs";
import { DiffView } from "./Diff";
import { Flame, type Trees, treesDependOn, treesOf } from "./Flame";
import { Facts, Kinds, Total } from "./Header";
import { Busy, Kept } from "./Kept";
import { Lifetimes } from "./Lifetimes";
import { Memory } from "./Memory";
import { SourceView } from "./Source";
import { groupsOf, hasTable, TableView } from "./TableView";
import { Timeline } from "./Timeline";
import { useKeys } from "./keys";
import { useSelected, useSteps } from "./slices";
import { useStateInAddress } from "./address";

interface AppProps {
  page: Page;
  isServed: boolean;
  isPaused: boolean;
  onPause: () => void;
}

function useDark(theme: State["theme"]): boolean {
  const query = useMemo(() => window.matchMedia("(prefers-color-scheme: dark)"), []);
  const [systemIsDark, setSystemIsDark] = useState(query.matches);
  useEffect(() => {
    const listen = () => setSystemIsDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, [query]);
  const isDark = theme === "system" ? systemIsDark : theme === "dark";
  // With the palette of what is drawn, not a frame behind it.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
  }, [isDark]);
  return isDark;
}

/** The profile of a kind; of an unknown one the first that is there. */
function profileOf(page: Page, kind: string): number {
  const { profiles } = page.data;
  const isThere = (index: number) => index >= 0 && profiles[index]!.cells >= 0;
  const named = profiles.findIndex((profile) => profile.kind === kind);
  if (isThere(named)) return named;
  return Math.max(
    0,
    profiles.findIndex((profile) => profile.cells >= 0),
  );
}

function windowWithin(page: Page, window: Window | undefined): Window | undefined {
  if (!window || page.lastBucket < 0 || window.from > page.lastBucket) return undefined;
  return { from: window.from, to: Math.min(window.to, page.lastBucket) };
}

const TAB_NAMES: Record<Tab, string> = {
  flame: "Flame graph",
  functions: "Functions",
  stacks: "Stacks",
  modules: "Modules",
  types: "Types",
  sizes: "Sizes",
  threads: "Threads",
  labels: "Labels",
  lifetimes: "Lifetimes",
  memory: "Memory",
  source: "Source",
};

function hasTab(page: Page, selected: Selected, tab: Tab): boolean {
  const { cells } = selected;
  if (tab === "types") return hasDimension(cells, "type");
  if (tab === "threads") return hasDimension(cells, "thread");
  if (tab === "labels") return hasDimension(cells, "label");
  if (tab === "source") return page.data.sources.length > 0;
  if (tab === "lifetimes") return page.data.lifetimes.length > 0;
  if (tab === "memory") return page.data.resident.length > 0;
  return true;
}

function Tabs(props: ViewProps & { tabs: Tab[] }) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    const at = props.tabs.indexOf(props.state.tab);
    const next = props.tabs[(at + step + props.tabs.length) % props.tabs.length]!;
    props.change({ tab: next }, true);
    document.getElementById(`tab-${next}`)?.focus();
    event.preventDefault();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={move}>
      {props.tabs.map((tab) => (
        <button
          key={tab}
          id={`tab-${tab}`}
          role="tab"
          aria-selected={tab === props.state.tab}
          aria-controls="view"
          tabIndex={tab === props.state.tab ? 0 : -1}
          onClick={() => props.change({ tab }, true)}
        >
          {TAB_NAMES[tab]}
        </button>
      ))}
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

function View(props: ViewProps) {
  const { page, selected, state } = props;
  const of = state.tab === "flame" ? treesDependOn(props) : [state.hidesPlumbing];
  const { value, isBusy } = useSteps(() => shownIn(props), [page, selected, state.tab, ...of]);
  if (!value) return <Busy />;
  const { tab, trees, groups } = value;
  return (
    <Kept isBusy={isBusy}>
      {trees && <Flame {...props} trees={trees} />}
      {groups && <TableView key={tab} {...props} tab={tab} groups={groups} />}
      {tab === "lifetimes" && <Lifetimes {...props} />}
      {tab === "memory" && <Memory {...props} />}
      {tab === "source" && <SourceView {...props} />}
    </Kept>
  );
}

function chipText(page: Page, dimension: Dimension, value: number): string {
  if (dimension === "size") return `only sizes ${sizeClassName(value)}`;
  return `only ${dimension} ${elided(valueName(page, dimension, value), 60)}`;
}

function Filters(props: ViewProps) {
  const { page, state, change } = props;
  const active = DIMENSIONS.filter((dimension) => state.only[dimension] !== undefined);
  if (active.length === 0) return null;
  return (
    <div class="chips">
      {active.map((dimension) => (
        <Chip
          key={dimension}
          label={`Show every ${dimension}`}
          onClear={() => {
            const { [dimension]: _, ...only } = state.only;
            change({ only }, true);
          }}
        >
          <bdi>{chipText(page, dimension, state.only[dimension]!)}</bdi>
        </Chip>
      ))}
    </div>
  );
}

interface Match {
  selected: Selected;
  found: Search;
  sums: Sums;
}

function* matchOf({ page, selected, found }: ViewProps): Steps<Match | undefined> {
  return found && { selected, found, sums: yield* matchedSums(page, selected, found) };
}

/** What a search found, with the bytes of all stacks through it. */
function Matched(props: ViewProps) {
  const { page, level } = props;
  const match = useSteps(() => matchOf(props), [page, props.selected, props.found]);
  if (!match.value) return null;
  const { selected, found, sums } = match.value;
  const bytes = partBytes(selected, sums, level);
  return (
    <Kept isBusy={match.isBusy}>
      <span class="matched" role="status">
        <b>{textOf(figure(bytes, "bytes"))}</b>
        <span class="faint">
          {" "}
          ({textOf(shareFigure(shareOf(selected, sums, bytes, level)))}) in{" "}
          {exactCount(found.functions)} of {exactCount(page.functions)} functions
        </span>
        {found.problem && (
          <span class="problem-inline"> taken literally: {printable(found.problem)}</span>
        )}
      </span>
    </Kept>
  );
}

function SearchBox(props: ViewProps) {
  return (
    <div class="search">
      <SearchInput value={props.state.search} onChange={(search) => props.change({ search })} />
      <Matched {...props} />
    </div>
  );
}

interface BarProps extends AppProps {
  isDark: boolean;
  onTheme: () => void;
  onHelp: () => void;
}

function TopBar(props: BarProps) {
  return (
    <header class="top">
      <span class="brand">geiger</span>
      <h1>
        <bdi>{elided(printable(props.page.data.title), 120)}</bdi>
      </h1>
      {props.isServed && (
        <button class="quiet" aria-pressed={props.isPaused} onClick={props.onPause}>
          {props.isPaused ? "Go on" : "Pause"}
        </button>
      )}
      <button class="quiet" onClick={props.onTheme}>
        {props.isDark ? "Light" : "Dark"}
      </button>
      <button class="quiet" aria-label="Help" onClick={props.onHelp}>
        ?
      </button>
    </header>
  );
}

/** The window in words, as far as it changes this profile. */
function windowText(page: Page, selected: Selected): string {
  const { window } = selected;
  if (!window || !page.data.timeline || selected.profile.counts === "all") return "";
  const time = (edge: number) => duration(page.data.timeline!.edges[edge]!);
  return selected.profile.counts === "born"
    ? `from ${time(window.from)} to ${time(window.to + 1)}`
    : `as of ${time(window.to + 1)}`;
}

const MEANINGS = {
  born: "allocated in",
  alive: "alive at the end of",
  all: "does not change with",
};

function Profiles(props: ViewProps & { isBusy: boolean }) {
  const { page, selected, state, change, palette } = props;
  const { timeline } = page.data;
  const tabs = TABS.filter((tab) => hasTab(page, selected, tab));
  const tab = tabs.includes(state.tab) ? state.tab : "flame";
  const now = { ...props, state: { ...state, tab } };
  const window = windowWithin(page, state.window);
  return (
    <>
      <section class="card head kept" aria-label="Summary" aria-busy={props.isBusy}>
        <Total {...props} place={windowText(page, selected)} />
        <Kinds {...props} />
        <Facts page={page} />
        {props.isBusy && <Busy />}
      </section>
      {timeline &&
        timeline.edges.length > 1 &&
        (timeline.live.value.length > 0 || timeline.rss.time.length > 0) && (
          <Timeline
            timeline={timeline}
            window={window}
            palette={palette}
            meaning={MEANINGS[selected.profile.counts]}
            onWindow={(chosen, isStep) => change({ window: chosen }, isStep)}
          />
        )}
      <section class="card views" aria-label="Views">
        <SearchBox {...props} />
        <Filters {...props} />
        <Tabs {...now} tabs={tabs} />
        <div id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          <View {...now} />
        </div>
      </section>
    </>
  );
}

function Footer(props: { page: Page; onAbout: () => void }) {
  const { left_out: leftOut, version } = props.page.data;
  return (
    <footer>
      {leftOut.length > 0 && (
        <details open>
          <summary>Left out to bound this page; all sums are whole</summary>
          <ul>
            {leftOut.map((text, i) => (
              <li key={i}>{printable(text)}</li>
            ))}
          </ul>
        </details>
      )}
      <button class="link" onClick={props.onAbout}>
        geiger {printable(version)}
      </button>
    </footer>
  );
}

export function App(props: AppProps) {
  const { page } = props;
  const [state, change] = useStateInAddress();
  const [dialog, setDialog] = useState<"" | "help" | "about">("");
  const isDark = useDark(state.theme);
  const palette = isDark ? DARK : LIGHT;
  const seen = useRef(page);
  useEffect(() => {
    document.title = `${elided(printable(page.data.title), 60)} – geiger`;
    // Numbers of names may change when a served page asks again: the state follows the names.
    if (seen.current !== page) change(carriedOver(state, seen.current, page));
    seen.current = page;
  }, [page]);
  const profile = profileOf(page, state.kind);
  const window = windowWithin(page, state.window);
  const { value: selected, isBusy } = useSelected(page, { profile, window, only: state.only });
  const found = useSteps(() => searching(page, state.search), [page, state.search]).value;
  const onTheme = () => change({ theme: isDark ? "light" : "dark" });
  useKeys(state, change, { onTheme, onHelp: () => setDialog("help"), isOpen: dialog !== "" });
  const { level, diff } = page.data;
  const shared = { page, state, change, level, palette, found };
  return (
    <>
      <TopBar {...props} isDark={isDark} onTheme={onTheme} onHelp={() => setDialog("help")} />
      <main>
        {diff && selected && (
          <Choice<Side>
            name="Side"
            chosen={state.side}
            choices={[
              ["changes", "Changes"],
              ["after", "Profile of the runs after"],
            ]}
            onChoose={(side) => change({ side, zoom: [], search: "", sort: "" }, true)}
          />
        )}
        {diff && (state.side === "changes" || !selected) ? (
          <DiffView {...shared} diff={diff} />
        ) : (
          selected && <Profiles {...shared} selected={selected} isBusy={isBusy} />
        )}
      </main>
      <Footer page={page} onAbout={() => setDialog("about")} />
      {dialog === "help" && <Help onClose={() => setDialog("")} />}
      {dialog === "about" && <About data={page.data} onClose={() => setDialog("")} />}
    </>
  );
}
