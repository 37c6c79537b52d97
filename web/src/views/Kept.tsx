// What was made last stays in view until what takes its place is there, and may not be taken for it.
import type { ComponentChildren } from "preact";

/** Appears where it takes long enough to be noticed. */
export function Busy() {
  return (
    <p class="busy" role="status">
      Adding up …
    </p>
  );
}

/** `isBusy`: the children are of what was asked for before. */
export function Kept(props: { isBusy: boolean; children: ComponentChildren }) {
  return (
    <div class="kept" aria-busy={props.isBusy}>
      {props.children}
      {props.isBusy && <Busy />}
    </div>
  );
}
