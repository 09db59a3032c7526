/** The graph of the flow as SVG: panned, zoomed, folded; every node can be reached and opened by the keyboard. */
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FlowValue } from "../data/model";
import { book, typeParts, typeString } from "../logic/axisbook";
import { layOut } from "../logic/elk";
import { buildGraph, type GraphNode, type Outline } from "../logic/graph";
import { captionOf, chipOf, chipWidth, nodeLines, toDrawing, toElk, type DrawnNode, type Drawing } from "../logic/layout";
import { crop, visible } from "../logic/text";
import { Empty, factsOf, transformKind } from "../parts/bits";
import { usePage } from "../parts/context";

interface GraphProps {
  made: Outline;
  open: ReadonlySet<string>;
  setOpen: (open: ReadonlySet<string>) => void;
  chosen?: number;
}

interface Hover {
  x: number;
  y: number;
  node?: GraphNode;
  values?: FlowValue[];
}

export function Graph({ made, open, setOpen, chosen }: GraphProps) {
  const { go } = usePage();
  const [drawing, setDrawing] = useState<Drawing>();
  const [failure, setFailure] = useState("");
  const [hover, setHover] = useState<Hover>();
  const root = useMemo(() => buildGraph(made, open), [made, open]);
  const frame = useRef<SVGSVGElement>(null);
  const inner = useRef<SVGGElement>(null);
  const behavior = useRef<ZoomBehavior<SVGSVGElement, unknown> | undefined>(undefined);
  const fitted = useRef(false);

  useEffect(() => {
    let current = true;
    layOut(toElk(root)).then(
      (laid) => current && setDrawing(toDrawing(root, laid)),
      (reason: Error) => current && setFailure(reason.message),
    );
    return () => {
      current = false;
    };
  }, [root]);

  useEffect(() => {
    if (!frame.current || !inner.current) return;
    const group = inner.current;
    const made = zoom<SVGSVGElement, unknown>().scaleExtent([0.05, 3]).on("zoom", ({ transform }) => {
      group.setAttribute("transform", String(transform));
      setHover(undefined);
    });
    behavior.current = made;
    select(frame.current).call(made).on("dblclick.zoom", null);
  }, [drawing === undefined]);

  const fit = (): void => {
    if (!frame.current || !behavior.current || !drawing) return;
    const { clientWidth, clientHeight } = frame.current;
    const scale = Math.min(1, Math.max(0.25, (clientWidth - 32) / drawing.width));
    const left = Math.max(16, (clientWidth - drawing.width * scale) / 2);
    const top = drawing.height * scale < clientHeight ? Math.min(24, (clientHeight - drawing.height * scale) / 2) : 16;
    behavior.current.transform(select(frame.current), zoomIdentity.translate(left, top).scale(scale));
  };
  useEffect(() => {
    if (!drawing) return;
    if (!fitted.current) fit();
    fitted.current = true;
    const target = drawing.nodes.find(({ node }) => chosen !== undefined && node.step?.id === chosen && node.id !== "root");
    if (target && frame.current && behavior.current) {
      const box = frame.current.getBoundingClientRect();
      const spot = inner.current?.querySelector(`[data-id="${CSS.escape(target.node.id)}"]`)?.getBoundingClientRect();
      if (spot && (spot.left < box.left || spot.top < box.top || spot.right > box.right || spot.bottom > box.bottom || spot.width < 0.7 * target.width)) {
        behavior.current.transform(select(frame.current), zoomIdentity.translate(box.width / 2, box.height / 3).scale(0.9).translate(-target.x - target.width / 2, -target.y - Math.min(target.height / 2, 80)));
      }
    }
  }, [drawing, chosen]);

  const toggle = (id: string): void => {
    if (id === "root") return;
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const scaled = (factor: number): void => {
    if (frame.current) behavior.current?.scaleBy(select(frame.current), factor);
  };
  const pressed = (event: KeyboardEvent): void => {
    const pan: Record<string, [number, number]> = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
    if (pan[event.key] && frame.current) behavior.current?.translateBy(select(frame.current), ...pan[event.key]);
    else if (event.key === "+" || event.key === "=") scaled(1.25);
    else if (event.key === "-") scaled(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };
  if (failure) return <Empty title="The graph could not be laid out">{failure}. The table has the same facts.</Empty>;
  const near = hover?.node && drawing ? neighbours(drawing, hover.node.id) : undefined;
  return (
    <div class="graph" onKeyDown={pressed} onMouseLeave={() => setHover(undefined)}>
      {!drawing && <Empty title="Laying out the graph" />}
      <svg ref={frame} class={`canvas ${near ? "focused" : ""}`} role="group" aria-label={`Data flow of ${visible(made.root.name)}; the table mode has the same facts`} tabindex={0}>
        <defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0.5L7,4L0,7.5z" /></marker></defs>
        <g ref={inner}>
          {drawing?.nodes.filter(({ node }) => node.open).map((drawn) => <Box key={drawn.node.id} drawn={drawn} toggle={toggle} chosen={chosen} go={(step) => go({ view: "flow", root: made.root.index, step })} />)}
          {drawing?.edges.map(({ edge, path }) => (
            <path key={edge.id} d={path} marker-end="url(#tip)" class={`edge ${near?.edges.has(edge.id) ? "near" : ""}`}
              onMouseMove={(event) => setHover({ x: event.clientX, y: event.clientY, values: edge.values })} onMouseLeave={() => setHover(undefined)} />
          ))}
          {drawing?.nodes.filter(({ node }) => !node.open).map((drawn) => (
            <Leaf key={drawn.node.id} drawn={drawn} near={!near || near.nodes.has(drawn.node.id)} chosen={drawn.node.step?.id === chosen && chosen !== undefined}
              toggle={toggle} hover={setHover} go={(step) => go({ view: "flow", root: made.root.index, step })} />
          ))}
        </g>
      </svg>
      <div class="zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick={() => scaled(1.25)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => scaled(0.8)}>−</button>
        <button type="button" onClick={fit}>fit</button>
        <button type="button" onClick={() => setOpen(new Set(openable(root, open)))}>open</button>
        <button type="button" onClick={() => setOpen(new Set())}>fold all</button>
      </div>
      {hover && <Tip hover={hover} />}
    </div>
  );
}

const MOST_OPEN = 160;

/** Opens one level more, as long as that stays legible. */
function openable(root: GraphNode, open: ReadonlySet<string>): string[] {
  const next = [...open];
  let nodes = 0;
  const visit = (node: GraphNode): void => {
    nodes += 1;
    if (!node.open && node.inside && node.kind !== "in" && node.kind !== "out" && nodes + node.inside < MOST_OPEN) {
      next.push(node.id);
      nodes += Math.min(node.inside, 48);
    }
    node.children.forEach(visit);
  };
  visit(root);
  return next;
}

function neighbours(drawing: Drawing, id: string): { nodes: Set<string>; edges: Set<string> } {
  const touching = drawing.edges.filter(({ edge }) => edge.from === id || edge.to === id);
  return {
    nodes: new Set([id, ...touching.flatMap(({ edge }) => [edge.from, edge.to])]),
    edges: new Set(touching.map(({ edge }) => edge.id)),
  };
}

interface BoxProps {
  drawn: DrawnNode;
  toggle: (id: string) => void;
  go: (step: number) => void;
  chosen?: number;
}

function Box({ drawn: { node, x, y, width, height }, toggle, go, chosen }: BoxProps) {
  const kind = node.kind === "group" ? "group" : transformKind(chipOf(node));
  const fold = (): void => toggle(node.id);
  return (
    <g class={`box box-${kind} ${chosen !== undefined && node.step?.id === chosen && node.id !== "root" ? "chosen" : ""}`} transform={`translate(${x},${y})`} data-id={node.id}>
      <rect width={width} height={height} rx={9} />
      <g class="box-head" role="button" tabindex={0} aria-expanded="true" aria-label={`Fold ${visible(node.title)}`} onClick={fold}
        onKeyDown={(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); fold(); } }}>
        <rect class="hit" width={width} height={32} rx={9} />
        {node.id !== "root" && <path class="twist-open" d="M12,13.5h8l-4,5z" />}
        <HeadText node={node} at={node.id === "root" ? 12 : 26} />
      </g>
      {node.step && node.id !== "root" && (
        <text class="about-link" role="button" tabindex={0} x={width - 14} y={21} text-anchor="end" onClick={() => go(node.step?.id ?? 0)} onKeyDown={(event) => event.key === "Enter" && go(node.step?.id ?? 0)}>:{node.step.line}</text>
      )}
    </g>
  );
}

