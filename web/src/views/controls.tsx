// Small controls that several views use.
import type { ComponentChildren } from "preact";

/** A name that breaks between its parts, and not inside a word. */
export function Name({ text, title }: { text: string; title?: string }) {
  return <bdi title={title}>{text.split(/(?<=::|[/._,<(])/).flatMap((part) => [part, <wbr />])}</bdi>;
}

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

interface SearchFieldProps {
  id?: string;
  label: string;
  placeholder?: string;
  value: string;
  onChange: (text: string) => void;
}

export function SearchField({ id, label, placeholder = label, value, onChange }: SearchFieldProps) {
  return (
    <input
      id={id}
      type="search"
      placeholder={placeholder}
      aria-label={label}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** The head of a column that a table is not sorted by. */
export function Head(props: { label: string; kind?: string; title?: string | undefined }) {
  return (
    <th scope="col" class={props.kind} title={props.title}>
      {props.label}
    </th>
  );
}
