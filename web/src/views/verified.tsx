/** What holds, and why: every proved obligation, by rule. */
import { useMemo, useState } from "preact/hooks";
import type { Verdict } from "../data/model";
import { count } from "../logic/text";
import { Empty, FlowLink, Prose, Spot } from "../parts/bits";
import { CodeLine } from "../parts/code";
import { usePage } from "../parts/context";
import { List } from "../parts/list";

type Row = { rule: string; family: string; number: number } | Verdict;

export function Verified() {
  const { store } = usePage();
  const { verified } = store.report;
  const [shut, setShut] = useState<ReadonlySet<string>>(new Set());
  const [query, setQuery] = useState("");
  const rows = useMemo(() => rowsOf(verified, query.toLowerCase(), shut), [verified, query, shut]);
  if (!verified.length) return <Empty title="Nothing verified">No rule of this run found an obligation here that it could prove.</Empty>;
  const toggle = (rule: string): void => {
    const next = new Set(shut);
    if (!next.delete(rule)) next.add(rule);
    setShut(next);
  };
  return (
    <>
      <div class="filters">
        <input type="search" value={query} placeholder="Filter by rule, file or reason" aria-label="Filter what is verified" onInput={(event) => setQuery(event.currentTarget.value)} />
        <span class="muted">{count(verified.length, "obligation")} proved</span>
      </div>
      <List items={rows} label="Verified" class="ledger" height={(row) => ("number" in row ? 44 : 30)} row={(row) => "number" in row
        ? (
          <button type="button" class="ledger-head" aria-expanded={!shut.has(row.rule)} onClick={() => toggle(row.rule)}>
            <span class="twist" aria-hidden="true" />{row.rule} <span class="muted">{row.family}</span> <b class="proved">{row.number.toLocaleString("en")}</b>
          </button>
        )
        : <Entry row={row} />}
      />
    </>
  );
}

export function Entry({ row }: { row: Verdict }) {
  return (
    <div class="ledger-row">
      <span class="ledger-place"><Spot path={row.path} line={row.line} /><FlowLink path={row.path} line={row.line} /></span>
      <CodeLine path={row.path} line={row.line} />
      <span class="ledger-reason"><Prose text={row.reason} /></span>
    </div>
  );
}

export function rowsOf(verdicts: Verdict[], query: string, shut: ReadonlySet<string>): Row[] {
  const rules = new Map<string, Verdict[]>();
  for (const one of verdicts) {
    if (query && !`${one.rule} ${one.path} ${one.reason}`.toLowerCase().includes(query)) continue;
    const found = rules.get(one.rule);
    if (found) found.push(one);
    else rules.set(one.rule, [one]);
  }
  return [...rules].sort(([one], [other]) => one.localeCompare(other)).flatMap(([rule, found]) => [
    { rule, family: found[0].family, number: found.length }, ...(shut.has(rule) ? [] : found),
  ]);
}
