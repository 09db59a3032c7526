/**
 * The data flow as nested boxes. Only what is open becomes nodes: a folded box is one node, however much is inside, and
 * a long run of steps is cut into groups that are folded as well. Edges stay within one box: what comes from outside
 * enters it through a pill at its top, so every box can be laid out by itself.
 */
import type { FlowRoot, FlowStep, FlowValue } from "../data/model";

export type NodeKind = "step" | "box" | "group" | "in" | "out";

export interface GraphNode {
  id: string;
  kind: NodeKind;
  title: string;
  step?: FlowStep;
  values: FlowValue[];
  /** How many steps are inside. */
  inside: number;
  open: boolean;
  children: GraphNode[];
  edges: GraphEdge[];
  /** True where values come from around the box without being its arguments. */
  captured?: boolean;
}

export interface GraphEdge {
  id: string;
  from: string;
  to: string;
  values: FlowValue[];
}

/** What does not change while boxes open and close. */
export interface Outline {
  root: FlowRoot;
  steps: Map<number, FlowStep>;
  children: Map<number, FlowStep[]>;
  values: Map<number, FlowValue>;
  needs: Map<number, Set<number>>;
  sizes: Map<number, number>;
  results: number[];
  /** For a call whose body is told elsewhere, the first call of that body. */
  twins: Map<number, FlowStep>;
}

const TOP = -1;
const MOST = 48;
const PILLS = 8;
const RESIDUAL = "for the backward pass";

export function outline(root: FlowRoot): Outline {
  const made: Outline = {
    root, steps: new Map(root.steps.map((step) => [step.id, step])), children: new Map(), values: new Map(), needs: new Map(), sizes: new Map(), results: [],
    twins: new Map(),
  };
  for (const step of root.steps) {
    for (const value of step.makes) made.values.set(value.id, value);
    for (const value of step.enters) made.values.set(value.id, value);
    if (step.op === "leave" && step.depth === 0) made.results = step.reads;
    else if (step.depth > 0) push(made.children, step.parent ?? TOP, step);
  }
  for (let at = root.steps.length - 1; at >= 0; at--) measure(made, root.steps[at]);
  findTwins(made);
  return made;
}

/** A body that several calls share is told once; the others know it by the ids of what enters. */
function findTwins(made: Outline): void {
  const first = new Map<number, FlowStep>();
  for (const step of made.root.steps) {
    const [entered] = step.enters;
    if (!entered) continue;
    const known = first.get(entered.id);
    if (known && !made.children.has(step.id)) made.twins.set(step.id, known);
    else if (!known && made.children.has(step.id)) first.set(entered.id, step);
  }
}

/** Finds what a step takes from around it, its insides included; insides come after the step, so this runs backwards. */
function measure(made: Outline, step: FlowStep): void {
  const needs = new Set(step.reads);
  let size = 0;
  const inner = made.children.get(step.id) ?? [];
  if (inner.length) {
    const known = new Set(step.enters.map((value) => value.id));
    for (const child of inner) {
      for (const id of made.needs.get(child.id) ?? []) if (!known.has(id)) needs.add(id);
      for (const value of child.makes) known.add(value.id);
      size += 1 + (made.sizes.get(child.id) ?? 0);
    }
  }
  made.needs.set(step.id, needs);
  made.sizes.set(step.id, size);
}

export function buildGraph(made: Outline, open: ReadonlySet<string>): GraphNode {
  const [enter] = made.root.steps;
  const top = made.children.get(TOP) ?? [];
  const node: GraphNode = {
    id: "root", kind: "box", title: made.root.name, step: enter, values: [], inside: made.root.steps.length,
    open: true, children: [], edges: [],
  };
  fill(node, made, open, top, enter?.makes ?? [], made.results);
  return node;
}

