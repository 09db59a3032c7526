/** The axis map: every axis a coloured line through the program. */
import { useMemo, useState } from "preact/hooks";
import type { Axis } from "../data/model";
import { book } from "../logic/axisbook";
import { outline } from "../logic/graph";
import { hashOf } from "../logic/route";
import { subway, type Band, type Lane, type Row, type Subway } from "../logic/subway";
import { count, visible } from "../logic/text";
import { Chip, Empty, Prose, Spot, TypeText, transformKind } from "../parts/bits";
import { CodeLine } from "../parts/code";
import { usePage } from "../parts/context";
import { List } from "../parts/list";

const LANE = 22;
const ROW = 46;
const MOST = 14;
const FEW = 8;

export function Axes() {
  const { store, route, go } = usePage();
  const { axes } = store.report;
  const roots = useMemo(() => [...new Set(axes.map((axis) => axis.root))], [axes]);
  const chosen = axes.find((axis) => axis.id === route.axis);
  const [picked, setRoot] = useState("");
  const [all, setAll] = useState(false);
  const root = chosen?.root ?? (roots.includes(picked) ? picked : mainRoot(axes));
  const mine = useMemo(() => axes.filter((axis) => axis.root === root).sort(byWeight), [axes, root]);
  const usual = useMemo(() => usualLines(mine), [mine]);
  const lines = chosen ? [chosen, ...related(chosen, mine)] : all ? mine.slice(0, 60) : usual;
  // Axes that source names belong to no single function; their steps are told apart only where there is one.
  const flow = root ? store.flow.find((one) => one.name === root) : store.flow.length === 1 ? store.flow[0] : undefined;
  const map = useMemo(() => {
    const made = flow ? outline(flow) : undefined;
    return subway(root || made ? lines : lines.map(withoutSteps), made);
  }, [lines.map((axis) => axis.id).join("\n"), flow]);
  if (!axes.length) return <NoAxes />;
  return (
    <div class="axes">
      <div class="filters">
        {roots.length > 1 && (
          <label>function{" "}
            <select value={root} onChange={(event) => { setRoot(event.currentTarget.value); go({ view: "axes" }); }}>
              {roots.map((name) => <option value={name}>{visible(name)}</option>)}
            </select>
          </label>
        )}
        <div class="legend" role="group" aria-label="Axes">
          {mine.filter((axis) => usual.includes(axis) || all || axis === chosen).slice(0, 60).map((axis) => (
            <button type="button" class={`axis-chip axis-${book.colour(axis.id)}`} aria-pressed={axis === chosen} onClick={() => go(axis === chosen ? { view: "axes" } : { view: "axes", axis: axis.id })} title={visible(axis.origin ?? "")}>
              <span class="swatch" aria-hidden="true" /><bdi>{visible(book.title(axis))}</bdi> <span class="size">{axis.size}</span>
            </button>
          ))}
          {mine.length > usual.length && (
            <button type="button" class="quiet" aria-pressed={all} onClick={() => setAll(!all)}>{all ? "fewer" : `${count(mine.length - usual.length, "more axis", "more axes")}`}</button>
          )}
        </div>
      </div>
      {chosen && <About axis={chosen} />}
      <List items={map.rows} label="Stations of the axes" class="subway" height={() => ROW} keyOf={(row) => `${row.order} ${row.path}:${row.line}`}
        row={(row, at) => <Stop row={row} at={at} map={map} chosen={chosen} />} />
    </div>
  );
}

function NoAxes() {
  const { store } = usePage();
  return (
    <Empty title="No axes to follow">
      {store.report.steps ? "The arrays that were traced have no axis longer than one." : <>Axes are followed through traced programs: <code>jaxaudit trace</code> or <code>jaxaudit run</code>.</>}
    </Empty>
  );
}

