// Checks a declaration of Trueness (docs/counts.md) by its own counts: in the page that holds
// it, or with node: import { verify } from a copy that ends in "export { verify };".
// Every value, bound and 2x2 table is computed again, and so are intervals: of proportions
// (Wilson 1927), of the AUC (Newcombe 2006, method 5), of means and ratios (Student, with
// Satterthwaite's degrees of freedom), and the claims about these.
"use strict";

const DIGITS = 4, CELLS = ["tp", "fp", "fn", "tn", "unknown_flagged", "unknown_not_flagged"];
const PROPORTIONS = ["recall", "specificity", "precision", "npv"];
const sum = (values) => values.reduce((a, b) => a + b, 0);
const read = (v) => (v === null || v === undefined ? NaN : typeof v === "string" ? Number(v.replace("infinity", "Infinity")) : v);

function shownAs(value, stated) { // half a unit of the last digit apart
  if (Number.isNaN(value) || Number.isNaN(stated)) return Number.isNaN(value) && Number.isNaN(stated);
  if (value === stated || !Number.isFinite(value) || !Number.isFinite(stated)) return value === stated;
  const size = Math.max(Math.abs(value), Math.abs(stated));
  return Math.abs(value - stated) <= 0.500001 * 10 ** (Math.floor(Math.log10(size)) - DIGITS + 1) + 1e-12;
}

// rows, highest first: low, high, and numbers of negatives, positives, unknown
function rowsOf(columns) {
  const high = columns.high ?? columns.score;
  const rows = columns.score.map((low, k) => ({ low, high: high[k], neg: columns.neg[k], pos: columns.pos[k], unknown: columns.unknown[k] }));
  return rows.sort((a, b) => b.low - a.low);
}

function tableAt(rows, threshold) { // smallest and largest number in each cell
  const cells = {};
  for (const [cell, other, kind] of [["tp", "fn", "pos"], ["fp", "tn", "neg"], ["unknown_flagged", "unknown_not_flagged", "unknown"]]) {
    const least = sum(rows.filter((r) => r.low >= threshold).map((r) => r[kind]));
    const open = sum(rows.filter((r) => r.low < threshold && r.high >= threshold).map((r) => r[kind]));
    const total = sum(rows.map((r) => r[kind]));
    cells[cell] = [least, least + open];
    cells[other] = [total - least - open, total - least];
  }
  return cells;
}

function metricOf(name, { tp, fp, fn, tn }, threshold, prevalence) {
  if (prevalence !== null && (name === "precision" || name === "npv" || name === "net_benefit")) {
    const n = tp + fp + fn + tn, up = (n * prevalence) / (tp + fn), along = (n * (1 - prevalence)) / (fp + tn);
    [tp, fn, fp, tn] = [tp * up, fn * up, fp * along, tn * along];
  }
  if (name === "recall") return tp / (tp + fn);
  if (name === "specificity") return tn / (fp + tn);
  if (name === "precision") return tp / (tp + fp);
  if (name === "npv") return tn / (fn + tn);
  if (name === "lr_positive") return (tp * (fp + tn)) / ((tp + fn) * fp);
  if (name === "lr_negative") return (fn * (fp + tn)) / ((tp + fn) * tn);
  return (tp - (threshold / (1 - threshold)) * fp) / (tp + fp + fn + tn); // net benefit
}

function metricAt(name, rows, threshold, prevalence) { // value, bounds, and cases it is of
  const table = tableAt(rows, threshold), n = table.tp[0] + table.fn[1], m = table.fp[0] + table.tn[1];
  const at = (tp, fp) => ({ tp, fp, fn: n - tp, tn: m - fp });
  const least = at(table.tp[0], table.fp[0]), value = metricOf(name, least, threshold, prevalence);
  const under = { recall: n, specificity: m, precision: least.tp + least.fp, npv: least.fn + least.tn }[name];
  if (table.tp[0] === table.tp[1] && table.fp[0] === table.fp[1]) return { value, bounds: null, cases: under, cells: least };
  const corners = table.tp.flatMap((tp) => table.fp.map((fp) => metricOf(name, at(tp, fp), threshold, prevalence)));
  const known = corners.filter((v) => !Number.isNaN(v));
  const bounds = [Math.min(...known), Math.max(...known)];
  return { value, bounds: bounds[0] < bounds[1] ? bounds : null, cases: under, cells: least };
}

