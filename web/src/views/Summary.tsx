// What stands at the top: what is wrong, the finding, the totals that choose the kind, the facts.
import type { ComponentChildren } from "preact";
import type { PageData } from "../data";
import type { Part } from "../model/finding";
import { printable } from "../model/names";
import type { Page } from "../model/page";
import { type Total, totalsOf } from "../model/totals";
import {
  boundBytes,
  detectionLimit,
  duration,
  exactBytes,
  figure,
  type Figure as Text,
  levelText,
  textOf,
} from "../numbers/arithmetic";
import type { ViewProps } from "./context";
import { Name } from "./controls";
import { intervalText } from "./Figure";
import { Busy } from "./Kept";
import { useSteps } from "./slices";

function warningsOf({ fault, facts, warnings }: PageData): string[] {
  const loud = facts.filter((fact) => fact.tone === "warning");
  return [
    ...(fault === undefined ? [] : [fault]),
    ...loud.map(({ name, value, remark }) =>
      [name && `${name}:`, value, remark && `(${remark})`].filter(Boolean).join(" "),
    ),
    ...warnings,
  ].map(printable);
}

/** What makes the numbers doubtful stands above them. */
export function Warnings({ page }: { page: Page }) {
  const [first, ...rest] = warningsOf(page.data);
  if (first === undefined) return null;
  return (
    <div class="warnings" role="note" aria-label="Warnings">
      <p>{first}</p>
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <ul>
            {rest.map((text, i) => (
              <li key={i}>{text}</li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** A number and its unit stay on one line, and so does an interval. */
function unbroken(text: string): string {
  const joined = text.replace(/(\d) (?=[KMGT]?i?B\b|%|s\b)/g, "$1\u00a0");
  return joined.replace(/\[[^\]]*\]|± [\d.]+/g, (interval) => interval.replace(/ /g, "\u00a0"));
}

function Sentence({ parts }: { parts: Part[] }) {
  return (
    <>
      {parts.map(({ text: words, tone }, i) => {
        const text = unbroken(words);
        if (tone === "strong") {
          return (
            <strong key={i}>
              <Name text={text} />
            </strong>
          );
        }
        if (tone === "place") return <code key={i}>{text}</code>;
        return (
          <span key={i} class={tone ?? ""}>
            {text}
          </span>
        );
      })}
    </>
  );
}

export function FindingText(props: ViewProps & { isBusy: boolean; children?: ComponentChildren }) {
  return (
    <section class="finding kept" aria-label="Finding" aria-busy={props.isBusy}>
      <h1>{props.finding ? <Sentence parts={props.finding.parts} /> : "…"}</h1>
      {props.children}
      {props.isBusy && <Busy />}
    </section>
  );
}

/** The kinds that have a total of their own, in this order; the others are in a list. */
const SHOWN = ["peak", "live", "allocated"];

function labelOf({ profile }: Total, at: string): string {
  if (profile.kind === "live" && at) return at;
  if (profile.kind === "mapped-peak") return "Own mmap, peak";
  return profile.kind === "allocated" ? "Allocated in total" : printable(profile.title);
}

/** The value, and what stands beside it. */
function shownOf({ bytes, of }: Total): Text {
  const shown = figure(bytes, "bytes");
  if (of) return { ...shown, error: `${shown.error} of ${figure(of, "bytes").value}`.trim() };
  if (shown.error !== "") return shown;
  if (shown.value.startsWith("<")) return { ...shown, error: "no samples" };
  return { ...shown, error: bytes.value > 0 ? "exact" : "" };
}

/** The largest resident set that was read: the program's own maximum may lie between two readings. */
function largestResident({ timeline, resident }: PageData): number {
  const seen = timeline?.rss.bytes ?? [];
  return Math.max(resident[0]?.bytes ?? 0, ...seen);
}

function Card(props: {
  name: string;
  text: Text;
  title: string;
  value: string;
  isChosen: boolean;
  onChoose: () => void;
}) {
  return (
    <label title={props.title}>
      <input
        type="radio"
        name="kind"
        value={props.value}
        checked={props.isChosen}
        onChange={props.onChoose}
      />
      <span>{props.name}</span>
      <b class="total-value">{props.text.value}</b>{" "}
      {props.text.error && <small>{props.text.error}</small>}
    </label>
  );
}

/** Of the kinds in the list the one that is chosen, or what the list is. */
function FurtherKinds(props: {
  totals: Total[];
  chosen: string;
  onChoose: (kind: string) => void;
}) {
  const { totals, chosen, onChoose } = props;
  const isChosen = totals.some(({ profile }) => profile.kind === chosen);
  return (
    <div class={`further ${isChosen ? "chosen" : ""}`}>
      <select
        aria-label="Further kinds"
        value={isChosen ? chosen : ""}
        onChange={(event) => event.currentTarget.value && onChoose(event.currentTarget.value)}
      >
        <option value="">More</option>
        {totals.map(({ profile, bytes }) => (
          <option key={profile.kind} value={profile.kind}>
            {printable(profile.title)}: {textOf(figure(bytes, "bytes"))}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Totals(props: ViewProps & { instant: string }) {
  const { page, state, change, selected, level } = props;
  const { window, profile, stacks } = selected;
  const { only } = state;
  const made = useSteps(
    () => totalsOf(page, { window, only, stacks }, level),
    [page, window, only, stacks],
  );
  if (!made.value) return <Busy />;
  const totals = made.value;
  const { opening } = page.data;
  const kinds = opening === "" || SHOWN.includes(opening) ? SHOWN : [opening, ...SHOWN];
  const shown = kinds.map((kind) => totals.find((total) => total.profile.kind === kind)).filter(
    (total) => total !== undefined,
  );
  const resident = totals.find((total) => total.profile.kind === "resident");
  const further = totals.filter((total) => !shown.includes(total) && total !== resident);
  const isOfAll = only.process === undefined && !stacks;
  const largest = isOfAll ? largestResident(page.data) : 0;
  const choose = (kind: string) => kind !== profile.kind && change({ kind, chosen: [] }, true);
  return (
    <div class="kinds" role="radiogroup" aria-label="What is shown">
      {shown.map((total) => (
        <Card
          key={total.profile.kind}
          name={labelOf(total, props.instant)}
          text={shownOf(total)}
          title={`${printable(total.profile.about)} ${intervalText(total.bytes, "bytes", level)}`}
          value={total.profile.kind}
          isChosen={profile.kind === total.profile.kind}
          onChoose={() => choose(total.profile.kind)}
        />
      ))}
      {resident && (
        <Card
          name={largest > 0 ? "Resident, largest reading" : printable(resident.profile.title)}
          text={largest > 0 ? { value: exactBytes(largest), error: "" } : shownOf(resident)}
          title={printable(resident.profile.about)}
          value="resident"
          isChosen={profile.kind === "resident"}
          onChoose={() => choose("resident")}
        />
      )}
      {!resident && largest > 0 && (
        <button
          class="card-link"
          title="Where resident memory went"
          onClick={() => change({ tab: "memory" }, true)}
        >
          <span>Resident, largest reading</span>
          <b>{exactBytes(largest)}</b>
        </button>
      )}
      {further.length > 0 && (
        <FurtherKinds totals={further} chosen={profile.kind} onChoose={choose} />
      )}
    </div>
  );
}

/** Facts of the document that the line quotes, by their names. */
function quoted({ facts }: PageData, name: string): string {
  const fact = facts.find((one) => one.name === name && one.tone !== "warning");
  return fact ? printable(fact.value) : "";
}

/** "1 thread", "1,234 samples": of a count that is text. */
function counted(count: string, singular: string): string {
  return `${count} ${singular}${count === "1" ? "" : "s"}`;
}

function spacingOf(interval: string): string {
  const mean = /^(.*) between sampled bytes, on average$/.exec(interval);
  if (mean) return `one per ${mean[1]} on average`;
  return /^1 B: (.*)$/.exec(interval)?.[1] ?? ""; // "every allocation is recorded"
}

function lineOf({ page, selected, level }: ViewProps): string[] {
  const { data } = page;
  const { edges } = data.timeline ?? { edges: [] };
  const last = edges.at(-1);
  const threads = quoted(data, "threads");
  // "4 hosts, 2 h of their time; nothing is missing."
  const hosts = quoted(data, "hosts").replace(/[;.].*/, "");
  const samples = quoted(data, "samples");
  const check = quoted(data, "self-check");
  const dropped = quoted(data, "dropped");
  const limit = detectionLimit(selected.profile.largestInterval, level);
  const moment = selected.profile.kind === "peak" ? "at the peak a site" : "a site";
  return [
    last !== undefined ? duration(last) : "",
    hosts,
    threads && counted(threads, "thread"),
    samples && [counted(samples, "sample"), spacingOf(quoted(data, "interval"))].filter(Boolean).join(", "),
    check && `self-check ${check}`,
    dropped && `${dropped} dropped`,
    limit > 0 ? `${moment} below ${boundBytes(limit)} may be missing` : "",
    `intervals are ${levelText(level)}`,
  ].filter(Boolean);
}

export function FactsLine(props: ViewProps) {
  const { data } = props.page;
  const { selected } = props;
  const missing = data.profiles.filter((profile) => profile.unavailable);
  return (
    <details class="facts">
      <summary>
        {lineOf(props).join(" · ")} · <u>all facts</u>
      </summary>
      <dl>
        {data.facts.map((fact, i) => (
          <div key={i}>
            <dt>{printable(fact.name)}:</dt>{" "}
            <dd>
              <bdi>{printable(fact.value)}</bdi>
              {fact.remark && <span class="faint">; {printable(fact.remark)}</span>}
            </dd>
          </div>
        ))}
        <div>
          <dt>shown:</dt> <dd>{printable(selected.profile.about)}</dd>
        </div>
        {missing.map((profile) => (
          <div key={profile.kind}>
            <dt>{printable(profile.title)}:</dt> <dd class="faint">{printable(profile.unavailable!)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

