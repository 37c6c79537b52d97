// Page data of a program of whose stacks, threads and types not everything is known.
import { FrameFlag, type PageData } from "../src/data";
import { fixture, whole } from "./fixture";

/** A stack of each kind, of 1, 2, 4 ... samples, in the order of `ends`. */
export const ends = ["solver", "cut parser", "no stack", "unnamed", "runtime", "smaller ones", "other"];

export function doubtful(): PageData {
  const data = fixture({ nodes: 2 });
  const names: string[] = [];
  const at = (name: string) => names.indexOf(name) < 0 ? names.push(name) - 1 : names.indexOf(name);
  const frames: PageData["frames"] = { name: [], module: [], file: [], line: [], flags: [] };
  const frame = (name: string, flags = 0, module = "deep") => {
    frames.name.push(at(name));
    frames.module.push(module === "" ? -1 : at(module));
    frames.file.push(-1);
    frames.line.push(0);
    frames.flags.push(flags);
    return frames.name.length - 1;
  };
  const parents = [0];
  const of = [frame("", FrameFlag.Remark, "")];
  const node = (parent: number, frame: number) => (parents.push(parent), of.push(frame) - 1);
  const remark = FrameFlag.Remark | FrameFlag.Cut;
  const main = node(0, frame("main"));
  const solver = node(main, frame("from_solver"));
  const cut = node(node(0, frame("[truncated]", remark, "")), frame("from_parser"));
  const lost = node(0, frame("[no stack]", remark, ""));
  const unnamed = node(main, frame("deep+0x10", FrameFlag.Unknown));
  const runtime = node(main, frame("libc+0x20", FrameFlag.Unknown | FrameFlag.Runtime, "libc.so.6"));
  const rest = node(solver, frame("[smaller ones]", remark, ""));
  const other = node(main, frame("other"));
  const leaves = [solver, cut, lost, unnamed, runtime, rest, other];
  const order = leaves.map((_, i) => i).sort((a, b) => leaves[a]! - leaves[b]!);
  const cells = data.cells[0]!;
  const threads = ["io", "main, then io", "other thread"].map(at);
  const types = ["[unknown]", "Row"].map(at);
  const counted = {
    ...cells,
    node: order.map((i) => leaves[i]!),
    count: order.map((i) => 2 ** i),
    stratum: order.map(() => 0),
    process: [],
    label: [],
    thread: order.map((i) => threads[i % 3]!),
    type: order.map((i) => types[i % 2]!),
    born: order.map(() => 0),
    died: order.map(() => -1),
  };
  return {
    ...data,
    names,
    frames,
    nodes: { up: parents.map((parent, i) => i - parent), frame: of },
    unknownType: types[0]!,
    mayBe: { thread: [threads[1]!, threads[1]!], other: [at("io"), at("main")] },
    cells: [counted],
    profiles: data.profiles.map((profile) => ({ ...profile, ...whole(counted, () => true) })),
  };
}
