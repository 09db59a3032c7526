/** The frame of the page: summary, views, search, keys, theme. */
import { useCallback, useEffect, useMemo, useRef, useState, useLayoutEffect } from "preact/hooks";
import type { Report } from "./data/model";
import { emptyStore, fillStore, type Store } from "./data/store";
import { hashOf, parseRoute, VIEWS, type Route, type View } from "./logic/route";
import { openBook } from "./logic/axisbook";
import { count, percent, visible } from "./logic/text";
import { PageContext } from "./parts/context";
import { Search } from "./parts/search";
import { Axes } from "./views/axes";
import { Boundaries } from "./views/boundaries";
import { Bar, Coverage } from "./views/coverage";
import { Flow } from "./views/flow";
import { Findings } from "./views/issues";
import { Source } from "./views/source";
import { Verified } from "./views/verified";

const NAMES: Record<View, string> = {
  issues: "Issues", warnings: "Warnings", flow: "Flow", axes: "Axis map", source: "Source", boundaries: "Boundaries",
  verified: "Verified", coverage: "Coverage",
};

export function App() {
  const [store, setStore] = useState<Store>(() => {
    const made = emptyStore();
    openBook(made.report.axes);
    return made;
  });
  const [route, setRoute] = useState<Route>(() => start(store.report));
  const [printing, setPrinting] = useState(false);
  const [help, setHelp] = useState(false);
  const go = useCallback((next: Route) => {
    window.location.hash = hashOf(next);
  }, []);
  useEffect(() => {
    // The first picture comes before the large blocks are unpacked.
    const timer = setTimeout(() => void fillStore(store).then(setStore), 0);
    const moved = (): void => setRoute(start(store.report));
    const before = (): void => setPrinting(true);
    const after = (): void => setPrinting(false);
    window.addEventListener("hashchange", moved);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("hashchange", moved);
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  useShortcuts(go, () => setHelp((shown) => !shown));
  useEffect(() => {
    document.title = `${NAMES[route.view]}: ${targetName(store.report)} - jaxaudit`;
  }, [route.view]);
  const page = useMemo(() => ({ store, route, go, printing }), [store, route, printing]);
  return (
    <PageContext.Provider value={page}>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <Header report={store.report} help={() => setHelp(true)} />
      <Views route={route} report={store.report} />
      <main id="main" tabIndex={-1} aria-label={NAMES[route.view]} data-view={route.view} data-ready={store.ready ? "yes" : "no"}>{screen(route.view, store)}</main>
      {help && <Help close={() => setHelp(false)} />}
    </PageContext.Provider>
  );
}

/** An id of a warning may come as `#issue-...` too: people link to what they saw, whatever its severity. */
function start(report: Report): Route {
  const route = parseRoute(window.location.hash);
  const swap = (from: View, to: View): Route | undefined => {
    const [mine, other] = [report[from as "issues" | "warnings"], report[to as "issues" | "warnings"]];
    const misses = route.view === from && route.finding && !mine.some((one) => one.id === route.finding);
    return misses && other.some((one) => one.id === route.finding) ? { ...route, view: to } : undefined;
  };
  return swap("issues", "warnings") ?? swap("warnings", "issues") ?? route;
}

function screen(view: View, store: Store) {
  switch (view) {
    case "issues": return <Findings key="issues" findings={store.report.issues} view="issues" />;
    case "warnings": return <Findings key="warnings" findings={store.report.warnings} view="warnings" />;
    case "flow": return <Flow />;
    case "axes": return <Axes />;
    case "source": return <Source />;
    case "boundaries": return <Boundaries />;
    case "verified": return <Verified />;
    case "coverage": return <Coverage />;
  }
}

function targetName(report: Report): string {
  const traced = report.targets.find((target) => target.name);
  const files = report.targets.filter((target) => !target.name);
  if (files.length === 1) return visible(files[0].path);
  if (files.length > 1) return count(files.length, "file");
  return traced ? visible(`${traced.path}:${traced.name}`) : "nothing";
}

function Header({ report, help }: { report: Report; help: () => void }) {
  const { coverage } = report;
  const kinds = report.issues.map((one) => one.severity);
  const errors = kinds.filter((kind) => kind === "error").length;
  const slow = kinds.length - errors;
  return (
    <header class="top">
      <a class="brand" href="#issues"><Mark /> jaxaudit</a>
      <span class="target"><bdi>{targetName(report)}</bdi></span>
      <div class="sum">
        {errors > 0 && <span class="sum-error"><b>{errors}</b> {errors === 1 ? "error" : "errors"}</span>}
        {slow > 0 && <span class="sum-performance"><b>{slow}</b> performance</span>}
        {kinds.length === 0 && <span class="sum-clean">no issues</span>}
        {report.warnings.length > 0 && <span class="sum-warning"><b>{report.warnings.length}</b> {report.warnings.length === 1 ? "warning" : "warnings"}</span>}
        {coverage.obligations > 0 && (
          <a class="sum-coverage" href="#coverage" title={`${coverage.proved} proved, ${coverage.violated} violated, ${coverage.unknown} open`}>
            <Bar tally={coverage} /> <b>{percent(coverage.obligations - coverage.unknown, coverage.obligations)}</b> of {count(coverage.obligations, "obligation")} decided
          </a>
        )}
      </div>
      <span class="push" />
      <Search />
      <ThemeButton />
      <button type="button" class="icon" aria-label="Keys" title="Keys (?)" onClick={help}>?</button>
    </header>
  );
}

function Mark() {
  return <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><path class="mark-a" d="M3 2v7a6 6 0 0 0 6 6" /><path class="mark-b" d="M9 2v4a4 4 0 0 1-1 9" /><path class="mark-c" d="M15 2v13" /></svg>;
}

function Views({ route, report }: { route: Route; report: Report }) {
  useEffect(() => {
    document.querySelector(".view[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [route.view]);
  const counts: Partial<Record<View, number>> = {
    issues: report.issues.length, warnings: report.warnings.length, boundaries: report.boundaries.length,
    verified: report.verified.length, flow: report.steps, axes: report.axes.filter((axis) => axis.name).length || report.axes.length,
  };
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map((view) => (
        <a href={`#${view}`} aria-current={route.view === view ? "page" : undefined} class={`view view-${view} ${counts[view] ? "some" : ""}`}>
          {NAMES[view]}{counts[view] !== undefined && <span class="number">{counts[view]?.toLocaleString("en")}</span>}
        </a>
      ))}
    </nav>
  );
}

function ThemeButton() {
  const [theme, setTheme] = useState(() => document.documentElement.dataset.theme);
  const dark = theme === "dark";
  const flip = (): void => {
    const next = dark ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    setTheme(next);
  };
  return <button type="button" class="icon" id="theme" aria-label={dark ? "Light theme" : "Dark theme"} title="Theme (t)" onClick={flip}>{dark ? "☀" : "☾"}</button>;
}

function useShortcuts(go: (route: Route) => void, help: () => void): void {
  // Before the first paint: whoever sees the page can press a key.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
      if (/^[1-8]$/.test(event.key)) go({ view: VIEWS[Number(event.key) - 1] });
      else if (event.key === "/") {
        event.preventDefault();
        document.getElementById("search")?.focus();
      } else if (event.key === "t") document.getElementById("theme")?.click();
      else if (event.key === "?") help();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

const KEYS: [string, string][] = [
  ["1 to 8", "go to a view"], ["/", "search"], ["j, k", "next and previous finding"], ["t", "light or dark"],
  ["Enter", "open or fold a box, choose a step"], ["arrows, +, -, 0", "move, zoom and fit the graph"], ["?", "this list"],
];

function Help({ close }: { close: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  // Before the next paint: the dialog must hear the first key.
  useLayoutEffect(() => {
    button.current?.focus();
    const pressed = (event: KeyboardEvent): void => {
      if (event.key === "Escape") close();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
  return (
    <div class="veil" onClick={close}>
      <div class="help" role="dialog" aria-modal="true" aria-label="Keys" onClick={(event) => event.stopPropagation()}>
        <h2>Keys</h2>
        <dl>{KEYS.map(([key, what]) => <><dt><kbd>{key}</kbd></dt><dd>{what}</dd></>)}</dl>
        <button type="button" ref={button} onClick={close}>Close</button>
      </div>
    </div>
  );
}
