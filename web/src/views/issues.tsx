/** Issues and warnings: what happens, what was meant, the way there, the repair; every step leads to source and flow. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Finding, WhyStep } from "../data/model";
import { hashOf, type View } from "../logic/route";
import { count, visible } from "../logic/text";
import { Chip, Empty, FlowLink, Prose, Severity, Spot } from "../parts/bits";
import { CodeLine, Snippet } from "../parts/code";
import { usePage } from "../parts/context";
import { List } from "../parts/list";

export function Findings({ findings, view }: { findings: Finding[]; view: View }) {
  const { route, go, store } = usePage();
  const [family, setFamily] = useState("");
  const families = useMemo(() => tally(findings), [findings]);
  const shown = useMemo(() => (family ? findings.filter((one) => one.family === family) : findings), [findings, family]);
  const at = shown.findIndex((one) => one.id === route.finding);
  useKeys((step) => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + step))];
    if (next) go({ view, finding: next.id });
  });
  useEffect(() => {
    if (at < 0 && route.finding && findings.some((one) => one.id === route.finding)) setFamily("");
  }, [route.finding]);
  if (!findings.length) return <None view={view} />;
  return (
    <>
      {families.length > 1 && (
        <div class="filters" role="group" aria-label="Families">
          <button type="button" aria-pressed={!family} onClick={() => setFamily("")}>all <b>{findings.length}</b></button>
          {families.map(([name, number]) => (
            <button type="button" aria-pressed={family === name} onClick={() => setFamily(family === name ? "" : name)}>{name} <b>{number}</b></button>
          ))}
        </div>
      )}
      <List
        items={shown} class="findings" label={view} show={at < 0 ? undefined : at} keyOf={(one) => one.id}
        height={(one) => 190 + 46 * (one.why?.length ?? 0)}
        row={(one) => <Card finding={one} chosen={one.id === route.finding} view={view} ready={store.ready} />}
      />
    </>
  );
}

function None({ view }: { view: View }) {
  const { store } = usePage();
  const { coverage } = store.report;
  if (view === "warnings") return <Empty title="No warnings">Nothing here holds only by luck, and no intent was left in doubt.</Empty>;
  return (
    <Empty title="No issues found">
      {coverage.obligations
        ? `${count(coverage.proved, "obligation")} of ${coverage.obligations.toLocaleString("en")} hold for sure; what could not be decided is under Coverage.`
        : "The rules of this run found nothing here that they look at. Coverage tells how far the audit saw."}
    </Empty>
  );
}

function Card({ finding, chosen, view }: { finding: Finding; chosen: boolean; view: View; ready: boolean }) {
  const hash = hashOf({ view, finding: finding.id });
  return (
    <article class={`finding finding-${finding.severity} ${chosen ? "chosen" : ""}`} id={hash.slice(1)} aria-current={chosen ? "true" : undefined}>
      <header>
        <Severity severity={finding.severity} />
        <Chip>{finding.family}</Chip>
        <span class="rule">{finding.rule}</span>
        <span class="push" />
        <Spot path={finding.path} line={finding.line} />
        <FlowLink path={finding.path} line={finding.line} />
        <a class="anchor" href={hash} title="Link to this finding" aria-label="Link to this finding">#</a>
      </header>
      <h3><Prose text={finding.message} /></h3>
      <Snippet finding={finding} />
      <dl class="now">
        {finding.current && (<><dt>now</dt><dd><Lines text={finding.current} /></dd></>)}
        {finding.expected && (<><dt>meant</dt><dd><Lines text={finding.expected} /></dd></>)}
      </dl>
      {!!finding.why?.length && <Why steps={finding.why} from={finding.path} />}
      <Reason rule={finding.rule} />
      {finding.suggestion?.text && (
        <div class="fix"><span class="fix-word">fix</span><div><Lines text={finding.suggestion.text} /></div></div>
      )}
    </article>
  );
}

/** Why the rule exists, for those who meet it for the first time. */
function Reason({ rule }: { rule: string }) {
  const { store } = usePage();
  const text = store.report.rules?.[rule];
  if (!text) return null;
  return (
    <details class="reason-of-rule">
      <summary>Why is this bad?</summary>
      {text.split(/\n\s*\n/).map((part) => <p><Prose text={part.replace(/\s+/g, " ")} /></p>)}
    </details>
  );
}

function Lines({ text }: { text: string }) {
  return <>{text.split("\n").map((line) => <span class="text-line"><Prose text={line} /></span>)}</>;
}

function Why({ steps, from }: { steps: WhyStep[]; from: string }) {
  return (
    <ol class="why" aria-label="How it comes about">
      {steps.map((step, at) => (
        <li>
          <div class="why-text"><Prose text={step.text} /></div>
          <div class="why-place">
            <a class="why-code" href={hashOf({ view: "source", path: step.path, line: step.line })}>
              {step.path !== (at ? steps[at - 1].path : from) && <span class="why-path">{visible(step.path)}</span>}
              <span class="number">{step.line}</span>
              <CodeLine path={step.path} line={step.line} />
            </a>
            <FlowLink path={step.path} line={step.line} />
          </div>
        </li>
      ))}
    </ol>
  );
}

function tally(findings: Finding[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const one of findings) counts.set(one.family, (counts.get(one.family) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]);
}

/** `j` and `k` go through a list. */
export function useKeys(move: (step: number) => void): void {
  const latest = useRef(move);
  latest.current = move;
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
      if (event.key === "j") latest.current(1);
      if (event.key === "k") latest.current(-1);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
