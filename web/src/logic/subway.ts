/**
 * The axis map: each axis is a line, each thing that happens to it a station, in the order of the program. Inside a
 * `vmap` that took it away an axis runs underground; inside a scan over it, it is read turn by turn.
 */
import type { Axis, Station } from "../data/model";
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
  /** The band that this row opens or closes. */
  opens?: Band;
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
  /** Where it begins or ends otherwise than at the edge of the map. */
  styles: Style[];
  born: boolean;
  dies: boolean;
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
const ENDS = new Set(["reduced", "projected", "merged", "indexed", "split"]);
const TRANSFORMS = /^(vmap|pmap|shard_map|scan|map|fori|while|grad|vjp|jvp|jit|cond|checkpoint|custom_jvp|custom_vjp)$/;

export function subway(axes: Axis[], outline: Outline | undefined): Subway {
  const rows = rowsOf(axes, outline);
  const at = new Map<Stop["station"], number>();
  rows.forEach((row, number) => row.stops.forEach((stop) => at.set(stop.station, number)));
  const lanes = axes.filter((axis) => axis.stations.length).map((axis) => laneOf(axis, rows, at));
  return { rows, lanes, joins: joinsOf(lanes, rows), columns: columnsOf(lanes) };
}

function endOf(step: number, outline: Outline | undefined): number {
  return step + (outline?.sizes.get(step) ?? 0) + 0.5;
}

function orderOf(station: Station, outline: Outline | undefined): number {
  if (station.kind === "enters") return -1;
  if (station.kind === "returned") return Number.MAX_SAFE_INTEGER;
  const step = station.step ?? Number.MAX_SAFE_INTEGER - 1;
  return AFTER.has(station.kind) ? endOf(step, outline) : step;
}

function rowsOf(axes: Axis[], outline: Outline | undefined): Row[] {
  const rows = new Map<string, Row>();
  for (const axis of axes) {
    for (const station of axis.stations) {
      const order = orderOf(station, outline);
      const key = order < 0 ? "start" : order === Number.MAX_SAFE_INTEGER ? "end" : `${order}:${station.path}:${station.line}`;
      const row = rows.get(key) ?? { order, path: station.path, line: station.line, stops: [], bands: bandsAround(station, order, outline) };
      row.stops.push({ axis, station });
      rows.set(key, row);
    }
  }
  return [...rows.values()].sort((one, other) => one.order - other.order || one.line - other.line);
}

function bandsAround(station: Station, order: number, outline: Outline | undefined): Band[] {
  const steps = outline?.root.steps;
  if (!steps || station.step === null || station.step === undefined || order < 0) return [];
  const bands: Band[] = [];
  for (let at: number | null = steps[station.step]?.parent ?? null; at !== null; at = steps[at].parent) {
    const step = steps[at];
    if (TRANSFORMS.test(step.op)) {
      bands.unshift({ key: at, transform: step.op, function: step.what, from: at, to: endOf(at, outline), depth: 0 });
    }
  }
  return bands.map((band, depth) => ({ ...band, depth }));
}

function laneOf(axis: Axis, rows: Row[], at: Map<Station, number>): Lane {
  const stops = axis.stations.map((station) => at.get(station) ?? 0);
  const first = Math.min(...stops);
  const last = Math.max(...stops);
  const styles = new Array<Style>(last - first + 1).fill("plain");
  for (const station of axis.stations) {
    if (station.kind !== "vmapped" && station.kind !== "scanned" && station.kind !== "sharded") continue;
    const step = station.step ?? -1;
    for (let row = (at.get(station) ?? first) + 1; row <= last; row++) {
      if (!rows[row].bands.some((band) => band.key === step)) break;
      styles[row - first] = station.kind === "scanned" ? "loop" : "under";
    }
  }
  const lastKinds = axis.stations.filter((station) => at.get(station) === last).map((station) => station.kind);
  return { axis, column: 0, first, last, styles, born: first > 0, dies: lastKinds.some((kind) => ENDS.has(kind)) };
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
