/** The search field: everything that has a name, by keyboard or mouse. */
import { useMemo, useRef, useState } from "preact/hooks";
import { buildIndex, search, type Index } from "../logic/search";
import { crop, visible } from "../logic/text";
import { usePage } from "./context";

export function Search() {
  const { store } = usePage();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const [shown, setShown] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // The index of a large program takes a moment, so it is made when somebody searches.
  const index = useRef<{ store: unknown; entries: Index } | undefined>(undefined);
  const hits = useMemo(() => {
    if (!query.trim()) return [];
    if (index.current?.store !== store) index.current = { store, entries: buildIndex(store) };
    return search(index.current.entries, query);
  }, [query, store]);
  const leave = (): void => {
    setShown(false);
    field.current?.blur();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setAt(Math.min(hits.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter" && hits[at]) {
      window.location.hash = hits[at].hash;
      leave();
    } else if (event.key === "Escape") leave();
    else return;
    event.preventDefault();
  };
  return (
    <div class="search" role="search">
      <input id="search" ref={field} type="search" placeholder="Search" aria-label="Search the report" autocomplete="off" spellcheck={false} value={query}
        aria-controls="hits" aria-activedescendant={shown && hits.length ? `hit-${at}` : undefined}
        onInput={(event) => { setQuery(event.currentTarget.value); setAt(0); setShown(true); }} onFocus={() => setShown(true)} onBlur={() => setShown(false)} onKeyDown={pressed} />
      <kbd class="search-key">/</kbd>
      {shown && query.trim() && (
        <ul class="hits" id="hits" role="listbox" aria-label="Hits">
          {hits.map((hit, number) => (
            <li role="option" id={`hit-${number}`} aria-selected={number === at} onMouseDown={(event) => { event.preventDefault(); window.location.hash = hit.hash; leave(); }}>
              <span class={`hit-kind hit-${hit.kind}`}>{hit.kind}</span>
              <bdi class="hit-title">{visible(crop(hit.title, 90))}</bdi><span class="hit-detail">{visible(crop(hit.detail, 60))}</span>
            </li>
          ))}
          {!hits.length && <li class="muted none">Nothing is called that.</li>}
        </ul>
      )}
    </div>
  );
}
