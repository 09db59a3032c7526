/** The layout engine in its own thread; its code is unpacked when the first graph is drawn. */
import { readBlock } from "../data/unpack";
import type { ElkNode } from "./layout";

interface Waiting {
  resolve: (laid: ElkNode) => void;
  reject: (reason: Error) => void;
}

let engine: Promise<Worker> | undefined;
let next = 1;
const waiting = new Map<number, Waiting>();

export async function layOut(graph: ElkNode): Promise<ElkNode> {
  engine ??= start();
  const worker = await engine;
  const id = next++;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, cmd: "layout", graph });
  });
}

async function start(): Promise<Worker> {
  const code = await readBlock("data-elk");
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => {
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) asked?.reject(new Error(String(data.error.message ?? data.error)));
    else asked?.resolve(data.data as ElkNode);
  };
  worker.onerror = (event) => {
    for (const asked of waiting.values()) asked.reject(new Error(event.message));
    waiting.clear();
  };
  worker.postMessage({ id: 0, cmd: "register", algorithms: ["layered"] });
  return worker;
}
