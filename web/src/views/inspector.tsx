/** All that is known of one step of the flow. */
import type { FlowStep, FlowValue } from "../data/model";
import { stepId, type Outline } from "../logic/graph";
import { hashOf } from "../logic/route";
import { count, visible } from "../logic/text";
import { Chip, Spot, Value, transformKind } from "../parts/bits";
import { CodeLine } from "../parts/code";
import { usePage } from "../parts/context";

const SHOWN = 24;

export function Inspector({ step, made }: { step: FlowStep; made: Outline }) {
  const { go, store } = usePage();
  const reads = step.reads.map((id) => made.values.get(id)).filter((value) => value !== undefined);
  const findings = [...store.report.issues, ...store.report.warnings].filter((one) => one.path === step.path && one.line === step.line);
  const border = store.report.boundaries.findIndex((row) => row.path === step.path && row.line === step.line);
  const twin = made.twins.get(step.id);
  const dropped = step.op === "enter" ? [] : step.makes.filter((value) => !value.uses);
  return (
    <aside class="inspector" aria-label="The chosen step" data-step={stepId(step)}>
      <header>
        <Chip kind={transformKind(step.op)}>{visible(step.op.length > 28 ? step.op.split(",")[0] + ", ..." : step.op)}</Chip>
        <button type="button" class="close" aria-label="Close" onClick={() => go({ view: "flow", root: made.root.index })}>×</button>
      </header>
      <h3><bdi>{visible(step.what || step.op)}</bdi></h3>
      <p class="small"><Spot path={step.path} line={step.line} /> <span class="muted">in</span> <bdi>{visible(step.function)}</bdi></p>
      {step.note && <p class="small">{visible(step.note)}</p>}
      {step.backward && <p class="small muted">A step of the backward pass, which JAX made of this line.</p>}
      <p class="inspector-code"><CodeLine path={step.path} line={step.line} /></p>
      {twin && <p class="small">Its inside is that of <a href={hashOf({ view: "flow", root: made.root.index, step: twin.id })}>the first such call</a>, on line {twin.line}.</p>}
      {findings.map((one) => (
        <a class={`inspector-finding note-${one.severity}`} href={hashOf({ view: one.severity === "warning" ? "warnings" : "issues", finding: one.id })}>{one.rule}</a>
      ))}
      {border >= 0 && step.enters.length > 0 && <p class="small"><a href={hashOf({ view: "boundaries", boundary: border })}>Shapes at this boundary</a></p>}
      <Values title="makes" values={step.makes} />
      {dropped.length > 0 && <p class="small dropped">Nothing reads {dropped.map((value) => visible(value.name || value.type)).slice(0, 6).join(", ")}.</p>}
      <Values title="takes" values={reads} />
      {step.enters.length > 0 && <Values title="inside it is called" values={step.enters} />}
      {step.count > 1 && <p class="muted small">{count(step.count, "operation")} of this line: {visible(step.op)}</p>}
    </aside>
  );
}

function Values({ title, values }: { title: string; values: FlowValue[] }) {
  if (!values.length) return null;
  return (
    <section>
      <h4>{title}</h4>
      {values.slice(0, SHOWN).map((value) => <Value value={value} />)}
      {values.length > SHOWN && <p class="muted small">and {values.length - SHOWN} more</p>}
    </section>
  );
}
