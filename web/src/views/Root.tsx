// Loads the data, and again while a program is served; shows a message when there is none.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Source } from "../load";
import { type Page, pageOf } from "../model/page";
import { App } from "./App";

/** A server that does not answer is asked again after this. */
const RETRY_NS = 5e9;

export function Root(props: { source: Source }) {
  const { source } = props;
  const [page, setPage] = useState<Page>();
  const [problem, setProblem] = useState("");
  const [isPaused, setPaused] = useState(false);
  const paused = useRef(false);
  paused.current = isPaused;
  useEffect(() => {
    let timer = 0;
    let isOver = false;
    const again = (nanoseconds: number) => {
      if (!isOver) timer = window.setTimeout(step, nanoseconds / 1e6);
    };
    const step = async () => {
      if (paused.current) return again(1e9);
      try {
        const data = await source.load();
        if (isOver) return;
        setPage(pageOf(data));
        setProblem("");
        if (source.isServed && data.refresh) again(data.refresh);
      } catch (error) {
        setProblem((error as Error).message);
        if (source.isServed) again(RETRY_NS);
      }
    };
    void step();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [source]);
  return (
    <>
      {problem && (
        <p class="problem" role="alert">
          geiger: {problem}
        </p>
      )}
      {page && (
        <App
          page={page}
          isServed={source.isServed}
          isPaused={isPaused}
          onPause={() => setPaused(!isPaused)}
        />
      )}
    </>
  );
}
