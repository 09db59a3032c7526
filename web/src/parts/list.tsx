/** A list that draws only what is in sight, however long it is; when printed it draws everything up to a bound. */
import type { ComponentChild } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Heights } from "../logic/heights";
import { usePage } from "./context";

const PRINTED = 3000;
const AROUND = 400;

export interface ListProps<Item> {
  items: Item[];
  height: (item: Item) => number;
  row: (item: Item, at: number) => ComponentChild;
  /** The row to bring into sight. */
  show?: number;
  label: string;
  role?: "list" | "rowgroup";
  class?: string;
  keyOf?: (item: Item, at: number) => string | number;
}

export function List<Item>({ items, height, row, show, label, role = "list", keyOf, class: style = "" }: ListProps<Item>) {
  const { printing } = usePage();
  const box = useRef<HTMLDivElement>(null);
  const heights = useMemo(() => new Heights(items.map(height)), [items]);
  const [view, setView] = useState({ top: 0, size: 900 });
  const [, redraw] = useState(0);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const update = (): void => setView({ top: element.scrollTop, size: element.clientHeight });
    update();
    element.addEventListener("scroll", update, { passive: true });
    const observer = new ResizeObserver(update);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", update);
      observer.disconnect();
    };
  }, []);

  // Rows that turn out higher or lower than thought are measured; those above the sight keep it in place.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || printing) return;
    let changed = false;
    for (const child of element.querySelectorAll<HTMLElement>(":scope > .list-window > [data-at]")) {
      changed = heights.set(Number(child.dataset.at), child.offsetHeight) || changed;
    }
    if (changed) redraw((number) => number + 1);
  });

  useLayoutEffect(() => {
    const element = box.current;
    if (show === undefined || show < 0 || !element) return;
    const bring = (): void => {
      element.scrollTop = Math.max(0, heights.start(show) - element.clientHeight / 3);
    };
    bring();
    // Rows above are measured after the first drawing; then the place is exact.
    requestAnimationFrame(() => requestAnimationFrame(bring));
  }, [show, items]);

  const from = printing ? 0 : heights.at(view.top - AROUND);
  const to = printing ? Math.min(items.length, PRINTED) : heights.at(view.top + view.size + AROUND) + 1;
  const left = printing ? items.length - to : 0;
  return (
    <div class={`list ${style}`} ref={box} role={role} aria-label={label} tabIndex={0}>
      <div class="list-window" style={printing ? {} : { paddingTop: `${heights.start(from)}px`, paddingBottom: `${heights.total - heights.start(to)}px` }}>
        {items.slice(from, to).map((item, at) => (
          <div data-at={from + at} key={keyOf ? keyOf(item, from + at) : from + at} role={role === "list" ? "listitem" : undefined} aria-setsize={items.length} aria-posinset={from + at + 1}>
            {row(item, from + at)}
          </div>
        ))}
        {left > 0 && <p class="muted">{left.toLocaleString("en")} more rows are left out of print.</p>}
      </div>
    </div>
  );
}
