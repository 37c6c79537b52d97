// Fields for the regular expressions on frames, and what they keep.
import { printable } from "../model/names";
import { type FrameFilter, FILTERS, problemOf } from "../model/filter";
import { totalOf } from "../model/totals";
import { figure, textOf } from "../numbers/arithmetic";
import type { ViewProps } from "./context";
import { Kept } from "./Kept";
import { useSteps } from "./slices";

const ABOUT: Record<FrameFilter, [string, string]> = {
  hide: ["Hide", "Leave out frames whose function, module or file matches; totals stay the same"],
  focus: ["Focus", "Only stacks with a frame that matches"],
  ignore: ["Ignore", "Leave out stacks with a frame that matches"],
};

function Field(props: ViewProps & { filter: FrameFilter }) {
  const { state, change, filter } = props;
  const [label, title] = ABOUT[filter];
  const problem = problemOf(state[filter]);
  const id = `problem-${filter}`;
  return (
    <label class="frame-filter" title={title}>
      {label}
      <input
        type="search"
        placeholder="regular expression"
        aria-invalid={problem !== ""}
        aria-describedby={problem ? id : undefined}
        value={state[filter]}
        onInput={(event) => change({ [filter]: event.currentTarget.value, zoom: [], chosen: [] })}
      />
      {problem && (
        <span class="problem-inline" id={id} role="status">
          not applied: {printable(problem)}
        </span>
      )}
    </label>
  );
}

/** "Kept 10.9 MiB of 45.6 MiB". */
function KeptOf(props: ViewProps) {
  const { page, selected, state, level } = props;
  const { profile, window, stacks } = selected;
  const made = useSteps(
    () =>
      totalOf(page, { profile: page.data.profiles.indexOf(profile), window, only: state.only, stacks }, level),
    [page, profile, window, state.only, stacks],
  );
  if (!made.value?.of) return null;
  const { bytes, of } = made.value;
  return (
    <Kept isBusy={made.isBusy}>
      <p role="status">
        Shown: <b>{textOf(figure(bytes, "bytes"))}</b> of {textOf(figure(of, "bytes"))}, the stacks
        that match focus and ignore.{" "}
        <span class="faint">The timeline, lifetimes and memory cover all stacks.</span>
      </p>
    </Kept>
  );
}

/** Whether any of them is in use. */
export function isFiltering({ state }: Pick<ViewProps, "state">): boolean {
  return FILTERS.some((filter) => state[filter] !== "");
}

export function FrameFilters(props: ViewProps) {
  return (
    <section class="frame-filters" aria-label="Filter frames">
      <div>
        {FILTERS.map((filter) => (
          <Field key={filter} {...props} filter={filter} />
        ))}
      </div>
      {props.selected.stacks && <KeptOf {...props} />}
    </section>
  );
}
