import { expect, test } from "vitest";
import { folds } from "../src/views/boundaries";

const crossing = (name: string, outside: string, inside: string, how: string) => ({ one: { name, outside, inside, how }, way: "in", more: 0 });

test("leaves of a tree that cross unchanged are one row", () => {
  const params = Array.from({ length: 5 }, (_, at) => crossing(`params['w${at}']`, "f32[4]", "f32[4]", "goes in"));
  const told = folds([...params, crossing("x", "f32[8]", "f32[]", "mapped over axis 0"), crossing("key", "key[]", "key[]", "goes in")]);
  expect(told.map((row) => [row.one.name, row.more])).toEqual([["params['w0']", 4], ["x", 0], ["key", 0]]);
});
