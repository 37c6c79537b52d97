// What stands in a box: whole names, as many of a chain as fit.
import { describe, expect, it } from "vitest";
import { labelsOf, unqualified } from "../src/draw/painter";
import { joinedNames } from "../src/views/boxes";

/** Of a box alone in its row. */
const fitted = (names: string[], characters: number) => labelsOf([{ names, characters }])[0];

describe("labels of boxes", () => {
  it("drop outer frames, then qualifiers, then the end", () => {
    const chain = ["main", "Store::load", "vector<a::b>::resize"];
    expect(fitted(chain, 60)).toBe("main › Store::load › vector<a::b>::resize");
    expect(fitted(chain, 40)).toBe("… › Store::load › vector<a::b>::resize");
    expect(fitted(chain, 24)).toBe("… › vector<a::b>::resize");
    expect(fitted(chain, 20)).toBe("vector<a::b>::resize");
    expect(fitted(chain, 19)).toBe("resize");
    expect(fitted(chain, 5)).toBe("resi…");
    expect(fitted(["createEmbeddedString"], 10)).toBe("creat…ring");
    expect(fitted(["createEmbeddedString"], 9)).toBe("createEm…");
    expect(fitted(["createEmbeddedString"], 4)).toBe("cre…");
    expect(fitted(["createEmbeddedString"], 3)).toBe("");
    expect(fitted([], 40)).toBe("");
  });
  it("show an offset whole and with its library, or the library alone", () => {
    expect(fitted(["cc1plus+0x7f5356"], 16)).toBe("cc1plus+0x7f5356");
    expect(fitted(["cc1plus+0x7f5356"], 15)).toBe("cc1plus…");
    expect(fitted(["cc1plus+0x7f5356"], 6)).toBe("cc1pl…");
    expect(fitted(["cc1plus+0x7f5356"], 3)).toBe("");
  });
  it("show no cut name that stands for two functions of a row", () => {
    const row = (...names: string[]) => labelsOf(names.map((name) => ({ names: [name], characters: 10 })));
    expect(row("dictAddRawNow", "dictAnyRawNow")).toEqual(["dictAddRa…", "dictAnyRa…"]);
    const narrow = (...names: string[]) => labelsOf(names.map((name) => ({ names: [name], characters: 6 })));
    expect(narrow("dictAddRawNow", "dictAnyRawKey")).toEqual(["…awNow", "…awKey"]);
    expect(narrow("dictAddRawNow", "dictAnyRawNow")).toEqual(["", ""]);
    expect(narrow("libc.so+0x12", "libc.so+0x34")).toEqual(["libc.…", "libc.…"]);
    expect(row("dictAddRawNow", "dictFindByHash")).toEqual(["dictA…wNow", "dictF…Hash"]);
    expect(row("dictAddRawNow", "dictAddRawNow")).toEqual(["dictA…wNow", "dictA…wNow"]);
    expect(row("call", "call")).toEqual(["call", "call"]);
  });
  it("know where a qualifier ends", () => {
    expect(unqualified("a::b<c::d>::e(f::g)")).toBe("e(f::g)");
    expect(unqualified("main::{lambda}")).toBe("{lambda}");
    expect(unqualified("malloc")).toBe("malloc");
  });
  it("name a function once that calls itself", () => {
    const names = ["new", "new", "run", "new"];
    expect(joinedNames([0, 1, 2, 3], (node) => names[node]!)).toEqual(["new", "run", "new"]);
    expect(joinedNames([0, 1, 2, 3, 4, 5], String)).toEqual(["…", "2", "3", "4", "5"]);
  });
});
