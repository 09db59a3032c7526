import { describe, expect, test } from "vitest";
import { unpack, unpackFlow, type Packed } from "../src/data/unpack";
import type { Axis } from "../src/data/model";
import { AxisBook, openBook, typeParts, typeString } from "../src/logic/axisbook";
import { Heights } from "../src/logic/heights";
import { insideStrings, tokens } from "../src/logic/python";
import { hashOf, parseRoute, type Route } from "../src/logic/route";
import { search, type Index } from "../src/logic/search";
import { subway } from "../src/logic/subway";
import { crop, prose, visible } from "../src/logic/text";

describe("text", () => {
  test("what a browser would obey is shown as a mark, one for one", () => {
    expect(visible("a\u202eb\u0000c\td")).toBe("a\ufffdb\ufffdc\td");
    expect(visible("plain ünïcode 漢字")).toBe("plain ünïcode 漢字");
  });
  test("names in backticks are set apart", () => {
    expect(prose("`x` is `y`")).toEqual([{ text: "x", name: true }, { text: " is ", name: false }, { text: "y", name: true }]);
  });
  test("long text is cut", () => expect(crop("abcdef", 4)).toBe("abc…"));
});

describe("routes", () => {
  const routes: Route[] = [
    { view: "issues" }, { view: "issues", finding: "12ab" }, { view: "warnings", finding: "9f" }, { view: "flow", root: 0, step: 12 }, { view: "flow", root: 3 },
    { view: "axes", axis: "train/NUM_STEPS*NUM_ENVS#2" }, { view: "source", path: "a b/ü%:x.py", line: 7 }, { view: "boundaries", boundary: 4 }, { view: "coverage" },
  ];
  test.each(routes)("%o survives the address", (route) => {
    expect(parseRoute(hashOf(route))).toEqual(expect.objectContaining(route));
  });
  test.each(["", "#nothing", "#%E0%A4%A", "#flow-x", "#issue-</script>"])("%s leads somewhere", (hash) => {
    expect(parseRoute(hash).view).toMatch(/issues|flow/);
  });
});

describe("packed data", () => {
  const packed: Packed = { length: 2, same: { a: 1 }, text: { b: [1, 0] }, plain: { c: [null, [1]] } };
  test("columns become records", () => {
    expect(unpack(packed, ["x", "y"])).toEqual([{ a: 1, b: "y", c: null }, { a: 1, b: "x", c: [1] }]);
  });
  test("steps get their values back, and roots begin where arguments enter", () => {
    const roots = unpackFlow({
      strings: ["f", "g"],
      steps: { length: 3, same: { path: "a.py", reads: [] }, text: { root: [0, 0, 1] }, plain: { depth: [0, 1, 0], op: ["enter", "array.map", "enter"], makes: [1, 0, 1], enters: [0, 1, 0], line: [1, 2, 3] } },
      values: { length: 3, same: {}, text: {}, plain: { id: [1, 2, 3] } },
    });
    expect(roots.map((root) => [root.name, root.steps.length])).toEqual([["f", 2], ["g", 1]]);
    expect(roots[0].steps[1].enters.map((value) => value.id)).toEqual([2]);
    expect(roots[1].steps[0].makes.map((value) => value.id)).toEqual([3]);
  });
});

describe("heights", () => {
  test("agree with adding up", () => {
    const own = Array.from({ length: 137 }, (_, at) => 10 + ((at * 7) % 13));
    const heights = new Heights(own);
    heights.set(40, 99);
    own[40] = 99;
    let top = 0;
    own.forEach((height, row) => {
      expect(heights.start(row)).toBe(top);
      expect(heights.at(top)).toBe(row);
      expect(heights.at(top + height - 1)).toBe(row);
      top += height;
    });
    expect(heights.total).toBe(top);
    expect(heights.at(top + 1000)).toBe(own.length - 1);
  });
  test("an empty list has no rows", () => expect(new Heights([]).total).toBe(0));
});

describe("colours of code", () => {
  test("tokens make up the line", () => {
    const line = '    x = jnp.sum(f"a{b}", axis=-1)  # total "quoted';
    expect(tokens(line).map((token) => token.text).join("")).toBe(line);
    expect(tokens("return x").map((token) => token.kind)).toEqual(["keyword", "", ""]);
  });
  test("docstrings go on over lines", () => expect(insideStrings(['"""a', "b", 'c"""', "d"])).toEqual([false, true, true, false]));
});

test("every word must occur, and titles come first", () => {
  const index = [["value", "obs", "f32[4]"], ["issue", "key is used again", "key-reused obs.py:3"]].map(([kind, title, detail]) => ({ kind, title, detail, hash: "", lower: `${title} ${detail}`.toLowerCase() })) as Index;
  expect(search(index, "obs").map((hit) => hit.title)).toEqual(["obs", "key is used again"]);
  expect(search(index, "key OBS").map((hit) => hit.title)).toEqual(["key is used again"]);
  expect(search(index, "  ")).toEqual([]);
});

const axis = (id: string, name: string, stations: [string, number | null][], rest: Partial<Axis> = {}): Axis => ({
  id, name, size: 8, root: "f", stations: stations.map(([kind, step]) => ({ kind, step, path: "a.py", line: 1 + (step ?? 0), text: kind })), ...rest,
});

describe("axes", () => {
  test("one name has one colour, and types show names", () => {
    openBook([axis("f/a", "envs", []), axis("g/a", "envs", []), axis("f/b", "", [])]);
    expect(typeString("f32[8,4,1]", ["f/a", "f/b", ""])).toBe("f32[envs=8, 4, 1]");
    expect(typeParts("f32[8]", ["f/a"])[1].axis).toBe("f/a");
    expect(typeString("f32[8,4]", ["f/a"])).toBe("f32[8,4]");
    const book = new AxisBook([axis("f/a", "envs", []), axis("g/a", "envs", [])]);
    expect(book.colour("f/a")).toBe(book.colour("g/a"));
    expect(book.colour("unknown")).toBe(0);
  });
  test("a mapped axis runs underground, and a column is used again", () => {
    const map = subway([
      axis("f/a", "envs", [["enters", null], ["vmapped", 1], ["collected", 1], ["returned", null]]),
      axis("f/b", "obs", [["enters", null], ["reduced", 1]]),
      axis("f/c", "late", [["made", 3], ["returned", null]]),
    ], undefined);
    expect(map.rows.map((row) => row.stops.length)).toEqual([2, 2, 1, 1, 2]);
    expect(map.lanes[0].styles.slice(0, 3)).toEqual(["plain", "under", "plain"]);
    expect(map.lanes[2].column).toBe(map.lanes[1].column);
    expect(map.columns).toBe(2);
  });
  test("a reshape joins lines", () => {
    const map = subway([
      axis("f/a", "time", [["enters", null], ["merged", 2]]), axis("f/b", "envs", [["enters", null], ["merged", 2]]),
      axis("f/c", "time*envs", [["made", 2], ["returned", null]], { factors: ["f/a", "f/b"] }),
    ], undefined);
    expect(map.joins.map((join) => [join.row, join.from, join.to])).toEqual([[1, "f/a", "f/c"], [1, "f/b", "f/c"]]);
  });
});