function mainRoot(axes: Axis[]): string {
  const weights = new Map<string, number>();
  for (const axis of axes) weights.set(axis.root, (weights.get(axis.root) ?? 0) + axis.stations.length);
  return [...weights].sort((one, other) => other[1] - one[1])[0]?.[0] ?? "";
}

/** The axes to begin with: those with a name, and where these are few, those that much happens to. */
function usualLines(mine: Axis[]): Axis[] {
  const named = mine.filter((axis) => axis.name).slice(0, MOST);
  const busy = mine.filter((axis) => !axis.name && axis.stations.length > 2);
  return [...named, ...busy.slice(0, Math.max(0, FEW - named.length))];
}

function withoutSteps(axis: Axis): Axis {
  return { ...axis, stations: axis.stations.map((station) => ({ ...station, step: null })) };
}

function byWeight(one: Axis, other: Axis): number {
  return Number(!one.name) - Number(!other.name) || other.stations.length - one.stations.length;
}

/** The axes that one is made of or becomes part of. */
function related(axis: Axis, all: Axis[]): Axis[] {
  return all.filter((one) => one !== axis && (axis.factors?.includes(one.id) || one.factors?.includes(axis.id)));
}

function About({ axis }: { axis: Axis }) {
  return (
    <p class="about">
      <b class={`axis axis-${book.colour(axis.id)}`}>{visible(book.title(axis))}</b> has size {axis.size} and comes from {visible(axis.origin ?? "an unknown place")}.
      {axis.named_by && <> Its name is read from {NAMED[axis.named_by] ?? visible(axis.named_by)}.</>}
      {!!axis.aliases?.length && <> Also called {axis.aliases.map(visible).join(", ")}.</>}
      {!!axis.factors?.length && <> A reshape made it of {axis.factors.map((id) => visible(book.name(id) || id)).join(" and ")}.</>}
      {" "}<a href={hashOf({ view: "axes" })}>Show all axes</a>
    </p>
  );
}

const NAMED: Record<string, string> = {
  declared: "an annotation", constant: "a constant", axis_name: "its axis_name", product: "the axes it is made of",
  vmap: "the vmap that makes it", scan: "the scan that makes it",
};

function Stop({ row, at, map, chosen }: { row: Row; at: number; map: Subway; chosen?: Axis }) {
  const before = map.rows[at - 1];
  const opened = row.bands.filter((band) => !before?.bands.some((one) => one.key === band.key));
  const label = row.order < 0 ? "arguments" : row.order === Number.MAX_SAFE_INTEGER ? "results" : "";
  return (
    <div class="stop">
      <Track row={row} at={at} map={map} chosen={chosen} />
      <div class="stop-text" style={{ paddingLeft: `${row.bands.length * 14}px` }}>
        <div class="stop-place">
          {opened.map((band) => <Chip kind={transformKind(band.transform)}>{visible(band.transform)} {visible(band.function)}</Chip>)}
          {label && <b>{label}</b>}
          {!label && <Spot path={row.path} line={row.line} short />}
          {!label && (row.ends.length
            ? <span class="muted">end of <Chip kind={transformKind(row.ends[0].transform)}>{visible(row.ends[0].transform)} {visible(row.ends[0].function)}</Chip></span>
            : <CodeLine path={row.path} line={row.line} />)}
        </div>
        <div class="stop-deeds">
          {row.stops.slice(0, 6).map((stop) => (
            <span class="deed" title={visible(`${stop.axis.name || stop.axis.origin}: ${stop.station.text}`)}>
              <a class={`axis axis-${book.colour(stop.axis.id)}`} href={hashOf({ view: "axes", axis: stop.axis.id })}>{visible(book.title(stop.axis))}</a>{" "}
              <Prose text={stop.station.text} />{(stop.station.count ?? 1) > 1 && <span class="muted"> ×{stop.station.count}</span>}
              {stop.station.shape && row.stops.length < 3 && <> <TypeText type={stop.station.shape} /></>}
            </span>
          ))}
          {row.stops.length > 6 && <span class="muted">+{row.stops.length - 6}</span>}
        </div>
      </div>
    </div>
  );
}

