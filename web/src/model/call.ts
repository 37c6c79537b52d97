// Calls out of own code, by the node that a stack ends in.
import { stackOf } from "./groups";
import { functionName, type Page, shortPlaceOf, shownNode } from "./page";

/** A call: own code, and what it called in a library. */
export interface Call {
  /** "SessionStore::open › vector<int>::resize". */
  name: string;
  /** What was called alone; the own function where nothing was. */
  called: string;
  /** Of the own code: "leaky.cc:11". */
  place: string;
  /** Functions from below the root to the own one. */
  path: number[];
  /** Names of the callers, the nearest first. */
  callers: string[];
}

/** `node`: of the document. */
export function callAt(page: Page, node: number): Call {
  const end = page.target[node]!;
  const own = shownNode(page, end);
  const path = stackOf(page, own);
  const names = path.map((of) => functionName(page, of));
  const called = functionName(page, page.functionOf[end]!);
  return {
    name: own === end ? called : `${names[0]} › ${called}`,
    called,
    place: shortPlaceOf(page, page.frame[own]!),
    path: path.reverse(),
    callers: names.slice(1),
  };
}
