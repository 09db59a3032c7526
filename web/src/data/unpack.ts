/** Reads the blocks of data that the Python side wrote (`reports/html/pack.py`). */
import type { FlowRoot, FlowStep, FlowValue, Report, Verdict } from "./model";

export interface Packed {
  length: number;
  same: Record<string, unknown>;
  text: Record<string, number[]>;
  plain: Record<string, unknown[]>;
}

export function unpack<Row>(packed: Packed, strings: string[]): Row[] {
  const rows = new Array<Record<string, unknown>>(packed.length);
  for (let at = 0; at < packed.length; at++) rows[at] = { ...packed.same };
  for (const [key, column] of Object.entries(packed.text)) {
    for (let at = 0; at < packed.length; at++) rows[at][key] = strings[column[at]];
  }
  for (const [key, column] of Object.entries(packed.plain)) {
    for (let at = 0; at < packed.length; at++) rows[at][key] = column[at];
  }
  return rows as Row[];
}

export interface PackedFlow {
  steps: Packed;
  values: Packed;
  strings: string[];
}

/** Gives the flow of each root; a root starts where arguments enter at depth 0. */
export function unpackFlow(packed: PackedFlow): FlowRoot[] {
  const values = unpack<FlowValue>(packed.values, packed.strings);
  const steps = unpack<Omit<FlowStep, "makes" | "enters"> & { makes: number; enters: number }>(packed.steps, packed.strings);
  const roots: FlowRoot[] = [];
  let next = 0;
  for (const row of steps) {
    const made = values.slice(next, next + row.makes);
    const entered = values.slice(next + row.makes, next + row.makes + row.enters);
    next += row.makes + row.enters;
    const step = { ...row, makes: made, enters: entered } as unknown as FlowStep;
    if (step.depth === 0 && step.op === "enter") {
      roots.push({ name: step.root, index: roots.length, path: step.path, line: step.line, steps: [] });
    }
    roots.at(-1)?.steps.push(step);
  }
  return roots;
}

type Raw = Omit<Report, "verified" | "unknown"> & {
  verified: Packed;
  unknown: Packed;
  strings: string[];
};

export function unpackReport(raw: Raw): Report {
  return {
    ...raw,
    verified: unpack<Verdict>(raw.verified, raw.strings),
    unknown: unpack<Verdict>(raw.unknown, raw.strings),
    axes: raw.axes ?? [],
    boundaries: raw.boundaries ?? [],
    transformation_stack: raw.transformation_stack ?? [],
    not_available: raw.not_available ?? [],
    left_out: raw.left_out ?? [],
  };
}

export function readReport(): Report {
  return unpackReport(JSON.parse(block("data-report")) as Raw);
}

/** Unpacks a compressed block. It is large, so nothing waits for it that does not need it. */
export async function readBlock(id: string): Promise<string> {
  const bytes = Uint8Array.from(atob(block(id)), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function block(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}
