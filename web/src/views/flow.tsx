/** The data flow: as a graph of nested boxes, as a table with the same facts, and the stack of transformations. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { FlowRoot } from "../data/model";
import { outline, pathTo, type Outline } from "../logic/graph";
import { hashOf } from "../logic/route";
import { count, visible } from "../logic/text";
import { Empty } from "../parts/bits";
import { usePage } from "../parts/context";
import { FlowTable } from "./flow-table";
import { Graph } from "./graph";
import { Inspector } from "./inspector";
import { Stack } from "./stack";

type Mode = "graph" | "table" | "stack";
const MODES: Mode[] = ["graph", "table", "stack"];

export function Flow() {
  const { store, route, go } = usePage();
  const [mode, setMode] = useState<Mode>("graph");
  const roots = store.flow;
  if (!store.report.steps) return <NoFlow />;
  if (!store.ready) return <Empty title="Unpacking the data flow" />;
  const root = roots[route.root ?? largest(roots)] ?? roots[0];
  return (
    <div class="flow">
      <div class="filters">
        <div class="segments" role="group" aria-label="How to show the flow">
          {MODES.map((name) => <button type="button" aria-pressed={mode === name} onClick={() => setMode(name)}>{name}</button>)}
        </div>
        {roots.length > 1 && mode !== "stack" && (
          <label>function{" "}
            <select value={root.index} onChange={(event) => go({ view: "flow", root: Number(event.currentTarget.value) })}>
              {roots.map((one) => <option value={one.index}>{visible(one.name)}: {count(one.steps.length, "step")}</option>)}
            </select>
          </label>
        )}
        {mode !== "stack" && <span class="muted small"><a href={hashOf({ view: "source", path: root.path, line: root.line })}>{visible(root.path)}:{root.line}</a></span>}
      </div>
      {mode === "stack" ? <div class="scroll"><Stack /></div> : <Drawn key={root.index} root={root} mode={mode} />}
    </div>
  );
}

function largest(roots: FlowRoot[]): number {
  return roots.reduce((best, root) => (root.steps.length > (roots[best]?.steps.length ?? 0) ? root.index : best), 0);
}

function Drawn({ root, mode }: { root: FlowRoot; mode: Mode }) {
  const { route } = usePage();
  const made: Outline = useMemo(() => outline(root), [root]);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(route.step === undefined ? [] : pathTo(made, route.step)));
  useEffect(() => {
    if (route.step !== undefined) setOpen((now) => new Set([...now, ...pathTo(made, route.step ?? 0)]));
  }, [route.step]);
  const step = route.step === undefined ? undefined : made.steps.get(route.step);
  return (
    <div class={`flow-body ${step ? "inspected" : ""}`}>
      {mode === "graph" ? <Graph made={made} open={open} setOpen={setOpen} chosen={route.step} /> : <FlowTable made={made} chosen={route.step} />}
      {step && <Inspector step={step} made={made} />}
    </div>
  );
}

function NoFlow() {
  const { store } = usePage();
  const rows = store.report.transformation_stack;
  return (
    <div class="scroll">
      <div class="hint">
        <p><b>The data flow needs exact shapes.</b> <code>jaxaudit trace FILE:FUNCTION</code> and <code>jaxaudit run SCRIPT</code> have them: every step with its shape, from the arguments to the results.</p>
        {rows.length > 0 && <p>What the source alone shows is how the transformations nest.</p>}
      </div>
      {rows.length > 0 && <Stack />}
    </div>
  );
}
