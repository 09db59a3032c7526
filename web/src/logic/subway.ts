/**
 * The axis map: each axis is a line, each thing that happens to it a station, in the order of the program. Inside a
 * `vmap` that took it away an axis runs underground; inside a scan over it, it is read turn by turn.
 */
import type { Axis, FlowStep, Station } from "../data/model";
import type { Outline } from "./graph";

export interface Stop {
  axis: Axis;
  station: Station;
}

export interface Row {
  order: number;
  path: string;
  line: number;
  stops: Stop[];
  /** The transformations around it, outermost first. */
  bands: Band[];
  /** The transformations that begin or end in this row. */
  begins: Band[];
  ends: Band[];
}

export interface Band {
  key: number;
  transform: string;
  function: string;
  from: number;
  to: number;
  depth: number;
}

export type Style = "plain" | "under" | "loop";

export interface Lane {
  axis: Axis;
  column: number;
  first: number;
  last: number;
  /** How it runs from each of its rows to the next. */
  styles: Style[];
}

export interface Join {
  row: number;
  from: string;
  to: string;
}

export interface Subway {
  rows: Row[];
  lanes: Lane[];
  joins: Join[];
  columns: number;
}

const AFTER = new Set(["collected", "stacked"]);
const UNDER = new Set(["vmapped", "sharded"]);
const TRANSFORMS = /^(vmap|pmap|shard_map|scan|map|fori|while|grad|vjp|jvp|jit|cond|checkpoint|custom_jvp|custom_vjp)$/;

export function subway(axes: Axis[], outline: Outline | undefined): Subway {
  const rows = rowsOf(axes, outline);
  const at = new Map<Stop["station"], number>();
  rows.forEach((row, number) => row.stops.forEach((stop) => at.set(stop.station, number)));
  const lanes = axes.filter((axis) => axis.stations.length).map((axis) => laneOf(axis, rows, at, outline));
  return { rows, lanes, joins: joinsOf(lanes, rows), columns: columnsOf(lanes) };
}

function endOf(step: number, outline: Outline | undefined): number {
  // Where the last step of an outer one is an inner one, the inner one ends first.
  const depth = outline?.steps.get(step)?.depth ?? 0;
  return step + (outline?.sizes.get(step) ?? 0) + 0.5 - depth / 10_000;
}

/** Gives the step of a station; where the report does not name it, the first one of its line. */
function stepOf(station: Station, outline: Outline | undefined): number | undefined {
  if (station.step !== null && station.step !== undefined) return station.step;
  return outline?.root.steps.find((step) => step.depth > 0 && step.line === station.line && step.path === station.path)?.id;
}

function orderOf(station: Station, outline: Outline | undefined): number {
  const step = stepOf(station, outline);
  if (station.kind === "enters" && !step && !station.op) return -1;
  if (station.kind === "returned") return Number.MAX_SAFE_INTEGER;
  // Without a step there is still the line; what goes back up stands below what went down.
  if (step === undefined) return station.line + (AFTER.has(station.kind) ? 0.5 : 0);
  return AFTER.has(station.kind) ? endOf(step, outline) : step;
}

function rowsOf(axes: Axis[], outline: Outline | undefined): Row[] {
  const rows = new Map<string, Row>();
  for (const axis of axes) {
    for (const station of axis.stations) {
      const order = orderOf(station, outline);
      const key = order < 0 ? "start" : order === Number.MAX_SAFE_INTEGER ? "end" : `${order}:${station.path}:${station.line}`;
      const row = rows.get(key) ?? newRow(station, order, outline);
      row.stops.push({ axis, station });
      rows.set(key, row);
    }
  }
  return [...rows.values()].sort((one, other) => one.order - other.order || one.line - other.line);
}

function newRow(station: Station, order: number, outline: Outline | undefined): Row {
  const row: Row = { order, path: station.path, line: station.line, stops: [], bands: [], begins: [], ends: [] };
  const steps = outline?.steps;
  const own = steps?.get(stepOf(station, outline) ?? -1);
  if (!steps || !own || order < 0) return row;
  const around: FlowStep[] = [];
  for (let at = up(own, steps); at; at = up(at, steps)) if (TRANSFORMS.test(at.op)) around.unshift(at);
  const band = (step: FlowStep, depth: number): Band => ({
    key: step.id, transform: step.op, function: step.what, from: step.id, to: endOf(step.id, outline), depth,
  });
  row.bands = around.map(band);
  if (TRANSFORMS.test(own.op)) (AFTER.has(station.kind) ? row.ends : row.begins).push(band(own, around.length));
  return row;
}

function up(step: FlowStep, steps: Map<number, FlowStep>): FlowStep | undefined {
  return step.parent === null ? undefined : steps.get(step.parent);
}

function laneOf(axis: Axis, rows: Row[], at: Map<Station, number>, outline: Outline | undefined): Lane {
  const stops = axis.stations.map((station) => at.get(station) ?? 0);
  const first = Math.min(...stops);
  const last = Math.max(...stops);
  const styles = new Array<Style>(last - first + 1).fill("plain");
  for (const station of axis.stations) {
    if (station.kind !== "scanned" && !UNDER.has(station.kind)) continue;
    const step = stepOf(station, outline);
    const end = step === undefined ? station.line + 0.5 : endOf(step, outline);
    for (let row = at.get(station) ?? first; row < last && rows[row + 1].order <= end; row++) {
      styles[row - first] = station.kind === "scanned" ? "loop" : "under";
    }
  }
  return { axis, column: 0, first, last, styles };
}

/** Gives lanes their columns: a column is used again when its line has ended. */
function columnsOf(lanes: Lane[]): number {
  const free: number[] = [];
  const ordered = [...lanes].sort((one, other) => one.first - other.first || Number(!one.axis.name) - Number(!other.axis.name));
  for (const lane of ordered) {
    const column = free.findIndex((until) => until < lane.first);
    lane.column = column < 0 ? free.length : column;
    free[lane.column] = lane.last;
  }
  return free.length;
}

function joinsOf(lanes: Lane[], rows: Row[]): Join[] {
  const known = new Map(lanes.map((lane) => [lane.axis.id, lane]));
  const joins: Join[] = [];
  for (const lane of lanes) {
    for (const part of lane.axis.factors ?? []) {
      const from = known.get(part);
      const row = from && rows.findIndex((one, at) => at >= from.first && one.stops.some((stop) => stop.axis === from.axis && stop.station.kind === "merged"));
      if (from && row !== undefined && row >= 0) {
        joins.push({ row, from: part, to: lane.axis.id });
        lane.first = Math.min(lane.first, row);
        while (lane.styles.length < lane.last - lane.first + 1) lane.styles.unshift("plain");
      }
    }
  }
  rows.forEach((row, at) => {
    const splits = row.stops.filter((stop) => stop.station.kind === "split");
    const made = row.stops.filter((stop) => stop.station.kind === "made");
    for (const whole of splits) {
      for (const part of made) joins.push({ row: at, from: whole.axis.id, to: part.axis.id });
    }
  });
  return joins;
}
