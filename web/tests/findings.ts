// What pages say of whole profiles, and what they would find themselves if their documents did not
// say it: an array of JSON.
//
//   npx vite-node tests/findings.ts -- DOCUMENT...
import { readFileSync } from "node:fs";
import type { PageData } from "../src/data";
import { type Finding, findingOf } from "../src/model/finding";
import { foldedPage, pageOf } from "../src/model/page";
import { select } from "../src/model/selection";
import { finished } from "../src/model/slices";
import { loadArithmetic } from "../src/numbers/arithmetic";

await loadArithmetic();

function findings(data: PageData): Finding[] {
  const page = foldedPage(pageOf(data));
  return data.profiles.flatMap(({ cells }, profile) => {
    if (cells < 0) return [];
    return [finished(findingOf(select(page, { profile, window: undefined, only: {} }), data.level))];
  });
}

/** The names and shares of a sentence. */
const strong = ({ parts }: Finding) => parts.filter(({ tone }) => tone === "strong").map(({ text }) => text);
const text = ({ parts }: Finding) => parts.map((part) => part.text).join("");

const found = process.argv
  .slice(2)
  .filter((word) => word !== "--")
  .flatMap((path) => {
    const data = JSON.parse(readFileSync(path, "utf8")) as PageData;
    const profiles = data.profiles.map(({ finding: _, ...profile }) => profile);
    const searched = findings({ ...data, profiles });
    return findings(data).map((documented, i) => ({
      page: path,
      kind: documented.selected.profile.kind,
      verdict: documented.selected.profile.finding?.verdict,
      sentence: text(documented),
      documented: strong(documented),
      searched: strong(searched[i]!),
      searchedSentence: text(searched[i]!),
      hasPath: documented.path.length > 0,
    }));
  });
console.log(JSON.stringify(found));
