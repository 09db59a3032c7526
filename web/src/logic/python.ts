/** Splits a line of Python into words of a kind, for colour alone: a wrong guess costs nothing but a colour. */
export interface Token {
  text: string;
  kind: "" | "keyword" | "string" | "comment" | "number" | "call" | "decorator";
}

const KEYWORDS = new Set(
  ("and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda match case nonlocal not or pass raise return try while with yield None True False").split(" "),
);
const PATTERN =
  /(#.*$)|([rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\])*(?:"|$)|'(?:\\.|[^'\\])*(?:'|$)))|(@[\w.]+)|(\b\d[\w.]*(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)(?=(\s*\()?)/g;
const LONGEST = 2000;

export function tokens(line: string): Token[] {
  if (line.length > LONGEST) return [{ text: line, kind: "" }];
  const found: Token[] = [];
  let last = 0;
  for (const match of line.matchAll(PATTERN)) {
    if (match.index > last) found.push({ text: line.slice(last, match.index), kind: "" });
    found.push({ text: match[0], kind: kindOf(match) });
    last = match.index + match[0].length;
  }
  if (last < line.length) found.push({ text: line.slice(last), kind: "" });
  return found;
}

function kindOf(match: RegExpMatchArray): Token["kind"] {
  if (match[1]) return "comment";
  if (match[2]) return "string";
  if (match[3]) return "decorator";
  if (match[4]) return "number";
  if (KEYWORDS.has(match[5])) return "keyword";
  return match[6] ? "call" : "";
}

/** Says of each line whether it starts inside a docstring, so that text there is not coloured as code. */
export function insideStrings(lines: string[]): boolean[] {
  const inside: boolean[] = [];
  let open = "";
  for (const line of lines) {
    inside.push(open !== "");
    for (const [quote] of line.matchAll(/"""|'''/g)) {
      if (!open) open = quote;
      else if (open === quote) open = "";
    }
  }
  return inside;
}
