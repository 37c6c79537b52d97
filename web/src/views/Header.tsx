// The header card: what was measured, how surely, and what is missing.
import { totalBytes } from "../model/measure";
import { detectionLimit, estimateObjects } from "../numbers/estimate";
import { boundBytes, figure, isExact, levelText, textOf } from "../numbers/format";
import { Choice } from "./controls";
import type { ViewProps } from "./context";
import { intervalText } from "./Figure";
import { printable } from "../model/names";

export function Total(props: ViewProps & { place: string }) {
  const { selected, level } = props;
  const bytes = totalBytes(selected, level);
  const shown = figure(bytes, "bytes");
  const objects = figure(estimateObjects(selected.whole, level, "total"), "objects");
  const limit = detectionLimit(selected.profile.largestInterval, level);
  return (
    <div class="total">
      <p class="total-name">
        {printable(selected.profile.title)}
        {props.place && <span> {props.place}</span>}
      </p>
      <p class="total-value" title={intervalText(bytes, "bytes", level)}>
        {shown.value}{" "}
        <span class="error">
          {shown.error || (isExact(bytes) && bytes.value > 0 ? "exactly" : "")}
        </span>
      </p>
      <p class="faint">
        {textOf(objects)} objects · {intervalText(bytes, "bytes", level)}
        {limit > 0 && ` · anything below ${boundBytes(limit)} may be missing`}
      </p>
    </div>
  );
}

/** Kinds that have a button of their own; the others are in a list. */
const BUTTONS = 4;

function KindList(props: {
  kinds: [string, string][];
  chosen: string;
  onChoose: (kind: string) => void;
}) {
  const isChosen = props.kinds.some(([kind]) => kind === props.chosen);
  return (
    <select
      class={isChosen ? "chosen" : ""}
      aria-label="Further kinds of profiles"
      value={isChosen ? props.chosen : ""}
      onChange={(event) => event.currentTarget.value && props.onChoose(event.currentTarget.value)}
    >
      <option value="">More kinds …</option>
      {props.kinds.map(([kind, title]) => (
        <option key={kind} value={kind}>
          {title}
        </option>
      ))}
    </select>
  );
}

export function Kinds(props: ViewProps) {
  const { page, state, change, selected } = props;
  const { profiles } = page.data;
  const missing = profiles.filter((profile) => profile.unavailable);
  const kinds = profiles
    .filter((profile) => profile.cells >= 0)
    .map((profile): [string, string] => [profile.kind, printable(profile.title)]);
  const choose = (kind: string) => kind !== state.kind && change({ kind }, true);
  const { kind, about } = selected.profile;
  return (
    <div class="kinds">
      <div class="kinds-row">
        <Choice
          name="Kind of profile"
          chosen={kind}
          choices={kinds.slice(0, BUTTONS)}
          onChoose={choose}
        />
        {kinds.length > BUTTONS && (
          <KindList kinds={kinds.slice(BUTTONS)} chosen={kind} onChoose={choose} />
        )}
      </div>
      <p class="faint about">{printable(about)}</p>
      {missing.length > 0 && (
        <details class="faint">
          <summary>
            {missing.length === 1 ? "1 kind is" : `${missing.length} kinds are`} not available
          </summary>
          <ul>
            {missing.map((profile) => (
              <li key={profile.kind}>
                <b>{printable(profile.title)}</b>: {printable(profile.unavailable!)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

export function Facts(props: { page: ViewProps["page"] }) {
  const { facts, warnings, level } = props.page.data;
  return (
    <div class="facts-card">
      {warnings.length > 0 && (
        <ul class="warnings" aria-label="Warnings">
          {warnings.map((text, i) => (
            <li key={i}>{printable(text)}</li>
          ))}
        </ul>
      )}
      <dl class="facts">
        {facts.map((fact, i) => (
          <div key={i} class={fact.tone === "warning" ? "warning" : ""}>
            <dt>{printable(fact.name)}</dt>
            <dd>
              <bdi>{printable(fact.value)}</bdi>
              {fact.remark && <span class="remark"> {printable(fact.remark)}</span>}
            </dd>
          </div>
        ))}
        <div>
          <dt>intervals</dt>
          <dd>
            {levelText(level)}
            <span class="remark"> every ± and [ ]</span>
          </dd>
        </div>
      </dl>
    </div>
  );
}
