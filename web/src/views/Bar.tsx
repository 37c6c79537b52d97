// A value as a bar with its interval as a whisker, to a common scale.
interface Limits {
  value: number;
  lo: number;
  hi: number;
}

export function Bar(props: { estimate: Limits; most: number }) {
  const { value, lo, hi } = props.estimate;
  const at = (bytes: number) =>
    props.most > 0 ? Math.min(100, Math.max(0, (100 * bytes) / props.most)) : 0;
  return (
    <span class="bar" aria-hidden="true">
      <span class="bar-value" style={{ width: `${at(value)}%` }} />
      {hi > lo && (
        <span class="bar-limits" style={{ left: `${at(lo)}%`, width: `${at(hi) - at(lo)}%` }} />
      )}
    </span>
  );
}
