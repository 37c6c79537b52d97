// Where a chart is zoomed to, and the ways back.
import { elided } from "../model/names";
import { functionName, type Page } from "../model/page";
import type { Change } from "../model/state";

const MOST_SHOWN = 6;
const LONGEST_NAME = 40;

interface BreadcrumbProps {
  page: Page;
  /** Functions from below the root to what fills the width. */
  path: number[];
  rootName: string;
  change: Change;
}

export function Breadcrumb({ page, path, rootName, change }: BreadcrumbProps) {
  if (path.length === 0) return null;
  const shown = path.length > MOST_SHOWN ? path.slice(1 - MOST_SHOWN) : path;
  const skipped = path.length - shown.length;
  return (
    <nav class="crumbs" aria-label="Zoom">
      <button onClick={() => change({ zoom: [] }, true)}>{rootName}</button>
      {skipped > 0 && <span class="faint"> › … {skipped} more</span>}
      {shown.map((of, i) => {
        const depth = skipped + i + 1;
        const name = <bdi>{elided(functionName(page, of), LONGEST_NAME)}</bdi>;
        return (
          <span key={depth}>
            <span class="faint"> › </span>
            {depth === path.length ? (
              <b>{name}</b>
            ) : (
              <button onClick={() => change({ zoom: path.slice(0, depth) }, true)}>{name}</button>
            )}
          </span>
        );
      })}
    </nav>
  );
}
