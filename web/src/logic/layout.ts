/** Sizes of nodes, the form that ELK wants, and the drawing that comes back. */
import { typeString } from "./axisbook";
import type { GraphEdge, GraphNode } from "./graph";
import { crop, visible } from "./text";

export interface ElkNode {
  id: string;
  width?: number;
  height?: number;
  x?: number;
  y?: number;
  children?: ElkNode[];
  edges?: ElkEdge[];
  ports?: { id: string; width: number; height: number; layoutOptions: Record<string, string> }[];
  layoutOptions?: Record<string, string>;
}

interface Point {
  x: number;
  y: number;
}

interface ElkEdge {
  id: string;
  sources: string[];
  targets: string[];
  sections?: { startPoint: Point; endPoint: Point; bendPoints?: Point[] }[];
}

export interface DrawnNode {
  node: GraphNode;
  x: number;
  y: number;
  width: number;
  height: number;
  depth: number;
}

export interface DrawnEdge {
  edge: GraphEdge;
  path: string;
}

export interface Drawing {
  width: number;
  height: number;
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

const TITLE = 7.2;
const MONO = 6.65;
const WIDEST = 34;
export const HEADER = 34;

/** The text of a node, line by line: what stands in it decides how large it is. */
export function nodeLines(node: GraphNode): string[] {
  if (node.kind === "in" || node.kind === "out") {
    const [first] = node.values;
    return [node.values.length > 1 ? `${node.values.length} arrays` : first ? typeString(first.type, first.axes) : ""].filter(Boolean);
  }
  if (node.kind === "group" || (node.kind === "box" && node.values.length === 0)) return [];
  const own = node.values.filter((value) => !value.residual);
  const alone = node.kind === "step" && own.length === 1;
  return (own.length ? own : node.values).slice(0, 2).map((value) => {
    const more = own.length > 2 && value === own[1] ? ` +${own.length - 2}` : "";
    return `${value.name && !alone ? `${value.name}: ` : ""}${typeString(value.type, value.axes)}${more}`;
  });
}

export function nodeSize(node: GraphNode): { width: number; height: number } {
  const lines = nodeLines(node).map((line) => crop(visible(line), WIDEST));
  const pill = node.kind === "in" || node.kind === "out";
  const number = node.step && !pill ? String(node.step.line).length * MONO + 16 : 0;
  const title = crop(visible(node.title), 30).length * TITLE + number + (node.kind === "box" ? chipWidth(node) + 26 : 0);
  const caption = captionOf(node).length * 5.6;
  const text = Math.max(title, caption, ...lines.map((line) => line.length * MONO), node.kind === "group" ? 150 : 0);
  const width = Math.ceil(Math.max(pill ? 60 : 96, text) + 24);
  const extra = node.kind === "box" || node.kind === "group" ? 28 : captionOf(node) ? 16 : 0;
  return { width, height: pill ? 22 + 14 * lines.length : 28 + 16 * lines.length + extra };
}

/** What a step does, where its title is what it makes. */
export function captionOf(node: GraphNode): string {
  const what = node.kind === "step" ? (node.step?.what ?? "") : "";
  const shown = what === node.title ? "" : crop(visible(what), 40);
  return node.kind === "step" && node.step?.backward ? `backward  ${crop(shown, 30)}` : shown;
}

export function chipWidth(node: GraphNode): number {
  return chipOf(node).length * 6.4 + 14;
}

/** The word on the chip of a box: the transformation, or `call`. */
export function chipOf(node: GraphNode): string {
  const op = node.step?.op ?? "";
  if (node.id === "root") return "function";
  return op.startsWith("py.") ? (op === "py.call" ? "call" : op.slice(3)) : op;
}

const OPTIONS: Record<string, string> = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.layered.spacing.nodeNodeBetweenLayers": "34",
  "elk.spacing.nodeNode": "22",
  "elk.spacing.edgeNode": "14",
  "elk.spacing.edgeEdge": "10",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.padding": `[top=${HEADER + 12},left=16,bottom=16,right=16]`,
};

export function toElk(node: GraphNode): ElkNode {
  const constraint = node.kind === "in" ? "FIRST" : node.kind === "out" ? "LAST" : "";
  const own: Record<string, string> = constraint ? { "elk.layered.layering.layerConstraint": constraint } : {};
  // All that a node makes leaves it at one place; what it takes arrives side by side.
  const port = { id: `${node.id}:out`, width: 0, height: 0, layoutOptions: { "elk.port.side": "SOUTH" } };
  const fixed: Record<string, string> = { ...own, "elk.portConstraints": "FIXED_SIDE" };
  if (!node.open) return { id: node.id, ...nodeSize(node), ports: [port], layoutOptions: fixed };
  const { width } = nodeSize(node);
  return {
    id: node.id,
    ports: [port],
    layoutOptions: {
      ...OPTIONS, ...fixed, "elk.nodeSize.constraints": "MINIMUM_SIZE", "elk.nodeSize.minimum": `(${width},60)`,
    },
    children: node.children.map(toElk),
    edges: node.edges.map((edge) => ({ id: edge.id, sources: [`${edge.from}:out`], targets: [edge.to] })),
  };
}

export function toDrawing(root: GraphNode, laid: ElkNode): Drawing {
  const drawing: Drawing = { width: laid.width ?? 0, height: laid.height ?? 0, nodes: [], edges: [] };
  draw(root, laid, 0, 0, 0, drawing);
  return drawing;
}

function draw(node: GraphNode, laid: ElkNode, x: number, y: number, depth: number, drawing: Drawing): void {
  drawing.nodes.push({ node, x, y, width: laid.width ?? 0, height: laid.height ?? 0, depth });
  const edges = new Map(node.edges.map((edge) => [edge.id, edge]));
  for (const one of laid.edges ?? []) {
    const edge = edges.get(one.id);
    const [section] = one.sections ?? [];
    if (edge && section) {
      const points = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
      drawing.edges.push({ edge, path: rounded(points.map((point) => ({ x: point.x + x, y: point.y + y }))) });
    }
  }
  const children = new Map(node.children.map((child) => [child.id, child]));
  for (const inner of laid.children ?? []) {
    const child = children.get(inner.id);
    if (child) draw(child, inner, x + (inner.x ?? 0), y + (inner.y ?? 0), depth + 1, drawing);
  }
}

const RADIUS = 6;

/** Gives a path through points whose corners are round. */
export function rounded(points: Point[]): string {
  const [first] = points;
  let path = `M${first.x},${first.y}`;
  for (let at = 1; at < points.length - 1; at++) {
    const [before, here, after] = [points[at - 1], points[at], points[at + 1]];
    const start = towards(here, before);
    const end = towards(here, after);
    path += `L${start.x},${start.y}Q${here.x},${here.y} ${end.x},${end.y}`;
  }
  const last = points[points.length - 1];
  return `${path}L${last.x},${last.y}`;
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const step = Math.min(RADIUS, length / 2) / length;
  return { x: round(from.x + (to.x - from.x) * step), y: round(from.y + (to.y - from.y) * step) };
}

function round(number: number): number {
  return Math.round(number * 10) / 10;
}