function fill(
  node: GraphNode, made: Outline, open: ReadonlySet<string>, steps: FlowStep[], enters: FlowValue[], leaves: number[],
): void {
  const items = grouped(node, made, open, steps);
  const makers = new Map<number, GraphNode>();
  const pills = inputPills(node.id, enters);
  pills.forEach((pill) => pill.values.forEach((value) => makers.set(value.id, pill)));
  const captured = new Map<number, FlowValue>();
  const edges = new Map<string, GraphEdge>();
  const link = (value: number, to: GraphNode): void => {
    const from = makers.get(value);
    const known = made.values.get(value);
    if (!known || from === to) return;
    if (!from) {
      captured.set(value, known);
      return;
    }
    const id = `${from.id}>${to.id}`;
    const edge = edges.get(id);
    if (edge) edge.values.push(known);
    else edges.set(id, { id, from: from.id, to: to.id, values: [known] });
  };
  const wanted: [number, GraphNode][] = [];
  for (const [item, needs, makes] of items) {
    for (const value of needs) wanted.push([value, item]);
    for (const value of makes) makers.set(value, item);
  }
  const outs = outputPills(node.id, leaves, made);
  outs.forEach((pill) => pill.values.forEach((value) => wanted.push([value.id, pill])));
  // First pass tells what is captured; its pills then feed the second.
  wanted.forEach(([value, to]) => link(value, to));
  const outside = inputPills(`${node.id}-around`, [...captured.values()]).map((pill) => ({ ...pill, captured: true }));
  outside.forEach((pill) => pill.values.forEach((value) => makers.set(value.id, pill)));
  wanted.filter(([value]) => captured.has(value)).forEach(([value, to]) => link(value, to));
  const used = new Set([...edges.values()].flatMap((edge) => [edge.from, edge.to]));
  node.children = [...pills, ...outside, ...items.map(([item]) => item), ...outs.filter((pill) => used.has(pill.id))];
  node.edges = [...edges.values()];
}

type Item = [GraphNode, Iterable<number>, number[]];

function grouped(node: GraphNode, made: Outline, open: ReadonlySet<string>, steps: FlowStep[]): Item[] {
  const branches = new Set(steps.map((step) => step.branch));
  if (branches.size > 1) {
    return [...branches].map((branch) => {
      const inside = steps.filter((step) => step.branch === branch);
      return group(`${node.id}/b${branch}`, `branch ${branch}: ${inside[0].function}`, made, open, inside);
    });
  }
  if (steps.length <= MOST) return steps.map((step) => single(made, open, step));
  const size = Math.max(MOST - 8, Math.ceil(steps.length / MOST));
  const items: Item[] = [];
  for (let from = 0; from < steps.length; from += size) {
    const inside = steps.slice(from, from + size);
    const lines = inside.map((step) => step.line);
    const title = `lines ${Math.min(...lines)} to ${Math.max(...lines)}`;
    items.push(group(`${node.id}/${inside[0].id}`, title, made, open, inside));
  }
  return items;
}

function group(id: string, title: string, made: Outline, open: ReadonlySet<string>, steps: FlowStep[]): Item {
  const needs = new Set<number>();
  const makes: number[] = [];
  const known = new Set<number>();
  let inside = 0;
  for (const step of steps) {
    for (const value of made.needs.get(step.id) ?? []) if (!known.has(value)) needs.add(value);
    for (const value of step.makes) {
      known.add(value.id);
      makes.push(value.id);
    }
    inside += 1 + (made.sizes.get(step.id) ?? 0);
  }
  const node: GraphNode = {
    id, kind: "group", title, values: [], inside, open: open.has(id), children: [], edges: [],
  };
  if (node.open) fill(node, made, open, steps, [], []);
  return [node, needs, makes];
}

