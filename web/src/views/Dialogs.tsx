// Help, and what the page is made of.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { printable } from "../model/names";
import type { PageData } from "../data";

const KEYS: [string, string][] = [
  ["/", "search functions"],
  ["f  l", "flame graph, list of functions"],
  ["i", "root at the top or at the bottom"],
  ["c", "callees, callers, both"],
  ["h", "fold or show library code"],
  ["← ↑ ↓ →", "in the flame graph: neighbour, caller, callee"],
  ["Space", "choose the box: its detail is below the graph; also by a click"],
  ["Enter", "zoom into the box; also by a second click"],
  ["b", "callers and callees of the box; also by shift and click"],
  ["0", "zoom out"],
  ["Esc", "close, clear the search, zoom out, back to the finding"],
  ["d", "light or dark"],
  ["?", "this help"],
];

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current!.showModal(), []);
  return (
    <dialog
      ref={element}
      aria-labelledby="dialog-title"
      onClose={props.onClose}
      onClick={(event) => event.target === element.current && props.onClose()}
    >
      <h2 id="dialog-title">{props.title}</h2>
      {props.children}
      <button class="quiet" onClick={props.onClose}>
        Close
      </button>
    </dialog>
  );
}

export function Help(props: { onClose: () => void }) {
  return (
    <Dialog title="How to read this" onClose={props.onClose}>
      <ul>
        <li>
          <b>812 MiB ± 25</b>: estimated from samples. The interval contains the true value with the
          stated level.
        </li>
        <li>
          <b>512 KiB [16 B, 1.9 MiB]</b>: the same with its limits, where they are not symmetric.
        </li>
        <li>
          <b>&lt; 1.85 MiB</b>: no sample. Up to this much may be there.
        </li>
        <li>
          <b>~</b> in a table: this row and the next may be in the wrong order.
        </li>
        <li>
          <i class="swatch own" /> <i class="swatch own-pale" /> the dark part of a box or bar reaches
          the lower limit, the pale part the estimate; <i class="whisker" /> the whisker extends to the
          upper limit.
        </li>
        <li>
          <b>Filter frames</b>: hide leaves frames out of stacks and changes no total; focus shows only
          stacks with a matching frame, ignore only those without one.
        </li>
      </ul>
      <table class="keys">
        <tbody>
          {KEYS.map(([key, meaning]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}

export function About(props: { data: PageData; onClose: () => void }) {
  return (
    <Dialog title="About this page" onClose={props.onClose}>
      <p>
        Made by geiger {printable(props.data.version)}. It is self-contained and makes no network
        requests.
      </p>
      <p>
        It contains Preact (MIT, © Jason Miller) and uPlot (MIT, © Leon Sorokin); their licences are
        at the end of this page's source.
      </p>
    </Dialog>
  );
}
