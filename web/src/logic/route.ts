/** Deep links: what is in sight is in the address, so a link to a file on disk opens at the issue that is meant. */

export const VIEWS = ["issues", "warnings", "flow", "axes", "source", "boundaries", "verified", "coverage"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  finding?: string;
  root?: number;
  step?: number;
  axis?: string;
  path?: string;
  line?: number;
  boundary?: number;
}

export function parseRoute(hash: string): Route {
  const text = decode(hash.replace(/^#/, ""));
  const [, head, rest] = /^([a-z]+)(?:-(.*))?$/s.exec(text) ?? [];
  switch (head) {
    case "issue":
      return { view: "issues", finding: rest };
    case "warning":
      return { view: "warnings", finding: rest };
    case "flow": {
      const [, root, step] = /^(\d+)(?:-(\d+))?$/.exec(rest ?? "") ?? [];
      return { view: "flow", root: number(root), step: number(step) };
    }
    case "axis":
      return { view: "axes", axis: rest };
    case "source": {
      const [, path, line] = /^(.*?)(?::(\d+))?$/s.exec(rest ?? "") ?? [];
      return { view: "source", path: path || undefined, line: number(line) };
    }
    case "boundary":
      return { view: "boundaries", boundary: number(rest) };
  }
  return { view: VIEWS.find((view) => view === text) ?? "issues" };
}

export function hashOf(route: Route): string {
  const { view } = route;
  if (view === "issues" && route.finding) return `#issue-${route.finding}`;
  if (view === "warnings" && route.finding) return `#warning-${route.finding}`;
  if (view === "flow" && route.root !== undefined) {
    return `#flow-${route.root}${route.step === undefined ? "" : `-${route.step}`}`;
  }
  if (view === "axes" && route.axis) return `#axis-${encodeURIComponent(route.axis)}`;
  if (view === "source" && route.path) {
    return `#source-${encodeURIComponent(route.path).replaceAll("%2F", "/")}${route.line ? `:${route.line}` : ""}`;
  }
  if (view === "boundaries" && route.boundary !== undefined) return `#boundary-${route.boundary}`;
  return `#${view}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function number(text: string | undefined): number | undefined {
  return text === undefined || text === "" ? undefined : Number(text);
}
