/** What is read once and asked for everywhere: the report, the flow, the files, and the ways between them. */
import type { FlowRoot, FlowStep, Report } from "./model";
import { readBlock, readReport, unpackFlow, type PackedFlow } from "./unpack";

export interface StepAt {
  root: number;
  step: FlowStep;
}

export interface Store {
  report: Report;
  flow: FlowRoot[];
  sources: Map<string, string[]>;
  /** The steps of each line, by `path:line`. */
  at: Map<string, StepAt[]>;
  ready: boolean;
}

export function emptyStore(): Store {
  return { report: readReport(), flow: [], sources: new Map(), at: new Map(), ready: false };
}

export async function fillStore(store: Store): Promise<Store> {
  const [flow, sources] = await Promise.all([readBlock("data-flow"), readBlock("data-sources")]);
  const roots = unpackFlow(JSON.parse(flow) as PackedFlow);
  return { ...store, flow: roots, sources: lines(JSON.parse(sources)), at: stepsByLine(roots), ready: true };
}

export function stepsByLine(roots: FlowRoot[]): Map<string, StepAt[]> {
  const at = new Map<string, StepAt[]>();
  for (const root of roots) {
    for (const step of root.steps) {
      if (step.op === "leave" || step.op === "more") continue;
      const key = `${step.path}:${step.line}`;
      const found = at.get(key);
      if (found) found.push({ root: root.index, step });
      else at.set(key, [{ root: root.index, step }]);
    }
  }
  return at;
}

function lines(texts: Record<string, string>): Map<string, string[]> {
  return new Map(Object.entries(texts).map(([path, text]) => [path, text.split(/\r\n|\r|\n/)]));
}
