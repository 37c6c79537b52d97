// What `geiger holders` says, seen from what holds and from functions.
import type { HeldPart, HeldSite, Holders } from "../data";
import { shownBytes } from "./measure";
import { isCurveOf, type Page } from "./page";

/** A part of what was live of a site. */
export interface Held {
  site: HeldSite;
  part: HeldPart;
}

/** Parts of all sites, the largest first. */
export function partsOf({ sites }: Holders, isWanted: (part: HeldPart) => boolean): Held[] {
  const found = sites.flatMap((site) => site.parts.filter(isWanted).map((part) => ({ site, part })));
  return found.sort((a, b) => shownBytes(b.part.live).value - shownBytes(a.part.live).value);
}

export function isUnreachable({ hold }: HeldPart): boolean {
  return hold === "unreferenced" || hold === "unreachable";
}

/** By CPython's collector alone. */
export function isListed({ hold }: HeldPart): boolean {
  return hold === "listed";
}

export function isUndecided(part: HeldPart): boolean {
  return part.hold !== "reached" && !isUnreachable(part) && !isListed(part);
}

/** The site that is a function. */
export function heldSiteOf(page: Page, of: number): HeldSite | undefined {
  return page.data.holders?.sites.find(({ name, detail }) =>
    isCurveOf(page, { name: detail === "" ? name : `${name} (${detail})` }, of),
  );
}