function HeadText({ node, at }: { node: GraphNode; at: number }) {
  if (node.kind === "group") return <text class="node-title" x={at} y={21}>{visible(node.title)}</text>;
  const wide = chipWidth(node);
  return (
    <>
      <rect class={`chip-rect chip-${transformKind(chipOf(node))}`} x={at} y={8} width={wide} height={18} rx={9} />
      <text class="chip-text" x={at + wide / 2} y={20.5} text-anchor="middle">{chipOf(node)}</text>
      <text class="node-title" x={at + wide + 8} y={21}>{crop(visible(node.title), 30)}</text>
    </>
  );
}

interface LeafProps {
  drawn: DrawnNode;
  near: boolean;
  chosen: boolean;
  toggle: (id: string) => void;
  hover: (hover: Hover | undefined) => void;
  go: (step: number) => void;
}

function Leaf({ drawn: { node, x, y, width, height }, near, chosen, toggle, hover, go }: LeafProps) {
  const folded = node.kind === "box" || node.kind === "group";
  const pill = node.kind === "in" || node.kind === "out";
  const act = (): void => {
    if (folded) toggle(node.id);
    else if (node.step) go(node.step.id);
  };
  const lines = nodeLines(node);
  const style = `leaf leaf-${node.kind} ${folded ? `box-${node.kind === "group" ? "group" : transformKind(chipOf(node))}` : ""} ${near ? "" : "far"} ${chosen ? "chosen" : ""} ${node.captured ? "captured" : ""} ${node.step?.backward ? "backward" : ""}`;
  return (
    <g class={style} transform={`translate(${x},${y})`} data-id={node.id} role="button" tabindex={0} aria-expanded={folded ? "false" : undefined}
      aria-label={visible(`${node.title} ${lines.join(", ")}${folded ? `, ${node.inside} steps inside` : ""}`)}
      onClick={act} onKeyDown={(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); } }}
      onMouseMove={(event) => hover({ x: event.clientX, y: event.clientY, node })} onMouseLeave={() => hover(undefined)} onFocus={() => hover(undefined)}>
      <rect width={width} height={height} rx={pill ? 12 : 8} />
      {folded && <path class="twist-shut" d="M13,12l5,4l-5,4z" />}
      {folded ? <HeadText node={node} at={26} /> : <text class={pill ? "pill-title" : "node-title"} x={12} y={pill ? 15 : 19}>{crop(visible(node.title), 30)}</text>}
      {!pill && node.step && <text class="node-line" x={width - 10} y={folded ? 21 : 19} text-anchor="end">{node.step.line}</text>}
      {captionOf(node) && <text class="node-inside" x={12} y={height - 8}>{captionOf(node)}</text>}
      {lines.map((line, at) => <TypeLine x={folded ? 14 : 12} y={(pill ? 29 : folded ? 43 : 36) + at * 16} node={node} line={line} at={at} />)}
      {folded && <text class="node-inside" x={14} y={height - 9}>{node.inside.toLocaleString("en")} {node.inside === 1 ? "step" : "steps"} inside</text>}
    </g>
  );
}