function single(made: Outline, open: ReadonlySet<string>, step: FlowStep): Item {
  const inner = made.children.get(step.id) ?? [];
  const id = stepId(step);
  const node: GraphNode = {
    id, kind: inner.length ? "box" : "step", title: titleOf(step, inner.length > 0), step, values: [...step.makes].sort((one, other) => Number(!!one.residual) - Number(!!other.residual)),
    inside: made.sizes.get(step.id) ?? 0, open: inner.length > 0 && open.has(id), children: [], edges: [],
  };
  if (node.open) fill(node, made, open, inner, step.enters, step.leaves);
  return [node, made.needs.get(step.id) ?? [], step.makes.map((value) => value.id)];
}

export function stepId(step: FlowStep): string {
  return `s${step.id}`;
}

/** What people look for: the names of what a step makes, and for a box what it calls. */
export function titleOf(step: FlowStep, box = false): string {
  const names = [...new Set(step.makes.map((value) => value.name).filter(Boolean))];
  if (box || !names.length) return step.what || step.op;
  return names.length > 2 ? `${names.slice(0, 2).join(", ")} +${names.length - 2}` : names.join(", ");
}

/** Gives the ids to open so that a step is in sight. */
export function pathTo(made: Outline, id: number): string[] {
  const path: string[] = [];
  for (let at: FlowStep | undefined = made.steps.get(id); at; ) {
    const parent: number | null = at.parent;
    const owner = parent === null ? "root" : `s${parent}`;
    const siblings = made.children.get(parent ?? TOP) ?? [];
    path.push(...groupAround(owner, siblings, at), owner);
    at = parent === null ? undefined : made.steps.get(parent);
  }
  return path;
}

function groupAround(owner: string, siblings: FlowStep[], step: FlowStep): string[] {
  const branches = new Set(siblings.map((one) => one.branch));
  const mine = branches.size > 1 ? siblings.filter((one) => one.branch === step.branch) : siblings;
  const holder = branches.size > 1 ? `${owner}/b${step.branch}` : owner;
  const path = branches.size > 1 ? [holder] : [];
  if (mine.length > MOST) {
    const size = Math.max(MOST - 8, Math.ceil(mine.length / MOST));
    const at = mine.indexOf(step);
    path.push(`${holder}/${mine[at - (at % size)].id}`);
  }
  return path;
}

function inputPills(owner: string, values: FlowValue[]): GraphNode[] {
  return pillsOf(`${owner}/in`, "in", values);
}

function outputPills(owner: string, leaves: number[], made: Outline): GraphNode[] {
  const values = [...new Set(leaves)].map((id) => made.values.get(id)).filter((value) => value !== undefined);
  return pillsOf(`${owner}/out`, "out", values);
}

/** Gives a pill for each value, or for each container where there are many: `params`, 24 arrays. */
function pillsOf(prefix: string, kind: "in" | "out", values: FlowValue[]): GraphNode[] {
  const groups = new Map<string, FlowValue[]>();
  const sizes = new Map<string, number>();
  for (const value of values) sizes.set(containerOf(value.name), (sizes.get(containerOf(value.name)) ?? 0) + 1);
  values.forEach((value, at) => {
    const container = value.residual ? RESIDUAL : containerOf(value.name);
    const together = values.length > PILLS || value.residual || (container && (sizes.get(container) ?? 0) >= 3);
    push(groups, together ? container : `${at}`, value);
  });
  let entries = [...groups.entries()];
  if (entries.length > 2 * PILLS) {
    const rest = entries.slice(2 * PILLS - 1).flatMap(([, inside]) => inside);
    entries = [...entries.slice(0, 2 * PILLS - 1), ["others", rest]];
  }
  return entries.map(([name, inside], at) => ({
    id: `${prefix}${at}`, kind, title: inside.length > 1 || name === RESIDUAL ? name || "unnamed" : inside[0].name || "unnamed", values: inside,
    inside: 0, open: false, children: [], edges: [],
  }));
}

export function containerOf(name: string): string {
  return /^[^.[]*/.exec(name)?.[0] ?? "";
}

function push<Key, Item>(map: Map<Key, Item[]>, key: Key, item: Item): void {
  const found = map.get(key);
  if (found) found.push(item);
  else map.set(key, [item]);
}
