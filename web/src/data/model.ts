/** The report as the page sees it. Every key beyond the first version is optional: older reports open as well. */

export interface Place {
  path: string;
  line: number;
}

export interface WhyStep extends Place {
  text: string;
}

export interface Finding extends Place {
  id: string;
  rule: string;
  family: string;
  severity: string;
  column: number;
  end_line: number;
  end_column: number;
  message: string;
  current?: string;
  expected?: string;
  why?: WhyStep[];
  suggestion?: { text: string; edits?: unknown[] } | null;
  front_end?: string;
}

export interface Verdict extends Place {
  rule: string;
  family: string;
  reason: string;
}

export interface Transformation extends Place {
  id: number;
  parent: number | null;
  depth: number;
  root: string;
  transform: string;
  function: string;
  front_end: string;
  options?: Record<string, string>;
  traces?: { count: number; causes?: string[] } | null;
}

export interface Crossing {
  name: string;
  outside: string;
  inside: string;
  how: string;
  outside_axes?: string[];
  inside_axes?: string[];
}

export interface Boundary extends Place {
  root: string;
  transform: string;
  function: string;
  entries: Crossing[];
  exits: Crossing[];
  mapped?: string[];
}

export interface Tally {
  obligations: number;
  proved: number;
  violated: number;
  unknown: number;
}

export interface Coverage extends Tally {
  by_family: Record<string, Tally>;
  suppressed?: number;
  files: number;
  lines: number;
  functions: number;
  entered: number;
  traced?: number;
  skipped?: InFunction[];
  /** Places that make arrays, and how many of them have a known shape. */
  arrays?: number;
  shapes?: number;
  /** Functions that make arrays of which no shape is known. */
  shapeless?: InFunction[];
  /** Functions entered with arguments that runs and tests showed. */
  observed?: { path: string; line: number; function: string; arguments: string; text: string; changed?: boolean }[];
}

interface InFunction {
  path: string;
  line: number;
  function: string;
  reason: string;
}

export interface Station extends Place {
  kind: string;
  text: string;
  op?: string;
  value?: string;
  shape?: string;
  place?: number;
  step?: number | null;
  transformation?: number | null;
  count?: number;
  backward?: boolean;
}

export interface Axis {
  id: string;
  name: string;
  size: number | string;
  root: string;
  origin?: string;
  named_by?: string;
  aliases?: string[];
  factors?: string[];
  stations: Station[];
}

export interface Target {
  path: string;
  front_end: string;
  name?: string;
  line?: number;
}

export interface Report {
  schema_version: number;
  tool: { name: string; version: string };
  targets: Target[];
  transformation_stack: Transformation[];
  boundaries: Boundary[];
  issues: Finding[];
  warnings: Finding[];
  verified: Verdict[];
  unknown: Verdict[];
  coverage: Coverage;
  axes: Axis[];
  not_available: string[];
  left_out: string[];
  steps: number;
  /** Why each rule that speaks is worth listening to. */
  rules?: Record<string, string>;
}

export interface FlowValue {
  id: number;
  name: string;
  type: string;
  uses: number;
  axes?: string[];
  /** `range`, `meaning` and what else the analyses tell. */
  [fact: string]: unknown;
}

export interface FlowStep extends Place {
  root: string;
  function: string;
  depth: number;
  op: string;
  what: string;
  id: number;
  parent: number | null;
  branch: number;
  count: number;
  reads: number[];
  leaves: number[];
  makes: FlowValue[];
  enters: FlowValue[];
  takes?: string[];
  backward?: boolean;
  note?: string;
}

/** The flow of one root: its steps by id, and who makes which value. */
export interface FlowRoot {
  name: string;
  index: number;
  path: string;
  line: number;
  steps: FlowStep[];
}