function areaOf(rows) { // AUC, its bounds, and DeLong's variance
  const n = sum(rows.map((r) => r.pos)), m = sum(rows.map((r) => r.neg));
  let above = 0, aboveNeg = 0, wins = 0, open = 0, squares = [0, 0];
  for (const r of rows) {
    wins += r.neg * (2 * above + r.pos);
    open += r.high > r.low ? r.pos * r.neg : 0;
    above += r.pos;
  }
  const area = wins / (2 * n * m);
  above = 0;
  for (const r of rows) {
    squares[0] += r.neg * ((above + r.pos / 2) / n - area) ** 2;
    squares[1] += r.pos * (1 - (aboveNeg + r.neg / 2) / m - area) ** 2;
    above += r.pos;
    aboveNeg += r.neg;
  }
  const bounds = open ? [Math.max((wins - open) / (2 * n * m), 0), Math.min((wins + open) / (2 * n * m), 1)] : null;
  return { value: area, bounds, n, m, variance: squares[0] / m / (m - 1) + squares[1] / n / (n - 1) };
}

function brierBounds(rows, prevalence) { // positives at the upper, or lower, end of each bin
  const n = sum(rows.map((r) => r.pos)), m = sum(rows.map((r) => r.neg));
  const share = prevalence ?? n / (n + m), ends = (p, q) =>
    (share / n) * sum(rows.map((r) => r.pos * (1 - r[p]) ** 2)) + ((1 - share) / m) * sum(rows.map((r) => r.neg * r[q] ** 2));
  return [ends("high", "low"), ends("low", "high")];
}

const solve = (f, low, high) => { // where a rising function is zero
  for (let k = 0; k < 100; k++) { const middle = (low + high) / 2; if (f(middle) < 0) low = middle; else high = middle; }
  return (low + high) / 2;
};
function normalQuantile(p) {
  const cdf = (z) => { let term = z, total = z; for (let k = 1; k < 400; k++) total += term *= (z * z) / (2 * k + 1); return 0.5 + (total * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI); };
  return solve((z) => cdf(z) - p, 0, 8);
}
function studentQuantile(df, p) { // with x = sqrt(df) tan(a) the density is cos(a)^(df - 1)
  const end = Math.min(Math.PI / 2, 60 / Math.sqrt(df)), steps = 20000, width = end / steps;
  const density = (a) => Math.exp((df - 1) * Math.log(Math.max(Math.cos(a), 1e-300))), totals = [0];
  for (let k = 0; k < steps; k++) totals.push(totals[k] + (width / 6) * (density(k * width) + 4 * density((k + 0.5) * width) + density((k + 1) * width)));
  const wanted = (2 * p - 1) * totals[steps];
  let k = 0; while (totals[k + 1] < wanted) k++;
  const inside = (wanted - totals[k]) / (totals[k + 1] - totals[k]);
  return Math.sqrt(df) * Math.tan((k + inside) * width);
}

function wilson(p, n, z) {
  if (!(n > 0)) return [NaN, NaN];
  const r = (z * z) / n, centre = p + r / 2, half = Math.sqrt(r * p * (1 - p) + (r * r) / 4);
  return [Math.max(0, Math.min((centre - half) / (1 + r), p)), Math.min(1, Math.max((centre + half) / (1 + r), p))];
}

function modelVariance(a, n, m) { // Hanley and McNeil, class sizes averaged
  const c = 1 - a, both = (a * a * c) / (1 + a) + (a * c * c) / (1 + c);
  return (a * c + ((n + m) / 2 - 1) * both) / (n * m);
}
function kurtosis(a) { // of placements under the model
  const upper = Math.max(a, 1 - a), wide = (1 - upper) / upper, compact = upper / Math.max(1 - upper, 1e-300);
  const raw = [[1, 2, 3, 4].map((k) => wide / (wide + k)), [1 / (compact + 1)]];
  for (const k of [2, 3, 4]) raw[1].push((raw[1].at(-1) * k) / (compact + k));
  const [x, y] = raw.map(([a1, a2, a3, a4]) => [a2 - a1 ** 2, a4 - 4 * a3 * a1 + 6 * a2 * a1 ** 2 - 3 * a1 ** 4]);
  return (x[1] + y[1]) / 2 / Math.max(((x[0] + y[0]) / 2) ** 2, 1e-300);
}
function newcombe({ value, variance, n, m }, level) {
  let effect = 1, quantile = normalQuantile((1 + level) / 2);
  if (value > 0 && value < 1 && variance > 0) {
    effect = variance / modelVariance(value, n, m);
    quantile = studentQuantile(Math.min(n, m) - 1, (1 + level) / 2);
    if (effect < 1) { // a small variance is mostly chance: moderated
      const total = 1 / n + 1 / m, d = effect - 1, k = kurtosis(value);
      const noise = sum([n, m].map((u) => (1 / u / total) ** 2 * (k / u - (u - 3) / (u * (u - 1)))));
      effect = 1 + (Math.max(d * d - noise, 0) / Math.max(d * d, 1e-300)) * d;
    }
  }
  const outside = (a) => (a - value) ** 2 > quantile ** 2 * modelVariance(a, n / effect, m / effect);
  return [0, 1].map((end) => {
    if (!outside(end)) return end;
    let outer = end, inner = value;
    for (let k = 0; k < 60; k++) { const middle = (outer + inner) / 2; if (outside(middle)) outer = middle; else inner = middle; }
    return inner;
  });
}

