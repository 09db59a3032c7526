/** What every part of the page may ask for: the data, where we are, and how to go elsewhere. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Store } from "../data/store";
import type { Route } from "../logic/route";

export interface Page {
  store: Store;
  route: Route;
  go: (route: Route) => void;
  printing: boolean;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("used outside of the page");
  return page;
}
