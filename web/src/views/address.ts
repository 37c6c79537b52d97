// The state lives in the address: a link shows what its sender saw, the back button goes back.
import { useEffect, useRef, useState } from "preact/hooks";
import { type State, stateOf, textOfState } from "../model/state";

/** Typing and dragging change the address this often: browsers limit how often it may. */
const DELAY_MS = 250;

export function useStateInAddress(): [State, (part: Partial<State>, isStep?: boolean) => void] {
  const [state, setState] = useState(() => stateOf(location.hash));
  const latest = useRef(state);
  const timer = useRef(0);
  useEffect(() => {
    const listen = () => {
      latest.current = stateOf(location.hash);
      setState(latest.current);
    };
    window.addEventListener("popstate", listen);
    window.addEventListener("hashchange", listen);
    return () => {
      window.removeEventListener("popstate", listen);
      window.removeEventListener("hashchange", listen);
    };
  }, []);
  const write = (isStep: boolean) => {
    window.clearTimeout(timer.current);
    timer.current = 0;
    const text = textOfState(latest.current);
    if (text === location.hash.replace(/^#/, "")) return;
    if (isStep) history.pushState(null, "", `#${text}`);
    else history.replaceState(null, "", `#${text}`);
  };
  const change = (part: Partial<State>, isStep = false) => {
    // What was typed so far belongs to the step before.
    if (isStep && timer.current) write(false);
    latest.current = { ...latest.current, ...part };
    setState(latest.current);
    if (isStep) return write(true);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => write(false), DELAY_MS);
  };
  return [state, change];
}
