// Sites that kept growing, with the evidence: what `geiger leaks` says.
import type { LeakSite } from "../data";
import { elided, printable } from "../model/names";
import { duration, figure, plural, probabilityOf, shareFigure, textOf } from "../numbers/format";
import type { ViewProps } from "./context";

function Site({ site }: { site: LeakSite }) {
  const rate = { ...site.rate, variance: 0, samples: 1, exact: 0 };
  return (
    <div class={`suspect ${site.verdict}`}>
      <h2>
        <bdi>{elided(printable(site.name), 200)}</bdi>
        {site.place && <span class="where">{elided(printable(site.place), 120)}</span>}
      </h2>
      <dl>
        <dt>Grows by</dt>
        <dd>
          <b>{textOf(figure(rate, "bytes"))}</b> per second
        </dd>
        <dt>Live then</dt>
        <dd>
          {textOf(figure(site.live, "bytes"))}, {textOf(shareFigure(site.neverFreed))} of what it
          allocated
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
        <dt>Chance</dt>
        <dd>{probabilityOf("q", site.q)}</dd>
        {site.path.length > 0 && (
          <>
            <dt>Called by</dt>
            <dd class="faint">
              <bdi>{site.path.map((name) => elided(printable(name), 80)).join(" ← ")}</bdi>
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

export function Leaks({ page }: ViewProps) {
  const { leaks } = page.data;
  if (!leaks) {
    return (
      <p class="nothing">
        No verdict about leaks: that needs the times of samples, which <code>geiger run</code> records.
      </p>
    );
  }
  const { sites, suspects, undecided, clear } = leaks;
  return (
    <section aria-label="Leaks">
      <p class="say">
        {leaks.about.map(printable).join(" ")}{" "}
        {suspects === 0 ? (
          "No site is a suspect."
        ) : (
          <b>
            {suspects} of {plural(suspects + undecided + clear, "site")} kept growing.
          </b>
        )}
      </p>
      {sites.map((site, i) => (
        <Site key={i} site={site} />
      ))}
      <p class="faint">
        {plural(clear, "site")} {clear === 1 ? "is" : "are"} clear, {undecided} undecided
        {undecided > 0 && `: too few samples for a verdict, which needs ${leaks.samplesNeeded}`}.
      </p>
    </section>
  );
}
