// Small controls that several views use.
import type { ComponentChildren } from "preact";

/** One of a few. */
export function Choice<T extends string>(props: {
  name: string;
  chosen: T;
  choices: [T, string][];
  onChoose: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={props.name}>
      {props.choices.map(([value, label]) => (
        <button
          key={value}
          aria-pressed={value === props.chosen}
          onClick={() => props.onChoose(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

export function Switch(props: {
  label: string;
  isOn: boolean;
  title?: string;
  onChange: (isOn: boolean) => void;
}) {
  return (
    <label class="switch" title={props.title}>
      <input
        type="checkbox"
        checked={props.isOn}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}

/** Something chosen, with a button that takes it back. */
export function Chip(props: { children: ComponentChildren; onClear: () => void; label: string }) {
  return (
    <span class="chip">
      {props.children}
      <button aria-label={props.label} onClick={props.onClear}>
        ×
      </button>
    </span>
  );
}

/** Of functions, in all that is on the page. */
export function SearchInput(props: { value: string; onChange: (text: string) => void }) {
  return (
    <input
      id="search"
      type="search"
      placeholder="Search functions and files   /"
      aria-label="Search functions and files, a regular expression"
      value={props.value}
      onInput={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}

/** Keeps only the rows of a table that hold a text. `by`: what a row is, in the singular. */
export function Filter(props: { by: string; value: string; onChange: (text: string) => void }) {
  const label = `Filter ${props.by}s`;
  return (
    <input
      type="search"
      placeholder={label}
      aria-label={label}
      value={props.value}
      onInput={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
