/** The transformation stack: boxes in boxes, as the transformations stand in one another. */
import { useMemo } from "preact/hooks";
import type { Transformation } from "../data/model";
import { count, visible } from "../logic/text";
import { Chip, Empty, FlowLink, Spot, transformKind } from "../parts/bits";
import { usePage } from "../parts/context";

const MOST = 400;

export function Stack() {
  const { store } = usePage();
  const rows = store.report.transformation_stack;
  const children = useMemo(() => nested(rows.slice(0, MOST)), [rows]);
  if (!rows.length) return <Empty title="No transformations">Nothing here is compiled, mapped, scanned or differentiated.</Empty>;
  return (
    <div class="stack">
      {(children.get(null) ?? []).map((row) => <Nest row={row} children_={children} />)}
      {rows.length > MOST && <p class="muted">{count(rows.length - MOST, "more transformation")} left out; JSON has all of them.</p>}
    </div>
  );
}

function Nest({ row, children_ }: { row: Transformation; children_: Map<number | null, Transformation[]> }) {
  const inner = children_.get(row.id) ?? [];
  const options = Object.entries(row.options ?? {});
  return (
    <details class={`nest nest-${transformKind(row.transform)}`} open={row.depth < 4}>
      <summary>
        <Chip kind={transformKind(row.transform)}>{visible(row.transform)}</Chip>
        <bdi class="nest-name">{visible(row.function)}</bdi>
        <Spot path={row.path} line={row.line} /><FlowLink path={row.path} line={row.line} />
        {options.map(([name, value]) => <span class="option">{name}=<bdi>{visible(value)}</bdi></span>)}
        {row.traces && row.traces.count > 1 && <span class="traced">traced {row.traces.count} times</span>}
      </summary>
      {row.traces && row.traces.count > 1 && row.traces.causes?.map((cause) => <p class="muted small cause">{visible(cause)}</p>)}
      {inner.map((one) => <Nest row={one} children_={children_} />)}
    </details>
  );
}

export function nested(rows: Transformation[]): Map<number | null, Transformation[]> {
  const known = new Set(rows.map((row) => row.id));
  const children = new Map<number | null, Transformation[]>();
  for (const row of rows) {
    const parent = row.parent !== null && known.has(row.parent) ? row.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  return children;
}
