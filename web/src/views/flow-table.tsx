/** The flow as a table: the same facts as the graph, one step a row, folded by function and transformation. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { FlowStep, FlowValue } from "../data/model";
import type { Outline } from "../logic/graph";
import { hashOf } from "../logic/route";
import { crop, visible } from "../logic/text";
import { Chip, TypeText, factsOf, transformKind } from "../parts/bits";
import { usePage } from "../parts/context";
import { List } from "../parts/list";

const WHOLE = 3000;
const VALUES = 4;

export function FlowTable({ made, chosen }: { made: Outline; chosen?: number }) {
  const { go } = usePage();
  const { steps } = made.root;
  const [open, setOpen] = useState<ReadonlySet<number>>(() => new Set(steps.length <= WHOLE ? made.children.keys() : []));
  useEffect(() => {
    if (chosen === undefined) return;
    const around: number[] = [];
    for (let at = made.steps.get(chosen)?.parent ?? null; at !== null; at = made.steps.get(at)?.parent ?? null) around.push(at);
    if (around.some((id) => !open.has(id))) setOpen(new Set([...open, ...around]));
  }, [chosen]);
  const rows = useMemo(() => visibleSteps(steps, open, made.children), [steps, open]);
  const toggle = (id: number): void => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  return (
    <div class="flow-table" role="table" aria-label="Steps of the data flow" aria-rowcount={rows.length}>
      <div class="flow-head" role="row">
        <span role="columnheader">line</span><span role="columnheader">step</span><span role="columnheader">makes</span><span role="columnheader">takes</span>
      </div>
      <List items={rows} label="Steps of the data flow" role="rowgroup" height={(step) => 12 + 20 * Math.max(1, Math.min(VALUES, step.makes.length))} keyOf={(step) => step.id}
        show={chosen === undefined ? undefined : rows.findIndex((step) => step.id === chosen)}
        row={(step) => (
          <div class={`flow-row ${step.id === chosen ? "chosen" : ""}`} role="row" onClick={() => go({ view: "flow", root: made.root.index, step: step.id })}>
            <span role="cell" class="number"><a href={hashOf({ view: "source", path: step.path, line: step.line })}>{step.line}</a></span>
            <span role="cell" class="flow-step" style={{ paddingLeft: `${Math.max(0, step.depth - 1) * 16}px` }}>
              {made.children.has(step.id)
                ? <button type="button" class="fold" aria-expanded={open.has(step.id)} aria-label={`${open.has(step.id) ? "Fold" : "Open"} ${visible(step.what)}`} onClick={(event) => { event.stopPropagation(); toggle(step.id); }}><span class="twist" aria-hidden="true" /></button>
                : <span class="fold" />}
              {made.children.has(step.id) && <Chip kind={transformKind(step.op)}>{step.op === "py.call" ? "call" : visible(step.op)}</Chip>}
              <bdi title={visible(step.op)}>{visible(crop(step.what || step.op, 60))}</bdi>
              {step.note && <span class="muted small">{visible(crop(step.note, 60))}</span>}
              {!open.has(step.id) && made.children.has(step.id) && <span class="muted small">{(made.sizes.get(step.id) ?? 0).toLocaleString("en")} inside</span>}
            </span>
            <span role="cell">{step.makes.slice(0, VALUES).map((value) => <Made value={value} dropped={!value.uses && step.op !== "enter"} />)}{step.makes.length > VALUES && <span class="muted small">+{step.makes.length - VALUES}</span>}</span>
            <span role="cell" class="takes">{names(step, made)}</span>
          </div>
        )} />
    </div>
  );
}

function Made({ value, dropped }: { value: FlowValue; dropped: boolean }) {
  return (
    <span class="made">
      {value.name && <bdi class="value-name">{visible(crop(value.name, 40))}</bdi>} <TypeText type={value.type} axes={value.axes} plain />
      {factsOf(value).map(([key, fact]) => <span class="fact" title={key}>{visible(crop(fact, 40))}</span>)}
      {dropped && <span class="dropped small">dropped</span>}
    </span>
  );
}

function names(step: FlowStep, made: Outline): string {
  const found = step.reads.map((id) => made.values.get(id)?.name || "").filter(Boolean);
  const all = [...new Set(found.length ? found : (step.takes ?? []))];
  return visible(crop(all.slice(0, 8).join(", "), 120)) + (all.length > 8 ? ` +${all.length - 8}` : "");
}

/** Gives the steps that are in no folded one. Insides follow their step, so one pass is enough. */
export function visibleSteps(steps: FlowStep[], open: ReadonlySet<number>, boxes: ReadonlyMap<number, unknown>): FlowStep[] {
  const rows: FlowStep[] = [];
  let hidden = Infinity;
  for (const step of steps) {
    if (step.depth > hidden) continue;
    hidden = boxes.has(step.id) && !open.has(step.id) ? step.depth : Infinity;
    rows.push(step);
  }
  return rows;
}
