// Reads counts of Trueness, format 1 (docs/counts.md), from a CSV or JSON file: node counts.mjs FILE
// prints the design and rows of score, high, neg, pos, unknown, ..., highest first.
import { readFileSync } from "node:fs";

const KINDS = ["neg", "pos", "unknown"], SQUARES = KINDS.map((k) => `${k}_squares`);
const DESIGN = { sampling: ["cohort", "case-control"], unlabelled: ["left out", "missing at random"], prevalence: [null] };
const safe = Number.isSafeInteger, stop = (why) => { throw new Error(why); };

function tableOfCsv(text) { // a field between quotes may hold commas, line breaks, and "" for a quote
  const lines = [[]], field = /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/g;
  for (const [, value, end] of text.replace(/^\uFEFF/, "").matchAll(field)) {
    lines.at(-1).push(value[0] === '"' ? value.slice(1, -1).replaceAll('""', '"') : value);
    if (end !== ",") lines.push([]);
  }
  const [head = [], ...rows] = lines.filter((line) => line.length > 1);
  return Object.fromEntries(head.map((name, k) => [name, rows.map((row) => row[k])]));
}

const number = (v) =>
  v !== null && v !== "" && Number.isFinite(Number(v)) ? Number(v) + 0 : stop(`${v} is not a finite number`);

function wordOfDesign(word, values) { // a word that is not given has the first of its values
  const known = DESIGN[word], given = values.filter((v) => v != null && v !== "");
  const [value = known[0], ...others] = new Set(word === "prevalence" ? given.map(number) : given);
  if (others.length) stop(`${word} must be the same in every row`);
  const fits = known.includes(value) || (word === "prevalence" && value > 0 && value < 1);
  return fits ? value : stop(`${word} cannot be ${value}`);
}

export function read(text, isJson) {
  const about = isJson ? JSON.parse(text) : { columns: tableOfCsv(text) };
  if ((about.version ?? 1) > 1) stop(`version ${about.version} is not known`);
  const table = Object.fromEntries(Object.entries(about.columns).map(([k, v]) => [k.toLowerCase(), v]));
  const weighted = SQUARES.some((k) => k in table), names = weighted ? [...KINDS, ...SQUARES] : KINDS;
  for (const k of ["score", ...names]) if (!(k in table)) stop(`there is no column ${k}`);
  if ((table.refused ?? []).some((n) => number(n) !== 0)) stop("cases were refused");
  const ids = table.cluster, count = (n) => (n >= 0 && (weighted || safe(n)) ? n : stop(`${n} is no count`));
  if (ids?.some((v) => typeof v !== "string" && !safe(v))) stop("a cluster is missing or too large");
  const whole = ids?.every((v) => (isJson ? safe(v) : safe(Number(v)) && String(Number(v)) === v));
  const bins = [], add = (to, more) => to.map((n, k) => count(n + more[k]));
  const rows = table.score.map((low, k) => ({
    low: number(low), high: number((table.high ?? table.score)[k]),
    cluster: whole ? Number(ids[k]) : String(ids?.[k]), counts: names.map((name) => count(number(table[name][k]))),
  }));
  if (rows.some((row) => row.high < row.low)) stop("high is less than score");
  for (const { low, high, counts, cluster } of rows.sort((a, b) => b.high - a.high)) {
    if (!counts.some((n) => n > 0)) continue;
    if (!bins.length || high < bins.at(-1).low) bins.push({ low, high, cells: new Map() });
    const bin = bins.at(-1), before = bin.cells.get(cluster);
    bin.low = Math.min(bin.low, low);
    bin.cells.set(cluster, before ? add(before, counts) : counts);
  }
  const words = Object.keys(DESIGN).map((k) => [k, wordOfDesign(k, [about.design?.[k], ...(table[k] ?? [])])]);
  const order = ([a], [b]) => (a < b ? -1 : 1), out = { design: Object.fromEntries(words) };
  out.rows = bins.map((b) => [b.low, b.high, ...[...b.cells.values()].reduce(add)]);
  if (ids) out.cells = bins.flatMap((b, k) => [...b.cells].sort(order).map(([c, n]) => [k, c, ...n]));
  return out;
}
const [, , file] = process.argv;
if (file) console.log(JSON.stringify(read(readFileSync(file, "utf8"), file.endsWith(".json"))));
