// Builds the page into the package: one script, one style sheet, the frame, and the layout engine, compressed.
// `node build.mjs --check` builds into memory and compares with what is committed.
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { gunzipSync, gzipSync, constants } from "node:zlib";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = path.join(here, "..", "src", "jaxaudit", "reports", "html", "assets");

async function bundled(entry, loader) {
  const result = await build({
    entryPoints: [path.join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    legalComments: "none",
    target: "es2022",
    format: loader === "css" ? undefined : "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  return Buffer.from(result.outputFiles[0].contents);
}

async function licences() {
  const names = ["preact", "d3-zoom", "d3-selection", "d3-transition", "d3-interpolate", "d3-color", "d3-drag",
    "d3-dispatch", "d3-ease", "d3-timer", "elkjs"];
  const parts = [];
  for (const name of names) {
    const folder = path.join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    let text = "";
    for (const file of ["LICENSE", "LICENSE.md"]) {
      text ||= await readFile(path.join(folder, file), "utf8").catch(() => "");
    }
    parts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return Buffer.from(parts.join(`\n${"-".repeat(80)}\n\n`));
}

const files = {
  "app.js": await bundled("main.tsx", "js"),
  "app.css": await bundled("style.css", "css"),
  "page.html": await readFile(path.join(here, "src", "page.html")),
  "elk-worker.js.gz": gzipSync(await readFile(path.join(here, "node_modules/elkjs/lib/elk-worker.min.js")), {
    level: constants.Z_BEST_COMPRESSION,
  }),
  "LICENSES.txt": await licences(),
};

// Compressed bytes may differ between versions of zlib; what is inside may not.
const content = (name, bytes) => (name.endsWith(".gz") ? gunzipSync(bytes) : bytes);

if (process.argv.includes("--check")) {
  const stale = [];
  for (const [name, bytes] of Object.entries(files)) {
    const committed = await readFile(path.join(target, name)).catch(() => null);
    if (!committed || !content(name, committed).equals(content(name, bytes))) stale.push(name);
  }
  if (stale.length) {
    console.error(`not built from the source in web/: ${stale.join(", ")}; run \`npm run build\` in web/`);
    process.exit(1);
  }
} else {
  await mkdir(target, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) {
    const committed = await readFile(path.join(target, name)).catch(() => null);
    if (!committed || !content(name, committed).equals(content(name, bytes))) await writeFile(path.join(target, name), bytes);
    console.log(`${name}  ${(bytes.length / 1024).toFixed(0)} KB`);
  }
}
