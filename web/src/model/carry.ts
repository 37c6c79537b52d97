// A state speaks of functions and names by number. When the page's data is replaced by newer data,
// the numbers may mean others: the state is carried over by what they mean.
import { fullName, moduleName, type Page } from "./page";
import type { Only } from "./selection";
import type { State } from "./state";

function functionKeys(page: Page): string[] {
  return Array.from(
    { length: page.functions },
    (_, i) => `${fullName(page, i)}\n${moduleName(page, i)}`,
  );
}

/** What of `state` speaks in numbers, in the numbers of `to`. */
export function carriedOver(state: State, from: Page, to: Page): Partial<State> {
  const part: Partial<State> = {};
  if (state.zoom.length > 0 || state.chosen.length > 0 || state.around >= 0) {
    const before = functionKeys(from);
    const after = new Map(functionKeys(to).map((key, i) => [key, i]));
    const of = (index: number) => after.get(before[index] ?? "") ?? -1;
    const pathOf = (path: number[]) => {
      const carried = path.map(of);
      const end = carried.indexOf(-1);
      return end < 0 ? carried : carried.slice(0, end);
    };
    part.zoom = pathOf(state.zoom);
    part.chosen = pathOf(state.chosen);
    part.around = of(state.around);
  }
  const only: Only = { ...state.only };
  for (const dimension of ["process", "thread", "type", "label"] as const) {
    const value = only[dimension];
    if (value === undefined || value < 0) continue;
    // A name that is gone selects nothing rather than something else.
    only[dimension] = to.data.names.indexOf(from.data.names[value] ?? "");
  }
  if (Object.keys(only).length > 0) part.only = only;
  return part;
}
