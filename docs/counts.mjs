// Reads counts of Trueness, format 1 (docs/counts.md), from a CSV or JSON file:
// node counts.mjs FILE prints rows of score, high, neg, pos, unknown, ..., highest first.
import { readFileSync } from "node:fs";

const KINDS = ["neg", "pos", "unknown"];
const SQUARES = KINDS.map((k) => `${k}_squares`);
const stop = (why) => { throw new Error(why); };

function fields(line) { // a field between quotes may hold commas, and "" for a quote
  const found = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)];
  return found.map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare);
}

function tableOfCsv(text) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).filter((line) => line);
  const [head, ...rows] = lines.map(fields);
  return Object.fromEntries(head.map((name, k) => [name, rows.map((row) => row[k])]));
}

function number(value) {
  const found = value === null || value === "" ? NaN : Number(value);
  return Number.isFinite(found) ? found + 0 : stop(`${value} is not a finite number`);
}

export function read(text, isJson) {
  const about = isJson ? JSON.parse(text) : { columns: tableOfCsv(text) };
  if ((about.version ?? 1) > 1) stop(`version ${about.version} is not known`);
  const lower = Object.entries(about.columns).map(([k, v]) => [k.toLowerCase(), v]);
  const table = Object.fromEntries(lower), weighted = SQUARES.some((k) => k in table);
  const names = weighted ? [...KINDS, ...SQUARES] : KINDS;
  for (const k of ["score", ...names]) if (!(k in table)) stop(`there is no column ${k}`);
  if ((table.refused ?? []).some((n) => number(n) !== 0)) stop("cases were refused");
  const count = (value) => {
    const n = number(value);
    if (n < 0 || (!weighted && !Number.isSafeInteger(n))) stop(`${value} is no count`);
    return n;
  };
  const ids = table.cluster, whole = ids?.every((v) => /^-?\d+$/.test(v));
  const rows = table.score.map((low, k) => ({
    low: number(low), high: number((table.high ?? table.score)[k]),
    counts: names.map((name) => count(table[name][k])),
    cluster: ids && (whole ? Number(ids[k]) : String(ids[k])),
  })).filter((row) => row.counts.some((n) => n > 0)).sort((a, b) => b.high - a.high);
  if (rows.some((row) => row.high < row.low)) stop("high is less than score");
  const bins = [], add = (to, more) => to.map((n, k) => n + more[k]);
  for (const { low, high, counts, cluster } of rows) {
    let bin = bins.at(-1);
    if (!bin || high < bin.low) bins.push(bin = { low, high, counts: counts.map(() => 0), cells: new Map() });
    bin.low = Math.min(bin.low, low);
    bin.counts = add(bin.counts, counts);
    if (ids) bin.cells.set(cluster, add(bin.cells.get(cluster) ?? counts.map(() => 0), counts));
  }
  const order = ([a], [b]) => (a < b ? -1 : 1), out = { rows: bins.map((b) => [b.low, b.high, ...b.counts]) };
  if (ids) out.cells = bins.flatMap((b, k) => [...b.cells].sort(order).map(([c, n]) => [k, c, ...n]));
  return out;
}

const [, , file] = process.argv;
if (file) console.log(JSON.stringify(read(readFileSync(file, "utf8"), file.endsWith(".json"))));
