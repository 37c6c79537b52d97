// What to change, and what that saves: what `geiger advise` says.
import type { Advise } from "../data";
import { elided, printable } from "../model/names";

const LONGEST_NAME = 200, LONGEST_TEXT = 600;

export function Advice({ advice }: { advice: Advise }) {
  return (
    <section aria-label="Advice">
      <p class="say">
        <b>{advice.sentence}</b>
      </p>
      {advice.items.map(({ site, todo, saving, callers, owner }, i) => (
        <div key={i} class="suspect held">
          <h2>
            <bdi>{elided(printable(site), LONGEST_NAME)}</bdi>
          </h2>
          <p>{elided(printable(todo), LONGEST_TEXT)}</p>
          <dl>
            <dt>Saves</dt>
            <dd>{saving}</dd>
            {callers !== "" && (
              <>
                <dt>Called by</dt>
                <dd>{elided(printable(callers), LONGEST_TEXT)}</dd>
              </>
            )}
            {owner !== undefined && (
              <>
                <dt>Mostly from</dt>
                <dd>{elided(printable(owner), LONGEST_TEXT)}</dd>
              </>
            )}
          </dl>
        </div>
      ))}
      {advice.other_allocators.map(({ name, todo, saving }, i) => (
        <div key={i} class="suspect held">
          <h2>
            <bdi>{elided(printable(name), LONGEST_NAME)}</bdi>
          </h2>
          <p>{elided(printable(todo), LONGEST_TEXT)}</p>
          <p>{saving}</p>
        </div>
      ))}
      {advice.notes.map((note, i) => (
        <p key={i} class="note">
          {elided(printable(note), LONGEST_TEXT)}
        </p>
      ))}
    </section>
  );
}
