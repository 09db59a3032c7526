/** Small parts: places, types, prose, chips, empty states. Text of the user only ever becomes text. */
import type { ComponentChildren } from "preact";
import type { FlowValue } from "../data/model";
import { book, typeParts } from "../logic/axisbook";
import { hashOf } from "../logic/route";
import { prose, visible } from "../logic/text";
import { usePage } from "./context";

export function Spot({ path, line, short }: { path: string; line: number; short?: boolean }) {
  const shown = short ? path.split("/").pop() : path;
  return (
    <a class="spot" href={hashOf({ view: "source", path, line })} title={`${visible(path)}:${line}`}>
      <bdi>{visible(shown ?? path)}</bdi>:{line}
    </a>
  );
}

/** A link into the flow, where the flow has a step of that line. */
export function FlowLink({ path, line }: { path: string; line: number }) {
  const { store } = usePage();
  const found = store.at.get(`${path}:${line}`)?.[0];
  if (!found) return null;
  return (
    <a class="flow-link" href={hashOf({ view: "flow", root: found.root, step: found.step.id })} title="Show this step in the flow">
      flow
    </a>
  );
}

export function Prose({ text }: { text: string }) {
  return <>{prose(text).map((part) => (part.name ? <code>{part.text}</code> : part.text))}</>;
}

/** A type such as `f32[envs=8, 4]`; the names of axes have the colours of their lines and lead to them. */
export function TypeText({ type, axes, plain }: { type: string; axes?: string[]; plain?: boolean }) {
  return (
    <span class="type">
      {typeParts(type, axes).map((part) => {
        const text = visible(part.text);
        if (!part.axis) return text;
        const style = `axis axis-${book.colour(part.axis)}`;
        return plain ? <span class={style}>{text}</span> : <a class={style} href={hashOf({ view: "axes", axis: part.axis })}>{text}</a>;
      })}
    </span>
  );
}

const YES: Record<string, string> = { residual: "kept for the backward pass alone" };
const OWN = new Set(["id", "name", "type", "uses", "axes"]);

/** The facts of a value beyond its type: range, meaning, and whatever else the analyses tell. */
export function factsOf(value: FlowValue): [string, string][] {
  return Object.entries(value)
    .filter(([key, fact]) => !OWN.has(key) && fact !== "" && fact !== null && fact !== undefined && fact !== false)
    .filter(([, fact]) => !Array.isArray(fact) || fact.length > 0)
    .filter(([key, fact]) => key !== "meaning" || fact !== value.range)
    .map(([key, fact]) => [key, fact === true ? (YES[key] ?? "yes") : typeof fact === "string" ? fact : JSON.stringify(fact)]);
}

export function Value({ value }: { value: FlowValue }) {
  return (
    <div class="value">
      <bdi class={`value-name ${value.name ? "" : "unnamed"}`}>{visible(value.name || "unnamed")}</bdi>
      <TypeText type={value.type} axes={value.axes} />
      {factsOf(value).map(([key, fact]) => (
        <span class="fact"><span class="fact-key">{key}</span> {visible(fact)}</span>
      ))}
    </div>
  );
}

export function Chip({ children, kind }: { children: ComponentChildren; kind?: string }) {
  return <span class={`chip ${kind ? `chip-${kind}` : ""}`}>{children}</span>;
}

/** Which family of transformations an op belongs to: this gives boxes and chips their colour. */
export function transformKind(name: string): string {
  const word = name.replace(/^jax\./, "").split(".").pop() ?? name;
  if (/^(vmap|pmap|shard_map|xmap)$/.test(word)) return "map";
  if (/scan|fori|while|^map$/.test(word)) return "loop";
  if (/grad|vjp|jvp|linearize|hessian|jac|checkpoint|remat/.test(word)) return "grad";
  if (/jit/.test(word)) return "jit";
  if (/cond|switch|branch/.test(word)) return "branch";
  return "call";
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Severity({ severity }: { severity: string }) {
  return <span class={`severity severity-${severity}`}>{severity}</span>;
}
