/** How far the audit saw: by family, by file, and why the rest is open. */
import { useMemo, useState } from "preact/hooks";
import type { Coverage as Seen, Report, Tally, Verdict } from "../data/model";
import { count, percent, visible } from "../logic/text";
import { Empty, Prose, Spot } from "../parts/bits";
import { usePage } from "../parts/context";

const SHOWN = 40;

export function Coverage() {
  const { store } = usePage();
  const { report } = store;
  const { coverage } = report;
  const files = useMemo(() => byFile(report), [report]);
  const reasons = useMemo(() => byReason(report.unknown), [report]);
  const skipped = useMemo(() => byReason(verdicts(coverage.skipped)), [report]);
  const shapeless = useMemo(() => byReason(verdicts(coverage.shapeless)), [report]);
  return (
    <div class="coverage scroll" tabIndex={0}>
      <div class="figures">
        <Figure number={percent(coverage.obligations - coverage.unknown, coverage.obligations) || "none"} of="of obligations decided" />
        <Figure number={coverage.obligations.toLocaleString("en")} of="obligations" />
        <Figure number={coverage.files.toLocaleString("en")} of={`${coverage.files === 1 ? "file" : "files"}, ${count(coverage.lines, "line")}`} />
        <Figure number={coverage.entered.toLocaleString("en")} of={`of ${count(coverage.functions, "function")} entered`} />
        {!!coverage.arrays && <Figure number={percent(coverage.shapes ?? 0, coverage.arrays) || "none"} of={`of ${count(coverage.arrays, "array")} with a known shape`} />}
        {!!coverage.traced && <Figure number={coverage.traced.toLocaleString("en")} of={coverage.traced === 1 ? "function traced" : "functions traced"} />}
        {!!coverage.suppressed && <Figure number={coverage.suppressed.toLocaleString("en")} of="findings suppressed" />}
      </div>
      {coverage.obligations === 0 && <Empty title="Nothing to decide">The rules of this run found nothing in these files that they look at.</Empty>}
      <Tallies title="By family" head="family" rows={Object.entries(coverage.by_family).filter(([, tally]) => tally.obligations)} />
      <Tallies title="By file" head="file" rows={files} />
      {reasons.length > 0 && <Reasons title="Why the rest is open" rows={reasons} />}
      <Observed rows={coverage.observed ?? []} />
      {shapeless.length > 0 && <Reasons title="Functions without a single known shape" rows={shapeless} />}
      {skipped.length > 0 && <Reasons title="Functions not entered" rows={skipped} />}
    </div>
  );
}

function Figure({ number, of }: { number: string; of: string }) {
  return <div class="figure"><b>{number}</b><span>{of}</span></div>;
}

function Tallies({ title, head, rows }: { title: string; head: string; rows: [string, Tally][] }) {
  const [whole, setWhole] = useState(false);
  if (!rows.length) return null;
  const shown = whole ? rows : rows.slice(0, SHOWN);
  return (
    <section>
      <h2>{title}</h2>
      <table class="tally">
        <thead><tr><th scope="col">{head}</th><th scope="col">proved</th><th scope="col">violated</th><th scope="col">open</th><th scope="col">in all</th><th scope="col" class="bar-head">decided</th></tr></thead>
        <tbody>
          {shown.map(([name, tally]) => (
            <tr>
              <th scope="row">{head === "file" ? <Spot path={name} line={1} /> : visible(name)}</th>
              <td>{figure(tally.proved)}</td><td>{figure(tally.violated)}</td><td>{figure(tally.unknown)}</td><td>{figure(tally.obligations)}</td>
              <td class="bar-cell"><Bar tally={tally} /><span>{percent(tally.obligations - tally.unknown, tally.obligations)}</span></td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && <button type="button" class="more" onClick={() => setWhole(true)}>{count(rows.length - shown.length, "more row")}</button>}
    </section>
  );
}

function Observed({ rows }: { rows: NonNullable<Seen["observed"]> }) {
  if (!rows.length) return null;
  return (
    <section>
      <h2>Functions entered with arguments that were observed</h2>
      <table class="entered">
        <thead><tr><th scope="col">function</th><th scope="col">arguments</th><th scope="col">seen</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <th scope="row"><Spot path={row.path} line={row.line} /> {visible(row.function)}</th>
              <td><code>{visible(row.arguments)}</code></td>
              <td>{visible(row.text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function figure(number: number) {
  return number ? number.toLocaleString("en") : <span class="zero">0</span>;
}

export function Bar({ tally }: { tally: Tally }) {
  const share = (part: number) => ({ width: `${(100 * part) / (tally.obligations || 1)}%` });
  return (
    <span class="bar" role="img" aria-label={`${tally.proved} proved, ${tally.violated} violated, ${tally.unknown} open`}>
      <span class="bar-proved" style={share(tally.proved)} /><span class="bar-violated" style={share(tally.violated)} /><span class="bar-unknown" style={share(tally.unknown)} />
    </span>
  );
}

interface Reason {
  rule: string;
  reason: string;
  places: { path: string; line: number }[];
}

function Reasons({ title, rows }: { title: string; rows: Reason[] }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? rows : rows.slice(0, SHOWN);
  return (
    <section>
      <h2>{title}</h2>
      <ul class="reasons">{shown.map((row) => <ReasonRow row={row} />)}</ul>
      {rows.length > shown.length && <button type="button" class="more" onClick={() => setWhole(true)}>{count(rows.length - shown.length, "more reason")}</button>}
    </section>
  );
}

function ReasonRow({ row }: { row: Reason }) {
  return (
    <li>
      <details>
        <summary><b>{row.places.length.toLocaleString("en")}</b>{row.rule && <span class="rule">{row.rule}</span>}<span class="reason"><Prose text={row.reason} /></span></summary>
        <p class="places">{row.places.slice(0, 60).map((place) => <Spot path={place.path} line={place.line} />)}{row.places.length > 60 && <span class="muted">and {row.places.length - 60} more</span>}</p>
      </details>
    </li>
  );
}

function verdicts(rows: Seen["skipped"]): Verdict[] {
  return (rows ?? []).map((one) => ({ ...one, rule: "", family: "" }));
}

export function byReason(rows: Verdict[]): Reason[] {
  const reasons = new Map<string, Reason>();
  for (const one of rows) {
    const key = `${one.rule}\n${one.reason}`;
    const found = reasons.get(key);
    if (found) found.places.push(one);
    else reasons.set(key, { rule: one.rule, reason: one.reason, places: [one] });
  }
  return [...reasons.values()].sort((one, other) => other.places.length - one.places.length);
}

export function byFile(report: Report): [string, Tally][] {
  const files = new Map<string, Tally>();
  const add = (path: string, verdict: "proved" | "violated" | "unknown"): void => {
    const tally = files.get(path) ?? { obligations: 0, proved: 0, violated: 0, unknown: 0 };
    tally.obligations += 1;
    tally[verdict] += 1;
    files.set(path, tally);
  };
  report.verified.forEach((one) => add(one.path, "proved"));
  report.issues.forEach((one) => add(one.path, "violated"));
  report.unknown.forEach((one) => add(one.path, "unknown"));
  return [...files].sort(([, one], [, other]) => other.unknown - one.unknown || other.obligations - one.obligations);
}