const x = (column: number): number => 18 + column * LANE;

function Track({ row, at, map, chosen }: { row: Row; at: number; map: Subway; chosen?: Axis }) {
  const width = Math.max(60, 36 + (map.columns - 1) * LANE);
  const middle = ROW / 2;
  const lanes = map.lanes.filter((lane) => lane.first <= at && at <= lane.last);
  const columns = new Map(map.lanes.map((lane) => [lane.axis.id, lane]));
  return (
    <svg class="track" width={width} height={ROW} viewBox={`0 0 ${width} ${ROW}`} aria-hidden="true">
      {row.bands.map((band) => <Shade band={band} width={width} top={0} height={ROW} />)}
      {row.begins.map((band) => <Shade band={band} width={width} top={middle} height={ROW - middle} />)}
      {row.ends.map((band) => <Shade band={band} width={width} top={0} height={middle} />)}
      {map.joins.filter((join) => join.row === at).map((join) => {
        const [from, to] = [columns.get(join.from), columns.get(join.to)];
        if (!from || !to) return null;
        return <path class={`rail axis-${book.colour(join.from)}`} d={`M${x(from.column)},${middle - 8}C${x(from.column)},${middle + 8} ${x(to.column)},${middle - 6} ${x(to.column)},${middle + 12}`} />;
      })}
      {lanes.map((lane) => <Rail lane={lane} at={at} chosen={chosen} />)}
      {row.stops.map((stop) => {
        const lane = columns.get(stop.axis.id);
        return lane && <Dot x={x(lane.column)} y={middle} kind={stop.station.kind} colour={book.colour(stop.axis.id)} />;
      })}
    </svg>
  );
}

function Shade({ band, width, top, height }: { band: Band; width: number; top: number; height: number }) {
  const inset = 2 + band.depth * 3;
  return <rect class={`band band-${transformKind(band.transform)}`} x={inset} y={top} width={width - 2 * inset} height={height} />;
}

function Rail({ lane, at, chosen }: { lane: Lane; at: number; chosen?: Axis }) {
  const middle = ROW / 2;
  const dim = chosen && chosen.id !== lane.axis.id ? "dim" : "";
  const kind = (row: number): string => `rail rail-${lane.styles[row - lane.first]} axis-${book.colour(lane.axis.id)} ${dim}`;
  return (
    <>
      {at > lane.first && <path class={kind(at - 1)} d={`M${x(lane.column)},0V${middle}`} />}
      {at < lane.last && <path class={kind(at)} d={`M${x(lane.column)},${middle}V${ROW}`} />}
    </>
  );
}

/** A station: rings where an axis begins, bars where it ends, diamonds where it goes under, dots elsewhere. */
function Dot({ x, y, kind, colour }: { x: number; y: number; kind: string; colour: number }) {
  const style = `dot axis-${colour}`;
  if (kind === "enters" || kind === "made" || kind === "joined") return <circle class={`${style} ring`} cx={x} cy={y} r={5} />;
  if (kind === "reduced" || kind === "projected" || kind === "indexed") return <path class={`${style} bar-end`} d={`M${x - 7},${y}H${x + 7}`} />;
  if (kind === "vmapped" || kind === "sharded") return <path class={style} d={`M${x - 6},${y - 4}H${x + 6}L${x},${y + 6}Z`} />;
  if (kind === "collected") return <path class={style} d={`M${x - 6},${y + 4}H${x + 6}L${x},${y - 6}Z`} />;
  if (kind === "scanned" || kind === "stacked") return <rect class={style} x={x - 5} y={y - 5} width={10} height={10} rx={2} />;
  if (kind === "returned") return <circle class={style} cx={x} cy={y} r={6} />;
  return <circle class={style} cx={x} cy={y} r={4} />;
}
