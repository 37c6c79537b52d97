// The samples that a selection cannot decide about, and why, as in the headings of other reports.
import { doubtsText } from "../model/answers";
import { printable } from "../model/names";
import type { Page } from "../model/page";
import { boundBytes } from "../numbers/arithmetic";
import { openBytes, type Sums } from "../numbers/sums";

/** `doubts`: of the reader's filters; those of the command line are the page's. */
export function OpenNote(props: { page: Page; sums: Sums; doubts: number }) {
  const bytes = openBytes(props.sums);
  const reasons = [...(props.page.data.open ?? []).map(printable), ...doubtsText(props.doubts)];
  if (!(bytes > 0) || reasons.length === 0) return null;
  return (
    <p class="open-note" role="note">
      open, in upper limits only: {boundBytes(bytes)} of {reasons.join(", and ")}
    </p>
  );
}
