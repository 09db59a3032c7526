/** Search over everything that has a name; every word must occur, and earlier and shorter hits come first. */
import type { Report } from "../data/model";
import type { Store } from "../data/store";
import { hashOf } from "./route";

export interface Hit {
  kind: string;
  title: string;
  detail: string;
  hash: string;
}

interface Entry extends Hit {
  lower: string;
}

export type Index = Entry[];

export function buildIndex(store: Store): Index {
  const entries: Index = [];
  const add = (kind: string, title: string, detail: string, hash: string): void => {
    entries.push({ kind, title, detail, hash, lower: `${title} ${detail}`.toLowerCase() });
  };
  findings(store.report, add);
  for (const axis of store.report.axes) add("axis", axis.name || axis.origin || axis.id, `size ${axis.size} in ${axis.root}`, hashOf({ view: "axes", axis: axis.id }));
  for (const path of store.sources.keys()) add("file", path, "", hashOf({ view: "source", path }));
  store.report.boundaries.forEach((row, at) =>
    add("boundary", `${row.transform} ${row.function}`, `${row.path}:${row.line}`, hashOf({ view: "boundaries", boundary: at })),
  );
  for (const root of store.flow) {
    const seen = new Set<string>();
    for (const step of root.steps) {
      for (const value of step.makes) {
        const key = `${value.name} ${step.path}:${step.line}`;
        if (!value.name || seen.has(key)) continue;
        seen.add(key);
        add("value", value.name, `${value.type}  ${step.path}:${step.line}`, hashOf({ view: "flow", root: root.index, step: step.id }));
      }
      const name = `${step.op} ${step.what}`;
      if (step.enters.length && !seen.has(`${name} ${step.line}`)) {
        seen.add(`${name} ${step.line}`);
        add("step", step.what || step.op, `${step.op}  ${step.path}:${step.line}`, hashOf({ view: "flow", root: root.index, step: step.id }));
      }
    }
  }
  return entries;
}

function findings(report: Report, add: (kind: string, title: string, detail: string, hash: string) => void): void {
  for (const one of report.issues) add("issue", one.message, `${one.rule} ${one.path}:${one.line}`, hashOf({ view: "issues", finding: one.id }));
  for (const one of report.warnings) add("warning", one.message, `${one.rule} ${one.path}:${one.line}`, hashOf({ view: "warnings", finding: one.id }));
}

const ORDER = ["issue", "warning", "axis", "file", "boundary", "step", "value"];

export function search(index: Index, query: string, most = 40): Hit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found: { entry: Entry; score: number }[] = [];
  for (const entry of index) {
    if (!words.every((word) => entry.lower.includes(word))) continue;
    const title = entry.title.toLowerCase();
    const score = (title === words[0] ? 0 : title.startsWith(words[0]) ? 1 : title.includes(words[0]) ? 2 : 3) * 10 + ORDER.indexOf(entry.kind);
    found.push({ entry, score });
    if (found.length > 5000) break;
  }
  return found.sort((one, other) => one.score - other.score || one.entry.title.length - other.entry.title.length).slice(0, most).map(({ entry }) => entry);
}
