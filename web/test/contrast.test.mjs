// Text must be readable in both themes: WCAG's 4.5 to 1 for every colour of text on every ground it stands on.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const css = readFileSync(new URL("../src/css/base.css", import.meta.url), "utf8");
const themes = { light: /:root \{(.*?)\n\}/s.exec(css)[1], dark: /\[data-theme="dark"\] \{(.*?)\n\}/s.exec(css)[1] };

function colours(block) {
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]));
}

function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const GROUNDS = ["paper", "panel", "sunk"];
const TEXTS = ["ink", "soft", "faint", "accent", "error", "performance", "warning", "proved", "map", "loop", "grad", "jit", "branch", "call"];
const AXES = Array.from({ length: 13 }, (_, at) => `axis-${at}`);
const TOKENS = ["keyword", "string", "comment", "number", "call"].map((name) => `tok-${name}`);
const CHIPS = ["map", "loop", "grad", "jit", "branch", "call", "error", "warning"];

test.each(Object.keys(themes))("the %s theme is readable", (theme) => {
  const known = colours(themes[theme]);
  const pairs = [...TEXTS, ...AXES, ...TOKENS].flatMap((text) => GROUNDS.map((ground) => [text, ground]));
  const chips = CHIPS.map((name) => [name, `${name}-soft`]);
  const weak = [...pairs, ...chips].map(([text, ground]) => [text, ground, contrast(known[text], known[ground])]).filter(([, , ratio]) => !(ratio >= 4.5));
  expect(weak.map(([text, ground, ratio]) => `${text} on ${ground}: ${ratio.toFixed(2)}`)).toEqual([]);
});
