// What resident memory consists of: an account whose lines add up.
import type { AccountLine } from "../data";
import { printable } from "../model/names";
import { figure, textOf } from "../numbers/arithmetic";
import { Bar } from "./Bar";
import type { ViewProps } from "./context";
import { Head } from "./controls";

/** Lines of an account are sums or differences: a limit without samples cannot be told from them. */
function textFor(line: AccountLine): string {
  const estimate = {
    value: line.bytes,
    lo: line.lo,
    hi: line.hi,
    variance: 0,
    samples: 1,
    exact: 0,
  };
  return textOf(figure(estimate, "bytes"));
}

export function Memory(props: ViewProps) {
  const lines = props.page.data.resident;
  if (lines.length === 0) {
    return (
      <p class="nothing">
        Resident memory was not observed: <code>geiger run</code> does that while the program runs.
      </p>
    );
  }
  const most = Math.max(...lines.map((line) => Math.max(line.hi, line.bytes)));
  return (
    <section aria-label="Memory">
      <p class="faint intro">
        Where the resident memory went, at its largest detailed reading. Indented lines are parts of the line above them.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Account of resident memory">
        <table class="data account">
          <thead>
            <tr>
              <Head kind="name" label="Part" />
              <Head kind="number" label="Bytes" />
              <Head kind="interval" label="Interval" />
            </tr>
          </thead>
          <tbody>
            {lines.map((line, i) => (
              <tr key={i} class={line.depth === 0 ? "sum" : ""}>
                <td class="name" style={{ paddingLeft: `${0.5 + 1.4 * line.depth}rem` }}>
                  {printable(line.name)}
                </td>
                <td class="number">{textFor(line)}</td>
                <td class="interval">
                  <Bar estimate={{ value: line.bytes, lo: line.lo, hi: line.hi }} most={most} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
