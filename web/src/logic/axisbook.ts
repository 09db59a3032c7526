/** Names and colours of axes: one axis has one colour everywhere on the page. */
import type { Axis } from "../data/model";

export const COLOURS = 12;

export class AxisBook {
  private readonly axes = new Map<string, Axis>();
  private readonly colours = new Map<string, number>();

  constructor(axes: Axis[] = []) {
    for (const axis of axes) this.axes.set(axis.id, axis);
    // Axes of one name share a colour, also across functions. Those without a name get what colours are left, the ones
    // that most happens to first.
    const names = new Map<string, number>();
    for (const axis of axes) {
      if (!axis.name) continue;
      if (!names.has(axis.name)) names.set(axis.name, names.size % COLOURS);
      this.colours.set(axis.id, (names.get(axis.name) ?? 0) + 1);
    }
    const others = axes.filter((axis) => !axis.name).sort((one, other) => other.stations.length - one.stations.length);
    others.slice(0, Math.max(0, COLOURS - names.size)).forEach((axis, at) => this.colours.set(axis.id, names.size + at + 1));
  }

  name(id: string): string {
    return this.axes.get(id)?.name ?? "";
  }

  /** Gives what to call an axis that may have no name. */
  title(axis: Axis): string {
    if (axis.name) return axis.name;
    const [, path, rest] = /^(?:argument )?(.*?)(?:, (axis \d+))?$/s.exec(axis.origin || axis.id) ?? ["", axis.id, ""];
    const parts = path.split(/[.[\]'"]+/).filter(Boolean);
    return [parts.length > 2 ? parts.slice(-2).join(".") : path, rest].filter(Boolean).join(" ");
  }

  get(id: string): Axis | undefined {
    return this.axes.get(id);
  }

  /** Gives the number of the colour, 0 for axes without a name. */
  colour(id: string): number {
    return this.colours.get(id) ?? 0;
  }
}

/** The book of this page's report. */
export let book = new AxisBook();

export function openBook(axes: Axis[]): void {
  book = new AxisBook(axes);
}

export interface TypePart {
  text: string;
  /** The id of the axis that this part stands for. */
  axis?: string;
}

/** Takes `f32[8,4]` apart and puts in what its axes are called: `f32[`, `envs=8`, `, `, `4`, `]`. */
export function typeParts(type: string, axes: string[] | undefined): TypePart[] {
  const found = /^([^[]*)\[(.+)\](.*)$/s.exec(type);
  const sizes = found?.[2].split(",") ?? [];
  if (!found || !axes?.some(Boolean) || sizes.length !== axes.length) return [{ text: type }];
  const parts: TypePart[] = [{ text: `${found[1]}[` }];
  sizes.forEach((size, at) => {
    if (at) parts.push({ text: ", " });
    const name = axes[at] ? book.name(axes[at]) : "";
    const known = axes[at] && book.colour(axes[at]) > 0;
    parts.push(known ? { text: name ? `${name}=${size}` : size, axis: axes[at] } : { text: size });
  });
  parts.push({ text: `]${found[3]}` });
  return parts;
}

export function typeString(type: string, axes: string[] | undefined): string {
  return typeParts(type, axes).map((part) => part.text).join("");
}