function studentOf(strata, level) { // variance of a sum, and Student's quantile (Satterthwaite 1946)
  let variance = 0, noise = 0;
  for (const { n, values } of strata) { // values: [influence, number of cases]
    const squares = sum(values.map(([u, c]) => c * u * u)), fourth = sum(values.map(([u, c]) => c * u ** 4));
    variance += (squares * n) / (n - 1);
    noise += Math.max(fourth - squares ** 2 / n, (2 * squares ** 2) / (n - 1)) * (n / (n - 1)) ** 2;
  }
  return { variance, quantile: studentQuantile(Math.max((2 * variance ** 2) / noise, 1), (1 + level) / 2) };
}
function meanInterval(values, low, high, level) { // of a mean between two ends: Wilson's form
  const n = sum(values.map(([, c]) => c)), mean = sum(values.map(([x, c]) => x * c)) / n, width = high - low;
  const { variance, quantile } = studentOf([{ n, values: values.map(([x, c]) => [(x - mean) / n, c]) }], level);
  const p = (mean - low) / width, [a, b] = wilson(p, (p * (1 - p) * width ** 2) / variance, quantile);
  return [low + width * a, low + width * b];
}
function ratioInterval(name, { tp, fp, fn, tn }, level) { // of a likelihood ratio, on the logarithmic scale
  const n = tp + fn, m = fp + tn, p = tp / n, q = fp / m, up = name === "lr_positive";
  const value = up ? p / q : (1 - p) / (1 - q), byP = up ? 1 / q : -1 / (1 - q), byQ = up ? -p / q ** 2 : (1 - p) / (1 - q) ** 2;
  const { variance, quantile } = studentOf([
    { n, values: [[((1 - p) * byP) / n, tp], [(-p * byP) / n, fn]] },
    { n: m, values: [[((1 - q) * byQ) / m, fp], [(-q * byQ) / m, tn]] },
  ], level);
  const factor = Math.exp((quantile * Math.sqrt(variance)) / value);
  return [value / factor, value * factor];
}

function allowForBins({ value, bounds }, [low, high]) { // both ends move as far as bins leave it open
  return bounds ? [Math.max(low - (value - bounds[0]), 0), Math.min(high + (bounds[1] - value), 1)] : [low, high];
}
function measure(name, rows, threshold, prevalence, level) { // value, bounds, interval where known
  if (name === "auc") {
    const area = areaOf(rows);
    return { ...area, interval: allowForBins(area, newcombe(area, level)) };
  }
  if (name === "brier") {
    const bounds = brierBounds(rows, prevalence), values = rows.flatMap((r) => [[r.low ** 2, r.neg], [(1 - r.low) ** 2, r.pos]]);
    const value = sum(values.map(([x, c]) => x * c)) / sum(values.map(([, c]) => c));
    const found = { value: bounds[0] < bounds[1] ? value : bounds[0], bounds: bounds[0] < bounds[1] ? bounds : null };
    if (prevalence === null) found.interval = allowForBins(found, meanInterval(values, 0, 1, level));
    return found;
  }
  const found = metricAt(name, rows, threshold, prevalence), cells = found.cells, varied = !found.bounds && Object.values(cells).every((c) => c > 0);
  if (varied && name.startsWith("lr_")) found.interval = ratioInterval(name, cells, level);
  if (varied && name === "net_benefit" && prevalence === null) {
    const odds = threshold / (1 - threshold);
    found.interval = meanInterval([[1, cells.tp], [-odds, cells.fp], [0, cells.fn + cells.tn]], -odds, 1, level);
  }
  const counted = PROPORTIONS.includes(name) && (prevalence === null || name === "recall" || name === "specificity");
  if (counted) found.interval = allowForBins(found, wilson(found.value, found.cases, normalQuantile((1 + level) / 2)));
  return found;
}

