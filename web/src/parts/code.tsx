/** Lines of the user's code, as text. */
import type { Finding } from "../data/model";
import { tokens } from "../logic/python";
import { crop, visible } from "../logic/text";
import { usePage } from "./context";

const LONGEST = 400;

export function CodeLine({ path, line }: { path: string; line: number }) {
  const { store } = usePage();
  const text = store.sources.get(path)?.[line - 1];
  return <code class="code-line">{text === undefined ? "" : <Coloured text={crop(visible(text.trim()), 160)} />}</code>;
}

export function Coloured({ text, string }: { text: string; string?: boolean }) {
  if (string) return <span class="tok-string">{text}</span>;
  return <>{tokens(text).map((token) => (token.kind ? <span class={`tok-${token.kind}`}>{token.text}</span> : token.text))}</>;
}

/** The marked lines of a finding, four at the most. */
export function Snippet({ finding }: { finding: Finding }) {
  const { store } = usePage();
  const lines = store.sources.get(finding.path);
  if (!lines) return null;
  const last = Math.max(finding.line, Math.min(finding.end_line || finding.line, finding.line + 3));
  const shown = lines.slice(finding.line - 1, last);
  if (!shown.some((line) => line.trim())) return null;
  const blank = Math.min(...shown.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length));
  return (
    <pre class={`snippet mark-${finding.severity}`}>
      {shown.map((text, at) => {
        const line = finding.line + at;
        const start = at === 0 ? finding.column - 1 : text.length - text.trimStart().length;
        const end = line === finding.end_line ? finding.end_column - 1 : text.trimEnd().length;
        return <Marked text={text} blank={blank} start={start} end={end} line={line} />;
      })}
      {finding.end_line > last && <span class="snippet-row"><span class="number" /><span class="muted">…</span></span>}
    </pre>
  );
}

interface MarkedProps {
  text: string;
  blank: number;
  start: number;
  end: number;
  line: number;
}

function Marked({ text, blank, start, end, line }: MarkedProps) {
  // Columns count code points, strings count UTF-16 units.
  const points = [...text];
  const from = Math.max(blank, start);
  const shift = from > LONGEST ? from - 40 : blank;
  const part = (low: number, high: number): string => visible(points.slice(Math.max(low, shift), Math.min(high, shift + LONGEST)).join(""));
  const stop = Math.max(from, end);
  return (
    <span class="snippet-row">
      <span class="number">{line}</span>
      <span>
        {shift > blank && "…"}<Coloured text={part(shift, from)} /><mark>{part(from, stop) || " "}</mark><Coloured text={part(stop, points.length)} />
        {points.length > shift + LONGEST && "…"}
      </span>
    </span>
  );
}
