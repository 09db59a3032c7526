/** Makes text of the user safe to look at: what a browser would obey is shown as a mark instead. */

const OBEYED = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

export function visible(text: string): string {
  return text.replace(OBEYED, (char) => (char === "\t" || char === "\n" ? char : "\ufffd"));
}

export function crop(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** Splits a message at its backticks: odd parts are names. */
export function prose(text: string): { text: string; name: boolean }[] {
  return visible(text)
    .split("`")
    .map((part, at) => ({ text: part, name: at % 2 === 1 }))
    .filter((part) => part.text !== "");
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function percent(part: number, whole: number): string {
  return whole ? `${Math.floor((100 * part) / whole)}%` : "";
}
