// The state lives in the address: a link shows what its sender saw, the back button goes back.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, type State, stateOf, textOfState } from "../model/state";

/** Typing and dragging change the address this often: browsers limit how often it may. */
const DELAY_MS = 250;

/** What is not in the address yet. */
interface Pending {
  timer: number;
  isStep: boolean;
}

/** `opening`: what the page begins with; the same at every call. */
export function useStateInAddress(opening: State): [State, Change] {
  const [state, setState] = useState(() => stateOf(location.hash, opening));
  const latest = useRef(state);
  const pending = useRef<Pending>();
  useEffect(() => {
    const listen = () => {
      latest.current = stateOf(location.hash, opening);
      setState(latest.current);
    };
    window.addEventListener("popstate", listen);
    window.addEventListener("hashchange", listen);
    return () => {
      window.removeEventListener("popstate", listen);
      window.removeEventListener("hashchange", listen);
    };
  }, []);
  const write = () => {
    if (!pending.current) return;
    const { timer, isStep } = pending.current;
    window.clearTimeout(timer);
    pending.current = undefined;
    const text = textOfState(latest.current, opening);
    if (text === location.hash.replace(/^#/, "")) return;
    if (isStep) history.pushState(null, "", `#${text}`);
    else history.replaceState(null, "", `#${text}`);
  };
  const change = (part: Partial<State>, isStep = false) => {
    // What was typed so far belongs to the step before.
    if (pending.current && (isStep || pending.current.isStep)) write();
    latest.current = { ...latest.current, ...part };
    setState(latest.current);
    window.clearTimeout(pending.current?.timer);
    // Even a step in a task of its own: the browser takes some milliseconds.
    pending.current = { isStep, timer: window.setTimeout(write, isStep ? 0 : DELAY_MS) };
  };
  return [state, change];
}
