// What stands in a box: whole names, as many of a chain as fit.
import { describe, expect, it } from "vitest";
import { fitted, labelsOf, unqualified } from "../src/draw/painter";
import { joinedNames } from "../src/views/boxes";

describe("labels of boxes", () => {
  it("drop outer frames, then qualifiers, then the end", () => {
    const chain = ["main", "Store::load", "vector<a::b>::resize"];
    expect(fitted(chain, 60)).toBe("main › Store::load › vector<a::b>::resize");
    expect(fitted(chain, 40)).toBe("… › Store::load › vector<a::b>::resize");
    expect(fitted(chain, 24)).toBe("… › vector<a::b>::resize");
    expect(fitted(chain, 20)).toBe("vector<a::b>::resize");
    expect(fitted(chain, 19)).toBe("resize");
    expect(fitted(chain, 5)).toBe("");
    expect(fitted(["createEmbeddedString"], 10)).toBe("creat…ring");
    expect(fitted(["createEmbeddedString"], 9)).toBe("");
    expect(fitted([], 40)).toBe("");
  });
  it("show an offset whole or not at all", () => {
    expect(fitted(["cc1plus+0x7f5356"], 16)).toBe("cc1plus+0x7f5356");
    expect(fitted(["cc1plus+0x7f5356"], 9)).toBe("+0x7f5356");
    expect(fitted(["cc1plus+0x7f5356"], 8)).toBe("");
  });
  it("show no cut name that stands for two functions of a row", () => {
    const row = (...names: string[]) => labelsOf(names.map((name) => ({ names: [name], characters: 10 })));
    expect(row("dictAddRawNow", "dictAnyRawNow")).toEqual(["", ""]);
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