const CLAIM = /^\s*(recall|sensitivity|specificity|precision|ppv|npv|auc)\s*(>=|<=|>|<)\s*([\d.eE+-]+)(\s*%)?(?:\s+at\s+([\d.eE+-]+))?(?:\s+(?:by|in\s+every)\s+(\w+))?\s*$/;
const FACT = /^\s*(cases|labelled|positives|negatives)\s*(>=|<=)\s*([\d.eE+]+)\s*$/;
function judgeFact([, word, sign, text], rows) { // counted: it is so or not, and more cases may come
  const total = (kind) => sum(rows.map((r) => r[kind])), bound = Number(text), n = total("neg"), p = total("pos");
  const value = { cases: n + p + total("unknown"), labelled: n + p, positives: p, negatives: n }[word];
  const verdict = sign === ">=" ? (value >= bound ? "holds" : "cannot tell yet") : value <= bound ? "holds" : "fails";
  return [{ group: "", verdict, numbers: [value, value, value, bound] }];
}
const ALIASES = { sensitivity: "recall", ppv: "precision" };
function judge(claims, rowsBy, prevalence, level) { // Holm 1979, both ways; null where unknown
  const parsed = claims.map((claim) => CLAIM.exec(claim.claim));
  const facts = claims.map((claim) => FACT.exec(claim.claim));
  if (parsed.some((p, k) => p === null && facts[k] === null)) return null;
  const all = parsed.flatMap((match, k) => {
    if (!match) return [];
    const [, word, sign, bound, percent, at, by] = match;
    const name = ALIASES[word] ?? word, side = sign[0] === ">" ? 1 : -1;
    const groups = by ? Object.entries(rowsBy[by] ?? {}) : [["", rowsBy[""][""]]];
    return groups.map(([group, rows]) => ({ k, side, group: by ? `${by}=${group}` : "", bound: Number(bound) / (percent ? 100 : 1),
      limits: (alpha) => measure(name, rows, Number(at), prevalence, Math.round((1 - 2 * alpha) * 1e12) / 1e12) }));
  });
  if (all.some((c) => !c.limits(0.05).interval)) return null;
  const told = all.map(() => null), alpha = 1 - level;
  for (const [way, word] of [[-1, "fails"], [1, "holds"]]) {
    let left = all.map((_, i) => i);
    while (left.length) {
      const each = alpha / left.length;
      const beyond = left.filter((i) => {
        const [low, high] = all[i].limits(each).interval;
        return all[i].side * way > 0 ? low > all[i].bound : high < all[i].bound;
      });
      for (const i of left) if (!told[i] || told[i][0] === "cannot tell yet") told[i] = ["cannot tell yet", each];
      for (const i of beyond) told[i] = [word, each];
      if (!beyond.length) break;
      left = left.filter((i) => !beyond.includes(i));
    }
  }
  return claims.map((_, k) => facts[k] ? judgeFact(facts[k], rowsBy[""][""]) : all.flatMap((c, i) => {
    if (c.k !== k) return [];
    const found = c.limits(told[i][1]);
    return [{ group: c.group, verdict: told[i][0], numbers: [found.value, ...found.interval, c.bound] }];
  }));
}

function verifyAttempts(measured, { passed, tried, items }) { // means over items: c of n attempts passed
  const mean = (f) => sum(items.map((n, i) => n * f(passed[i], tried[i]))) / sum(items);
  const drawn = (c, n, k) => { let p = 1; for (let j = 0; j < k; j++) p *= Math.max(c - j, 0) / (n - j); return p; }; // all k of c among n
  return measured.flatMap((m) => {
    const k = Number(/k=(\d+)/.exec(m.measure)?.[1] ?? 1);
    const value = mean(m.measure.startsWith("pass_at_k") ? (c, n) => 1 - drawn(n - c, n, k) : (c, n) => drawn(c, n, k));
    return [[m.measure, shownAs(value, read(m.value)) ? "follows" : "does not follow"], [`${m.measure}, interval`, "not checked here"]];
  });
}

