// What keeps memory alive, and what nothing reaches any more: what `geiger holders` says.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { HeldPart, HolderRoot, Holders as Data, Measure } from "../data";
import { type Held, isListed, isUndecided, isUnreachable, partsOf } from "../model/holders";
import { shownBytes } from "../model/measure";
import { elided, printable } from "../model/names";
import { shareFigure } from "../numbers/arithmetic";
import { Bar } from "./Bar";
import type { ViewProps } from "./context";
import { Head, Name } from "./controls";
import { BytesFigure, Figure } from "./Figure";

const LONGEST_NAME = 160, LONGEST_PATH = 400;

interface RowProps {
  live: Measure;
  /** What could be freed without it; of roots alone. */
  alone?: Measure;
  /** The longest bar. */
  most: number;
  level: number;
  kind?: string;
  children: ComponentChildren;
}

function Row({ live, alone, most, level, kind, children }: RowProps) {
  return (
    <tr class={kind}>
      <td class="name">{children}</td>
      <td class="number">
        <BytesFigure estimate={shownBytes(live)} level={level} />
      </td>
      <td class="interval">
        <Bar estimate={shownBytes(live)} most={most} showsLimits={true} />
      </td>
      <td class="number" data-label={alone && "freed without it"}>
        {alone && <BytesFigure estimate={shownBytes(alone)} level={level} />}
      </td>
    </tr>
  );
}

/** How much of its site it is; in samples where these are too few to say. */
export function Portion({ part }: { part: HeldPart }) {
  return part.in_samples === undefined ? <Figure parts={shareFigure(part.share)} /> : <>{part.in_samples}</>;
}

/** A site, and how much of it is held so. */
function Site({ held: { site, part }, text, level }: { held: Held; text: string; level: number }) {
  return (
    <>
      <Name text={elided(printable(site.text), LONGEST_NAME)} />
      <span class="detail-line">
        <Portion part={part} /> of its <BytesFigure estimate={shownBytes(site.live)} level={level} />,{" "}
        {elided(printable(text), LONGEST_PATH)}
      </span>
    </>
  );
}

function throughText({ path, others }: HeldPart): string {
  const through = path === undefined ? "directly" : `through ${path}`;
  return others === undefined ? through : `${through}; ${others}`;
}

interface Shown extends ViewProps {
  holders: Data;
  most: number;
}

/** A root, and below it on request the paths from it and the sites where these end. */
function Root(props: Shown & { root: HolderRoot; isFirst: boolean }) {
  const { holders, root, most, level } = props;
  const [isOpen, setOpen] = useState(props.isFirst);
  const held = isOpen ? partsOf(holders, ({ root: name }) => name === root.name) : [];
  return (
    <>
      <Row live={root.held} alone={root.alone} most={most} level={level}>
        <button class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span class="arrow" aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
          <Name text={elided(printable(root.text), LONGEST_NAME)} />
        </button>
      </Row>
      {held.map((one, i) => (
        <Row key={i} live={one.part.live} most={most} level={level} kind="below">
          <Site held={one} text={throughText(one.part)} level={level} />
        </Row>
      ))}
    </>
  );
}

function Table(props: { label: string; name: string; hasRoots?: boolean; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table class="data holders">
        <thead>
          <tr>
            <Head kind="name" label={props.name} />
            <Head kind="number" label="Bytes" />
            <Head kind="interval" label="Interval" />
            {props.hasRoots ? (
              <Head kind="number" label="Freed without it" title="What no other root holds" />
            ) : (
              <td />
            )}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}

/** Parts that no root is known to hold, each with its reason. */
function Unheld(props: Shown & { title: string; kind: string; held: Held[]; note: string }) {
  const { held, title, most, level } = props;
  if (held.length === 0) return null;
  return (
    <div class={`suspect ${props.kind}`}>
      <h2>{title}</h2>
      <Table label={title} name="Site">
        {held.map((one, i) => (
          <Row key={i} live={one.part.live} most={most} level={level}>
            <Site held={one} text={one.part.text} level={level} />
          </Row>
        ))}
      </Table>
      <p class="note">{props.note}</p>
    </div>
  );
}

export function Holders(props: ViewProps & { holders: Data }) {
  const { holders } = props;
  const { roots, sites } = holders;
  const bars = [...roots.map(({ held }) => held), ...sites.map(({ live }) => live)].map(shownBytes);
  const shown = { ...props, most: Math.max(0, ...bars.map(({ hi, value }) => hi ?? value)) };
  return (
    <section aria-label="Holders">
      <p class="say">
        <b>{elided(printable(holders.sentence), LONGEST_PATH)}</b> {holders.scanned}
      </p>
      {holders.faults.map((fault, i) => (
        <p key={i}>Not scanned to the end: {elided(printable(fault), LONGEST_PATH)}</p>
      ))}
      <Unheld
        {...shown}
        title="Unreachable"
        kind="unreachable"
        held={partsOf(holders, isUnreachable)}
        note="Strong evidence for a leak, not proof: pointers that are hidden (xored, compressed, only in registers) are not seen."
      />
      <Unheld
        {...shown}
        title="Only listed by CPython's collector"
        kind="listed"
        held={partsOf(holders, isListed)}
        note="Cycles that its next collection frees, or never where the program has called gc.disable()."
      />
      {roots.length > 0 && (
        <div class="suspect held">
          <h2>Held</h2>
          <Table label="Held" name="By" hasRoots={true}>
            {roots.map((root, i) => (
              <Root key={root.name} {...shown} root={root} isFirst={i === 0} />
            ))}
          </Table>
        </div>
      )}
      <Unheld
        {...shown}
        title="Undecided"
        kind="undecided"
        held={partsOf(holders, isUndecided)}
        note="Neither held nor unreachable, as far as the scans can tell."
      />
    </section>
  );
}
