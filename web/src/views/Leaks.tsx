// Sites that kept growing, with the evidence: what `geiger leaks` says.
import type { LeakSite, Leaks as Data } from "../data";
import { callAt } from "../model/call";
import { accusedOf, hiddenText, openOf, openText } from "../model/leaks";
import { elided, printable } from "../model/names";
import { changeFigure, duration, figure, plural, probability, shareFigure, textOf } from "../numbers/arithmetic";
import type { ViewProps } from "./context";

/** "+4.3 MiB ± 1.2". */
export function rateText({ rate, growthLimit }: LeakSite): string {
  return growthLimit ?? textOf(changeFigure(rate.value, rate)).replace(/^\+/, "");
}

/** Sites that are listed below an owner. */
const MOST_BELOW = 20;

function Site(props: ViewProps & { leaks: Data; site: LeakSite; below?: LeakSite[] }) {
  const { page, change, leaks, site, below = [] } = props;
  const isUndecided = site.verdict === "undecided";
  const call = callAt(page, site.node);
  return (
    <div class={`suspect ${site.verdict}`}>
      <h2>
        <bdi>{elided(call.name, 200)}</bdi>
        {call.place && <span class="where">{elided(call.place, 120)}</span>}
      </h2>
      <dl>
        <dt>Grows by</dt>
        <dd>
          <b>{rateText(site)}</b> per second since {duration(site.since)}
        </dd>
        <dt>Live then</dt>
        <dd>
          {site.held}, {textOf(shareFigure(site.neverFreed))} of its allocations, {" "}
          {plural(site.samples, "sample")}
        </dd>
        {site.oldest > 0 && (
          <>
            <dt>Oldest</dt>
            <dd>
              {duration(site.oldest)}
              {site.oldFrom > 0 && `; 95 % of what it freed lived less than ${duration(site.oldFrom)}`}
            </dd>
          </>
        )}
        <dt>{isUndecided ? "Undecided" : "False-alarm rate"}</dt>
        <dd>{isUndecided ? openText(site, leaks) : probability(site.q)}</dd>
        {site.sites && (
          <>
            <dt>In {site.sites}</dt>
            <dd>
              <ul>
                {below.slice(0, MOST_BELOW).map((part, i) => (
                  <li key={i}>
                    <bdi>{elided(callAt(page, part.node).name, 120)}</bdi>{" "}
                    <span class="where">{elided(callAt(page, part.node).place, 120)}</span>: {part.held},{" "}
                    {rateText(part)} per second
                  </li>
                ))}
                {below.length > MOST_BELOW && <li>{below.length - MOST_BELOW} more</li>}
              </ul>
            </dd>
          </>
        )}
        {site.holders && (
          <>
            <dt>Held</dt>
            <dd>
              <ul class="plain">
                {site.holders.map((text, i) => (
                  <li key={i}>{elided(printable(text), 300)}</li>
                ))}
              </ul>
            </dd>
          </>
        )}
        {call.callers.length > 0 && (
          <>
            <dt>Called by</dt>
            <dd class="faint">
              <bdi>{call.callers.map((name) => elided(name, 80)).join(" ← ")}</bdi>
            </dd>
          </>
        )}
      </dl>
      <p class="actions">
        <button
          class="text-link"
          onClick={() => change({ tab: "flame", mode: "callees", zoom: [], chosen: call.path }, true)}
        >
          Show in the flame graph
        </button>
      </p>
    </div>
  );
}

/** Which heap was judged. */
function judgedText(leaks: Data): string {
  const live = textOf(figure(leaks.live, "bytes"));
  if (leaks.why !== "before_teardown") {
    const when = leaks.why === "before_finalization" ? "before the interpreter finalized" : "at the end";
    return `Judged ${when}, ${duration(leaks.afterStart)}, with ${live} live. Memory alive ${when} is not necessarily a leak.`;
  }
  const end = textOf(figure(leaks.liveAtEnd, "bytes"));
  return (
    `The program freed most of its heap in its last ${duration(leaks.beforeEnd)}, so ${end} was live ` +
    `at the end. Judged before that, at ${duration(leaks.afterStart)}, with ${live} live:`
  );
}

export function Leaks(props: ViewProps) {
  const { leaks } = props.page.data;
  if (!leaks) {
    return (
      <p class="nothing">
        No verdict on leaks: it needs a complete recording of <code>geiger run</code> with live
        samples.
      </p>
    );
  }
  const { stacks } = props.selected;
  const found = accusedOf(leaks, stacks);
  const ofAll = accusedOf(leaks, undefined);
  const open = openOf(leaks, stacks);
  const more = leaks.undecided - openOf(leaks, undefined).length;
  return (
    <section aria-label="Leaks">
      <p class="say">
        {judgedText(leaks)} <b>{leaks.counts}.</b> {hiddenText(leaks)}
      </p>
      {leaks.unreachable && (
        <div class="suspect">
          {leaks.unreachable.map((sentence, i) => (
            <p key={i}>{elided(printable(sentence), 300)}</p>
          ))}
        </div>
      )}
      {found.length < ofAll.length && (
        <p>
          {found.length} of {plural(ofAll.length, "suspect")} shown: those that match focus and ignore, or may.
        </p>
      )}
      {found.map(({ site, below }, i) => (
        <Site key={i} {...props} leaks={leaks} site={site} below={below} />
      ))}
      {open.map((site, i) => (
        <Site key={`open ${i}`} {...props} leaks={leaks} site={site} />
      ))}
      {leaks.stopped.map((sentence, i) => (
        <p key={`stopped ${i}`}>{elided(sentence, 300)}</p>
      ))}
      {more > 0 && <p>{more} more undecided: geiger leaks --all --top 0 lists them.</p>}
      <p class="faint">
        At most {Math.round(100 * leaks.q)} % of the suspects are expected to be false positives.
      </p>
    </section>
  );
}