function TypeLine({ x, y, node, line, at }: { x: number; y: number; node: GraphNode; line: string; at: number }) {
  const value = node.values[at];
  const type = value ? typeString(value.type, value.axes) : "";
  const start = line.lastIndexOf(type);
  if (!value || !type || line.length > 34 || start < 0) return <text class="node-type" x={x} y={y}>{crop(visible(line), 34)}</text>;
  return (
    <text class="node-type" x={x} y={y}>
      <tspan class="node-name">{visible(line.slice(0, start))}</tspan>
      {typeParts(value.type, value.axes).map((part) => <tspan class={part.axis ? `axis axis-${book.colour(part.axis)}` : ""}>{visible(part.text)}</tspan>)}
      {line.slice(start + type.length)}
    </text>
  );
}

function Tip({ hover }: { hover: Hover }) {
  const values = hover.values ?? hover.node?.values ?? [];
  const step = hover.node?.step;
  const right = hover.x > window.innerWidth - 360;
  return (
    <div class="tip" role="tooltip" style={{ left: right ? "auto" : `${hover.x + 14}px`, right: right ? `${window.innerWidth - hover.x + 14}px` : "auto", top: `${Math.min(hover.y + 14, window.innerHeight - 160)}px` }}>
      {hover.node && <div class="tip-title">{visible(hover.node.title)}{hover.node.captured && <span class="muted"> from around</span>}</div>}
      {values.slice(0, 8).map((value) => (
        <div class="tip-value"><bdi>{visible(value.name || "unnamed")}</bdi> <span class="type">{visible(typeString(value.type, value.axes))}</span>
          {factsOf(value).map(([key, fact]) => <div class="tip-fact"><span class="muted">{key}</span> {visible(fact)}</div>)}</div>
      ))}
      {values.length > 8 && <div class="muted">and {values.length - 8} more</div>}
      {step && <div class="muted small">{visible(step.path)}:{step.line}</div>}
    </div>
  );
}
