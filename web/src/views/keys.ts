// Keys of the page as a whole; the chart and the timeline have their own.
import { useEffect, useRef } from "preact/hooks";
import { type Change, MODES, type State } from "../model/state";

interface Actions {
  onTheme: () => void;
  onHelp: () => void;
  /** A dialog is open: keys are its own. */
  isOpen: boolean;
}

function escape(state: State, change: Change): void {
  if (state.search !== "") change({ search: "" });
  else if (state.zoom.length > 0) change({ zoom: [] }, true);
  else if (state.chosen.length > 0) change({ chosen: [] }, true);
  else if (state.window) change({ window: undefined }, true);
}

function act(key: string, state: State, change: Change, actions: Actions): boolean {
  switch (key) {
    case "/":
      document.getElementById("search")?.focus();
      return true;
    case "f":
      change({ tab: "flame" }, true);
      return true;
    case "l":
      change({ tab: "functions" }, true);
      return true;
    case "i":
      change({ isFlame: !state.isFlame }, true);
      return true;
    case "c":
      change({ mode: MODES[(MODES.indexOf(state.mode) + 1) % 3]!, zoom: [], chosen: [] }, true);
      return true;
    case "h":
      change({ showsAll: !state.showsAll, zoom: [], chosen: [] }, true);
      return true;
    case "0":
      change({ zoom: [] }, true);
      return true;
    case "d":
      actions.onTheme();
      return true;
    case "?":
      actions.onHelp();
      return true;
    case "Escape":
      escape(state, change);
      return true;
    default:
      return false;
  }
}

export function useKeys(state: State, change: Change, actions: Actions): void {
  const latest = useRef({ state, change, actions });
  latest.current = { state, change, actions };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const now = latest.current;
      if (event.ctrlKey || event.metaKey || event.altKey || now.actions.isOpen) return;
      const target = event.target as HTMLElement;
      const isTyping =
        /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) &&
        !(target instanceof HTMLInputElement && target.type === "checkbox");
      if (isTyping && event.key === "Escape") target.blur();
      if (isTyping && event.key !== "Escape") return;
      if (act(event.key, now.state, now.change, now.actions)) event.preventDefault();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}
