import { render } from "preact";
import { App } from "./app";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = (): void => {
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
};
follow();
dark.addEventListener("change", follow);

const host = document.getElementById("app");
if (host) {
  host.textContent = "";
  render(<App />, host);
}
