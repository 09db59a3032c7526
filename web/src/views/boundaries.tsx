/** Shapes at every border: outside, inside, and how each value crosses. */
import { useMemo, useState } from "preact/hooks";
import type { Boundary, Crossing } from "../data/model";
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
  const rows = [...row.entries.map((one) => ({ one, way: "in" })), ...row.exits.map((one) => ({ one, way: "out" }))];
  const shown = whole ? rows : rows.slice(0, SHOWN);
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
          <tbody>{shown.map(({ one, way }) => <Cross one={one} way={way} />)}</tbody>
        </table>
      )}
      {rows.length > shown.length && <button type="button" class="more" onClick={() => setWhole(true)}>{count(rows.length - shown.length, "more value", "more values")}</button>}
    </section>
  );
}

function Cross({ one, way }: { one: Crossing; way: string }) {
  const changed = one.outside !== one.inside && one.outside && one.inside;
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
