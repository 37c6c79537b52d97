// What can be done with a frame: the menu of a right click, and the buttons of its detail.
import { useEffect, useRef } from "preact/hooks";
import { type FrameFilter, FILTERS } from "../model/filter";
import { fullName, shortPlaceOf } from "../model/page";
import type { CallTree } from "../model/tree";
import type { ViewProps } from "./context";

export interface Action {
  name: string;
  act: () => void;
}

/** A pattern that matches the text as it stands. */
function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Adds a function to those of a filter. */
function filtering({ page, state, change }: ViewProps, filter: FrameFilter, of: number): Action {
  const name = { hide: "Hide", focus: "Focus", ignore: "Ignore" }[filter];
  const pattern = `^${literally(fullName(page, of))}$`;
  const before = filter === "focus" ? "" : state[filter];
  const text = before === "" ? pattern : `${before}|${pattern}`;
  return { name, act: () => change({ [filter]: text, zoom: [], chosen: [] }, true) };
}

export function actionsFor(props: ViewProps, tree: CallTree, node: number): Action[] {
  const { page, change } = props;
  const of = tree.functions[node]!;
  const place = shortPlaceOf(page, tree.frame(node));
  const actions: Action[] = [
    { name: "Zoom in", act: () => change({ zoom: tree.path(node) }, true) },
    {
      name: "Callers and callees",
      act: () => change({ mode: "both", around: of, tab: "flame" }, true),
    },
    {
      name: "Copy name",
      act: () => void navigator.clipboard?.writeText(fullName(page, of)).catch(() => undefined),
    },
  ];
  if (place !== "") {
    const filter = literally(place.replace(/:\d+$/, ""));
    actions.push({ name: "Show in Lines", act: () => change({ tab: "lines", filter }, true) });
  }
  if (of >= 0) for (const filter of FILTERS) actions.push(filtering(props, filter, of));
  return actions;
}

export interface MenuAt {
  x: number;
  y: number;
  node: number;
}

/** Taller and wider than any: nearer to an edge it stands on the other side of the pointer. */
const [TALLEST, WIDEST] = [280, 220];

export function Menu(props: { at: MenuAt; actions: Action[]; onClose: () => void }) {
  const { at, actions, onClose } = props;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    (list.current!.firstElementChild as HTMLElement).focus();
    const close = (event: Event) => {
      if (!list.current?.contains(event.target as Node)) onClose();
    };
    window.addEventListener("pointerdown", close);
    window.addEventListener("scroll", onClose, { passive: true });
    return () => {
      window.removeEventListener("pointerdown", close);
      window.removeEventListener("scroll", onClose);
    };
  }, []);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") onClose();
    else if (step !== undefined) {
      const items = [...list.current!.children] as HTMLElement[];
      const now = items.indexOf(document.activeElement as HTMLElement);
      items[(now + step + items.length) % items.length]!.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const left = Math.min(at.x, window.innerWidth - WIDEST);
  const top = at.y + TALLEST > window.innerHeight ? at.y - TALLEST : at.y;
  return (
    <div
      class="menu"
      role="menu"
      aria-label="Of this frame"
      ref={list}
      onKeyDown={press}
      style={{ left: `${Math.max(0, left)}px`, top: `${Math.max(0, top)}px` }}
    >
      {actions.map(({ name, act }) => (
        <button
          key={name}
          role="menuitem"
          onClick={() => {
            onClose();
            act();
          }}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
