// What every view needs.
import type { Finding } from "../model/finding";
import type { Change, State } from "../model/state";
import type { Page } from "../model/page";
import type { Search } from "../model/search";
import type { Selected } from "../model/selection";
import type { Palette } from "../draw/palette";

export interface ViewProps {
  page: Page;
  selected: Selected;
  state: State;
  change: Change;
  level: number;
  palette: Palette;
  found: Search | undefined;
  /** Of the selection; undefined while it is being worked out. */
  finding: Finding | undefined;
}