// what follows: [what it is, "follows", "follows within these bounds", "does not follow" or "not checked here"]
function verify(declaration) {
  const { evidence, level, thresholds } = declaration, checks = [];
  const say = (name, same, within) => checks.push([name, same ? (within ? "follows within these bounds" : "follows") : "does not follow"]);
  if (evidence.attempts) return verifyAttempts(declaration.measured, evidence.attempts);
  const prevalence = evidence.counts.design?.prevalence ?? null, plain = !evidence.counts.columns.neg_squares && !evidence.counts.columns.cluster;
  if (!plain) return [["weights and clusters", "not checked here"]];
  const rowsBy = { "": { "": rowsOf(evidence.counts.columns) } };
  for (const [column, groups] of Object.entries(evidence.groups ?? {})) {
    rowsBy[column] = Object.fromEntries(Object.entries(groups).map(([group, g]) => [group, rowsOf(g.columns)]));
    for (const kind of ["neg", "pos", "unknown"]) {
      const total = (rows) => sum(rows.map((r) => r[kind]));
      say(`${kind} of all groups of ${column}`, sum(Object.values(rowsBy[column]).map(total)) === total(rowsBy[""][""]));
    }
  }
  const rowsIn = (x) => rowsBy[x.column ?? ""]?.[x.group ?? ""];
  for (const m of declaration.measured) {
    const name = [m.measure, m.threshold === undefined ? "" : `at ${m.threshold}`, m.column ? `in ${m.column} ${m.group}` : ""].filter(Boolean).join(" ");
    const rows = rowsIn(m), value = read(m.value), bounds = m.bounds?.map(read);
    if (!rows || (m.threshold !== undefined && !thresholds.includes(m.threshold))) { say(name, false); continue; }
    if (m.measure.startsWith("calibration_")) { checks.push([name, "not checked here"]); continue; }
    const found = measure(m.measure, rows, m.threshold, prevalence, level);
    if (found.bounds && m.threshold === undefined) say(name, (value >= found.bounds[0] && value <= found.bounds[1]) || found.bounds.some((b) => shownAs(b, value)), true);
    else if (found.bounds) say(name, Number.isNaN(value), true);
    else say(name, shownAs(found.value, value));
    if (found.bounds || bounds) say(`${name}, bounds`, Boolean(found.bounds && bounds) && found.bounds.every((b, k) => shownAs(b, bounds[k])));
    if (found.interval) say(`${name}, interval`, shownAs(found.interval[0], read(m.low)) && shownAs(found.interval[1], read(m.high)));
    else checks.push([`${name}, interval`, "not checked here"]);
  }
  for (const t of declaration.tables) {
    const cells = rowsIn(t) && tableAt(rowsIn(t), t.threshold);
    for (const cell of CELLS) {
      const stated = Array.isArray(t[cell]) ? t[cell] : [t[cell], t[cell]];
      say(`table at ${t.threshold}${t.column ? ` in ${t.column} ${t.group}` : ""}, ${cell}`, Boolean(cells) && stated.every((n, k) => n === cells[cell][k]));
    }
  }
  const judged = judge(declaration.claims, rowsBy, prevalence, level);
  declaration.claims.forEach((claim, k) => {
    if (!judged) checks.push([`claim ${claim.claim}`, "not checked here"]);
    else if (judged[k].length !== claim.verdicts.length) say(`claim ${claim.claim}`, false);
    else for (const v of claim.verdicts) { // groups by name: their order is free
      const own = judged[k].find((j) => j.group === v.group), stated = [v.value, v.low, v.high, v.bound].map(read);
      say(`claim ${claim.claim}${v.group ? ` in ${v.group}` : ""}`, own?.verdict === v.verdict && own.numbers.every((x, j) => shownAs(x, stated[j])));
    }
  });
  const { rows, without_score: missing, without_label: unlabelled } = declaration.flow;
  if (rows !== null && missing) say("number of rows", rows === sum(rowsBy[""][""].map((r) => r.neg + r.pos + r.unknown)) + sum(Object.values(missing)) + unlabelled);
  return checks;
}

if (typeof document !== "undefined") {
  const box = document.getElementById("check"), list = document.getElementById("checks");
  const write = (tag, text, into) => { const made = document.createElement(tag); made.textContent = text; into.append(made); return made; };
  try {
    const checks = verify(JSON.parse(document.getElementById("declaration").textContent));
    const wrong = checks.filter(([, word]) => word === "does not follow"), left = checks.filter(([, word]) => word === "not checked here");
    const follow = checks.length - wrong.length - left.length;
    box.textContent = wrong.length
      ? `Does not follow from the counts: ${wrong.map(([name]) => name).join("; ")}.`
      : `Your browser has checked this page: ${follow} of its statements follow from the counts` + (left.length ? `; for ${left.length} others run trueness verify.` : ".");
    if (!wrong.length && !follow) box.textContent = "Your browser cannot check weighted or clustered cases. Run trueness verify.";
    box.className = wrong.length ? "check wrong" : follow ? "check right" : "check";
    for (const [name, word] of checks) write("li", `${name}: ${word}`, list);
  } catch (error) {
    box.textContent = `This page could not be checked: ${error.message}`;
    box.className = "check wrong";
  }
}
