// The tables: a row per function, stack, module ... with its interval drawn beside its number.
import type { Groups } from "../model/groups";
import { countedOf } from "../model/finding";
import { columnsOf, csvOf, type Line, linesOf, type Sort } from "../model/lines";
import { exactCount, objectsFigure, shareFigure } from "../numbers/arithmetic";
import { Bar } from "./Bar";
import type { ViewProps } from "./context";
import { Figure, objectsText } from "./Figure";
import { Busy } from "./Kept";
import { useSteps } from "./slices";
import {
  BytesCell,
  capitalized,
  HeadCell,
  NameCell,
  PAGE_ROWS,
  TableFrame,
  usePaging,
} from "./TableFrame";

export interface TableProps extends ViewProps {
  groups: Groups;
  /** What a row is: "function". */
  by: string;
  /** What a click on the row of a key does. */
  onRow: ((key: number) => void) | undefined;
  rowHint?: string;
}

function sortOf({ state, groups }: TableProps): Sort {
  const { sort } = state;
  if (sort === "samples" || sort === "name") return sort;
  return sort === "total" && groups.total ? "total" : "self";
}

/** Of mappings the ranges are counted already. */
function hasObjects({ groups }: TableProps): boolean {
  return countedOf(groups.selected.profile.kind) === "sample";
}

function Head(props: TableProps & { sort: Sort }) {
  const { change, sort } = props;
  const { isAscending } = props.state;
  const order = { sort, isAscending, change };
  const head = (name: string, kind: string, by?: Sort) => {
    const column = columnsOf(props.groups).find((one) => one.name === name);
    const heading = name === "samples" ? `${countedOf(props.groups.selected.profile.kind)}s` : column?.heading;
    const of = column && { label: capitalized(heading!), title: column.meaning, kind };
    return of && <HeadCell {...order} {...of} by={by} />;
  };
  return (
    <>
      {head("self", "number", "self")}
      {head("total", "number", "total")}
      <HeadCell {...order} label="Interval" kind="interval" />
      {head("share", "number share")}
      {hasObjects(props) && <HeadCell {...order} label="Objects" kind="number objects" />}
      {head("samples", "number samples", "samples")}
      <HeadCell {...order} by="name" label={capitalized(props.by)} kind="name" />
    </>
  );
}

interface RowProps {
  line: Line;
  most: number;
  level: number;
  hasObjects: boolean;
  onRow: ((key: number) => void) | undefined;
  hint: string | undefined;
}

function Row({ line, most, level, hasObjects, onRow, hint }: RowProps) {
  return (
    <tr>
      <BytesCell estimate={line.self} level={level} />
      {line.total && <BytesCell estimate={line.total} level={level} kind="total" label="with callees" />}
      <td class="interval">
        <Bar estimate={line.shown} most={most} />
      </td>
      <td class="number share" data-label="share">
        <Figure parts={shareFigure(line.share)} />
      </td>
      {hasObjects && (
        <td class="number objects" data-label="objects">
          <Figure
            parts={objectsFigure(line.shown, line.objects)}
            title={objectsText(line.shown, line.objects, line.certain, level)}
          />
        </td>
      )}
      <td class="number samples" data-label={hasObjects ? "samples" : "ranges"}>{exactCount(line.samples)}</td>
      <NameCell
        name={line.name}
        detail={line.detail}
        onClick={onRow && (() => onRow(line.key))}
        hint={hint}
      >
        {line.isOpen && (
          <span
            class="open"
            title="Order uncertain: its interval and that of the next row overlap."
            aria-label="order uncertain"
          >
            ~
          </span>
        )}
      </NameCell>
    </tr>
  );
}

export function Table(props: TableProps) {
  const { page, groups, state, change, level, by } = props;
  const { filter, isAscending } = state;
  const sort = sortOf(props);
  const paging = usePaging([groups, filter, sort, isAscending]);
  const made = useSteps(
    () => linesOf({ groups, filter, sort, isAscending, level }, paging.first, PAGE_ROWS),
    [page, groups, filter, sort, isAscending, paging.first],
  );
  if (!made.value) return <Busy />;
  const { lines, rows, all, first } = made.value;
  const most = Math.max(0, ...lines.map((line) => line.shown.hi));
  return (
    <>
      <TableFrame
        by={by}
        label={`Table by ${by}`}
        filter={filter}
        change={change}
        rows={rows.length}
        of={all}
        paging={{ ...paging, first }}
        isBusy={made.isBusy}
        csv={(onMade) => csvOf(made.value!, by, onMade)}
        head={<Head {...props} sort={sort} />}
      >
        {lines.map((line, i) => (
          // Keyed by place: another order changes text, and makes no elements.
          <Row
            key={i}
            line={line}
            most={most}
            level={level}
            hasObjects={hasObjects(props)}
            onRow={props.onRow}
            hint={props.rowHint}
          />
        ))}
      </TableFrame>
      {lines.some((line) => line.isOpen) && (
        <p class="note">~ order uncertain: its interval and that of the next row overlap.</p>
      )}
    </>
  );
}
