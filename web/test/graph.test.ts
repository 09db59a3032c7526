import { describe, expect, test } from "vitest";
import type { FlowRoot, FlowStep, FlowValue } from "../src/data/model";
import { buildGraph, containerOf, outline, pathTo, titleOf } from "../src/logic/graph";
import { rounded, toElk } from "../src/logic/layout";
import { visibleSteps } from "../src/views/flow-table";

const value = (id: number, name = `v${id}`): FlowValue => ({ id, name, type: "f32[2]", uses: 1 });

function step(id: number, parent: number | null, depth: number, rest: Partial<FlowStep>): FlowStep {
  return {
    id, parent, depth, root: "f", function: "f", path: "a.py", line: id, op: "array.map", what: `op${id}`, branch: 0, count: 1,
    reads: [], leaves: [], makes: [], enters: [], ...rest,
  };
}

/** x -> scan { c, t = c + outer } -> y, with `outer` taken from around the scan. */
const ROOT: FlowRoot = {
  name: "f", index: 0, path: "a.py", line: 1,
  steps: [
    step(0, null, 0, { op: "enter", makes: [value(1, "x")] }),
    step(1, null, 1, { makes: [value(2, "outer")], reads: [1] }),
    step(2, null, 1, { op: "scan", what: "body", reads: [1], makes: [value(3, "y")], enters: [value(4, "c")], leaves: [5] }),
    step(3, 2, 2, { reads: [4, 2], makes: [value(5, "t")] }),
    step(4, null, 0, { op: "leave", reads: [3] }),
  ],
};

describe("the graph", () => {
  test("folded boxes are one node and keep what is needed inside", () => {
    const graph = buildGraph(outline(ROOT), new Set());
    expect(graph.children.map((node) => node.kind)).toEqual(["in", "step", "box", "out"]);
    expect(graph.edges.map((edge) => edge.id).sort()).toEqual(["root/in0>s1", "root/in0>s2", "s1>s2", "s2>root/out0"]);
  });

  test("an open box takes its arguments and what it captures through pills", () => {
    const graph = buildGraph(outline(ROOT), new Set(["s2"]));
    const box = graph.children.find((node) => node.id === "s2");
    expect(box?.children.map((node) => [node.title, node.kind, node.captured ?? false])).toEqual([
      ["c", "in", false], ["outer", "in", true], ["t", "step", false], ["t", "out", false],
    ]);
    expect(box?.edges).toHaveLength(3);
  });

  test("no edge leaves its box, so every box can be laid out by itself", () => {
    const visit = (node: ReturnType<typeof toElk>): void => {
      const ids = new Set(node.children?.map((child) => child.id));
      for (const edge of node.edges ?? []) {
        expect(ids.has(edge.sources[0].replace(/:out$/, ""))).toBe(true);
        expect(ids.has(edge.targets[0])).toBe(true);
      }
      node.children?.forEach(visit);
    };
    visit(toElk(buildGraph(outline(ROOT), new Set(["s2"]))));
  });

  test("long runs are folded into groups, and the way to a step opens them", () => {
    const many: FlowRoot = { ...ROOT, steps: [ROOT.steps[0], ...Array.from({ length: 500 }, (_, at) => step(at + 1, null, 1, { reads: [1], makes: [value(at + 10)] }))] };
    const made = outline(many);
    expect(buildGraph(made, new Set()).children.length).toBeLessThan(60);
    const open = new Set(pathTo(made, 400));
    const ids = (node: ReturnType<typeof buildGraph>): string[] => [node.id, ...node.children.flatMap(ids)];
    expect(ids(buildGraph(made, open))).toContain("s400");
  });

  test("the bodies of a branch stay apart", () => {
    const root: FlowRoot = { ...ROOT, steps: [ROOT.steps[0], step(1, null, 1, { op: "cond", reads: [1], enters: [value(7)] }), step(2, 1, 2, { branch: 0 }), step(3, 1, 2, { branch: 1 })] };
    const box = buildGraph(outline(root), new Set(["s1"])).children.find((node) => node.id === "s1");
    expect(box?.children.filter((node) => node.kind === "group").map((node) => node.title)).toEqual(["branch 0: f", "branch 1: f"]);
    expect(pathTo(outline(root), 3)).toContain("s1/b1");
  });

  test("a hundred thousand steps are outlined without recursion", () => {
    const steps = [ROOT.steps[0]];
    for (let at = 1; at <= 100_000; at++) steps.push(step(at, at % 100 === 1 ? null : at - ((at - 1) % 100), at % 100 === 1 ? 1 : 2, { reads: [1], makes: [value(at + 10)] }));
    const made = outline({ ...ROOT, steps });
    expect(made.sizes.get(1)).toBe(99);
    expect(buildGraph(made, new Set()).children.length).toBeLessThan(100);
  });

  test("many leaves of one container share a pill", () => {
    const leaves = Array.from({ length: 12 }, (_, at) => value(100 + at, `params['w${at}']`));
    const root: FlowRoot = { ...ROOT, steps: [{ ...ROOT.steps[0], makes: [value(1, "x"), ...leaves] }, ...ROOT.steps.slice(1)] };
    expect(buildGraph(outline(root), new Set()).children.filter((node) => node.kind === "in").map((node) => node.title)).toEqual(["x", "params"]);
    expect(containerOf("state.params['a']")).toBe("state");
  });

  test("a body that two calls share is told at the first of them", () => {
    const again = step(4, null, 1, { op: "py.call", what: "body", reads: [3], makes: [value(9)], enters: [value(4, "c")], leaves: [5] });
    const made = outline({ ...ROOT, steps: [...ROOT.steps.slice(0, 4), again] });
    expect(made.twins.get(4)?.id).toBe(2);
    expect(made.twins.has(2)).toBe(false);
  });

  test("titles are the names of what is made", () => {
    expect(titleOf(step(1, null, 1, { makes: [value(1, "h"), value(2, "k"), value(3, "l")] }))).toBe("h, k +1");
    expect(titleOf(step(1, null, 1, { makes: [value(1, "")] }))).toBe("op1");
  });
});

test("corners are round", () => {
  expect(rounded([{ x: 0, y: 0 }, { x: 0, y: 20 }, { x: 20, y: 20 }])).toBe("M0,0L0,14Q0,20 6,20L20,20");
});

test("folded steps hide what is inside them", () => {
  const made = outline(ROOT);
  expect(visibleSteps(ROOT.steps, new Set(), made.children).map((one) => one.id)).toEqual([0, 1, 2, 4]);
  expect(visibleSteps(ROOT.steps, new Set([2]), made.children).map((one) => one.id)).toEqual([0, 1, 2, 3, 4]);
});
