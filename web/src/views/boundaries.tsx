/** Shapes at every border: outside, inside, and how each value crosses. */
import { useMemo, useState } from "preact/hooks";
import type { Boundary, Crossing } from "../data/model";
import { containerOf } from "../logic/graph";
import { hashOf } from "../logic/route";
import { count, visible } from "../logic/text";
import { Chip, Empty, FlowLink, Spot, TypeText, transformKind } from "../parts/bits";
import { usePage } from "../parts/context";
import { List } from "../parts/list";

const SHOWN = 12;

export function Boundaries() {
  const { store, route } = usePage();
  const [kind, setKind] = useState("");
  const all = useMemo(() => store.report.boundaries.map((row, at) => ({ row, at })), [store.report]);
  const kinds = useMemo(() => [...new Set(all.map(({ row }) => row.transform))], [all]);
  const shown = useMemo(() => (kind ? all.filter(({ row }) => row.transform === kind) : all), [all, kind]);
  if (!all.length) {
    return store.report.not_available.includes("boundaries")
      ? <Empty title="Boundaries need exact shapes"><code>jaxaudit trace</code> and <code>jaxaudit run</code> have them: what goes into each transformation, what comes out, and which axis it takes away.</Empty>
      : <Empty title="No boundaries">No transformation was met.</Empty>;
  }
  return (
    <>
      {kinds.length > 1 && (
        <div class="filters" role="group" aria-label="Transformations">
          <button type="button" aria-pressed={!kind} onClick={() => setKind("")}>all <b>{all.length}</b></button>
          {kinds.map((name) => (
            <button type="button" aria-pressed={kind === name} onClick={() => setKind(kind === name ? "" : name)}>{visible(name)} <b>{all.filter(({ row }) => row.transform === name).length}</b></button>
          ))}
        </div>
      )}
      <List items={shown} label="Boundaries" class="borders" show={route.boundary === undefined ? undefined : shown.findIndex(({ at }) => at === route.boundary)} keyOf={({ at }) => at}
        height={({ row }) => 92 + 26 * Math.min(SHOWN, row.entries.length + row.exits.length)}
        row={({ row, at }) => <Border row={row} at={at} chosen={at === route.boundary} />}
      />
    </>
  );
}

function Border({ row, at, chosen }: { row: Boundary; at: number; chosen: boolean }) {
  const [whole, setWhole] = useState(false);
  const rows: Shown[] = [...row.entries.map((one) => ({ one, way: "in", more: 0 })), ...row.exits.map((one) => ({ one, way: "out", more: 0 }))];
  const folded = folds(rows);
  const shown = whole ? rows : folded.slice(0, SHOWN);
  const told = shown.reduce((sum, one) => sum + 1 + one.more, 0);
  return (
    <section class={`border ${chosen ? "chosen" : ""}`}>
      <header>
        <Chip kind={transformKind(row.transform)}>{visible(row.transform)}</Chip>
        <h3><bdi>{visible(row.function)}</bdi></h3>
        <span class="push" />
        <Spot path={row.path} line={row.line} />
        <FlowLink path={row.path} line={row.line} />
        <a class="anchor" href={hashOf({ view: "boundaries", boundary: at })} aria-label="Link to this boundary">#</a>
      </header>
      {!!row.mapped?.length && <p class="muted small">Inside {row.mapped.map(visible).join(", ")}: the shapes keep those axes.</p>}
      {rows.length > 0 && (
        <table class="crossings">
          <thead><tr><th scope="col" class="way">way</th><th scope="col">value</th><th scope="col">outside</th><th scope="col">inside</th><th scope="col">how it crosses</th></tr></thead>
          <tbody>{shown.map((one) => <Cross {...one} />)}</tbody>
        </table>
      )}
      {rows.length > shown.length && <button type="button" class="more" onClick={() => setWhole(true)}>{told < rows.length ? count(rows.length - told, "more value", "more values") : "every array"}</button>}
    </section>
  );
}

interface Shown {
  one: Crossing;
  way: string;
  /** How many further arrays of the same tree this row stands for. */
  more: number;
}

/** Puts the leaves of a tree that cross unchanged and in the same way into one row. */
export function folds(rows: Shown[]): Shown[] {
  const told: Shown[] = [];
  const trees = new Map<string, Shown>();
  const sizes = new Map<string, number>();
  const key = ({ one, way }: Shown): string => (one.outside === one.inside ? `${way} ${one.how} ${containerOf(one.name)}` : "");
  for (const row of rows) sizes.set(key(row), (sizes.get(key(row)) ?? 0) + 1);
  for (const row of rows) {
    const tree = key(row);
    const known = trees.get(tree);
    if (known) known.more += 1;
    else if (tree && (sizes.get(tree) ?? 0) > 3) {
      const first = { ...row, more: 0 };
      trees.set(tree, first);
      told.push(first);
    } else told.push(row);
  }
  return told;
}

function Cross({ one, way, more }: Shown) {
  const changed = one.outside !== one.inside && one.outside && one.inside;
  if (more) {
    return (
      <tr class={way === "out" ? "exit" : ""}>
        <td class="way">{way}</td>
        <td class="name"><bdi>{visible(containerOf(one.name)) || <span class="muted">unnamed</span>}</bdi></td>
        <td class="muted small" colSpan={2}>{count(more + 1, "array")}, the same inside</td>
        <td class={`how how-${howKind(one.how)}`}>{visible(one.how)}</td>
      </tr>
    );
  }
  return (
    <tr class={`${way === "out" ? "exit" : ""} ${changed ? "changed" : ""}`}>
      <td class="way">{way}</td>
      <td class="name"><bdi>{visible(one.name) || <span class="muted">unnamed</span>}</bdi></td>
      <td><TypeText type={one.outside} axes={one.outside_axes} /></td>
      <td><TypeText type={one.inside} axes={one.inside_axes} /></td>
      <td class={`how how-${howKind(one.how)}`}>{visible(one.how)}</td>
    </tr>
  );
}

function howKind(how: string): string {
  if (/^(mapped|split|collected)/.test(how)) return "map";
  if (/^(scanned|stacked|carried)/.test(how)) return "loop";
  return /^gradient/.test(how) ? "grad" : "plain";
}
