/** The user's files: shapes in the margin like ghost text, findings where they belong. */
import { useMemo, useState } from "preact/hooks";
import type { Finding, FlowValue } from "../data/model";
import type { StepAt, Store } from "../data/store";
import { insideStrings } from "../logic/python";
import { hashOf } from "../logic/route";
import { crop, visible } from "../logic/text";
import { Empty, Prose, Severity, TypeText } from "../parts/bits";
import { Coloured } from "../parts/code";
import { usePage } from "../parts/context";
import { List } from "../parts/list";

type Row = { line: number; finding?: Finding; view?: "issues" | "warnings" };

export function Source() {
  const { store, route } = usePage();
  const files = useMemo(() => fileList(store), [store.sources]);
  if (!store.ready) return <Empty title="Unpacking the files" />;
  const path = route.path && store.sources.has(route.path) ? route.path : route.path ? undefined : files[0]?.path;
  return (
    <div class="source">
      <Files files={files} current={path} />
      {path ? <File key={path} path={path} /> : <Absent path={route.path} />}
    </div>
  );
}

interface FileEntry {
  path: string;
  issues: number;
  warnings: number;
}

function fileList(store: Store): FileEntry[] {
  const tally = (findings: Finding[], path: string): number => findings.filter((one) => one.path === path).length;
  return [...store.sources.keys()].map((path) => ({
    path, issues: tally(store.report.issues, path), warnings: tally(store.report.warnings, path),
  }));
}

function Files({ files, current }: { files: FileEntry[]; current?: string }) {
  const [filter, setFilter] = useState("");
  const shown = filter ? files.filter((file) => file.path.toLowerCase().includes(filter.toLowerCase())) : files;
  if (files.length < 2) return null;
  return (
    <nav class="files" aria-label="Files">
      {files.length > 12 && <input type="search" placeholder="Filter files" aria-label="Filter files" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />}
      <List items={shown} label="Files" height={() => 30} keyOf={(file) => file.path} show={shown.findIndex((file) => file.path === current)}
        row={(file) => (
          <a class="file" href={hashOf({ view: "source", path: file.path })} aria-current={file.path === current ? "page" : undefined} title={visible(file.path)}>
            <bdi class="file-name">{visible(file.path)}</bdi>
            {!!file.issues && <span class="badge badge-error">{file.issues}</span>}
            {!!file.warnings && <span class="badge badge-warning">{file.warnings}</span>}
          </a>
        )}
      />
    </nav>
  );
}

function Absent({ path }: { path?: string }) {
  const { store } = usePage();
  if (path && store.report.left_out.includes(path)) return <Empty title={`${visible(path)} is not in this report`}>Files with findings come first, and the page holds eight million characters of source at the most.</Empty>;
  if (path) return <Empty title={`${visible(path)} is not in this report`}>It is not one of the audited files; perhaps it belongs to a library.</Empty>;
  return <Empty title="No source">This report was made without readable files.</Empty>;
}

function File({ path }: { path: string }) {
  const { store, route } = usePage();
  const lines = store.sources.get(path) ?? [];
  const strings = useMemo(() => insideStrings(lines), [lines]);
  const rows = useMemo(() => rowsOf(path, lines, store), [lines, store.report]);
  const at = route.line ? rows.findIndex((row) => row.line === route.line) : undefined;
  const wide = String(lines.length).length;
  return (
    <div class="file-view">
      <h2 class="file-title"><bdi>{visible(path)}</bdi></h2>
      <List items={rows} label={`Source of ${path}`} show={at} class="code" height={(row) => (row.finding ? 76 : 21)}
        row={(row) => row.finding
          ? <Note finding={row.finding} view={row.view ?? "issues"} indent={wide} />
          : <Line text={lines[row.line - 1]} line={row.line} path={path} string={strings[row.line - 1]} chosen={row.line === route.line} wide={wide} />}
      />
    </div>
  );
}

function rowsOf(path: string, lines: string[], store: Store): Row[] {
  const notes = new Map<number, Row[]>();
  for (const view of ["issues", "warnings"] as const) {
    for (const finding of store.report[view]) {
      if (finding.path !== path) continue;
      const line = Math.max(finding.line, Math.min(finding.end_line || finding.line, lines.length));
      notes.set(line, [...(notes.get(line) ?? []), { line: finding.line, finding, view }]);
    }
  }
  return lines.flatMap((_, at) => [{ line: at + 1 }, ...(notes.get(at + 1) ?? [])]);
}

const LONGEST = 1200;

interface LineProps {
  text: string;
  line: number;
  path: string;
  string: boolean;
  chosen: boolean;
  wide: number;
}

function Line({ text, line, path, string, chosen, wide }: LineProps) {
  const { store } = usePage();
  const found = store.at.get(`${path}:${line}`);
  const shown = visible(text);
  return (
    <div class={`line ${chosen ? "chosen" : ""}`}>
      <a class="number" href={hashOf({ view: "source", path, line })} style={{ minWidth: `${wide + 1}ch` }} aria-label={`Line ${line}`}>{line}</a>
      <code class="line-code"><Coloured text={crop(shown, LONGEST)} string={string && !shown.includes('"""')} /></code>
      {text.length > LONGEST && <span class="muted cut">{(text.length - LONGEST).toLocaleString("en")} more characters</span>}
      {found && <Ghost found={found} />}
    </div>
  );
}

/** What the values of a line are, in each way that leads there; equal ones once. */
export function ghosts(found: StepAt[]): { values: FlowValue[]; at: StepAt }[] {
  const seen = new Map<string, { values: FlowValue[]; at: StepAt }>();
  const forward = found.filter((at) => !at.step.backward);
  for (const at of forward.length ? forward : found) {
    // What has a name is what the line is about; the rest are its intermediate results.
    const typed = at.step.makes.filter((value) => value.type && !value.residual);
    const named = typed.filter((value) => value.name);
    const values = named.length ? named : typed;
    const key = values.map((value) => `${value.name}:${value.type}`).join(";");
    if (values.length && !seen.has(key)) seen.set(key, { values, at });
  }
  return [...seen.values()];
}

const GHOSTS = 3;

function Ghost({ found }: { found: StepAt[] }) {
  const ways = ghosts(found);
  if (!ways.length) return null;
  const [{ values, at }] = ways;
  const all = ways.map((way) => way.values.map((value) => `${value.name ? `${value.name}: ` : ""}${value.type}`).join(", ")).join("\n");
  return (
    <a class="ghost" href={hashOf({ view: "flow", root: at.root, step: at.step.id })} title={visible(all)}>
      {values.slice(0, GHOSTS).map((value) => (
        <span class="ghost-value">{value.name && <bdi>{visible(crop(value.name, 28))}</bdi>} <TypeText type={value.type} axes={value.axes} plain /></span>
      ))}
      {values.length > GHOSTS && <span class="ghost-more">+{values.length - GHOSTS}</span>}
      {ways.length > 1 && <span class="ghost-more">in {ways.length} ways</span>}
    </a>
  );
}

function Note({ finding, view, indent }: { finding: Finding; view: "issues" | "warnings"; indent: number }) {
  return (
    <div class={`note note-${finding.severity}`} style={{ marginLeft: `calc(${indent + 1}ch + 22px)` }}>
      <Severity severity={finding.severity} /> <a class="rule" href={hashOf({ view, finding: finding.id })}>{finding.rule}</a>
      <div><Prose text={finding.message} /></div>
    </div>
  );
}
