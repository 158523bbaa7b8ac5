"use strict";
/* One threshold through every figure. A report brings every number with it; the
   workbench asks its server for them (window.workbench.lookUp). */
(() => {
  let data, slider, flag, choice, followers, step;
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const numbers = (text) => text.split(" ").map(Number);

  // where a value lies on the paper of a figure
  function follower(mark) {
    if (mark.closest("svg.plot")) return { mark, percent: true };
    const svg = mark.closest("svg.figure");
    const [x0, x1, y0, y1] = numbers(svg.dataset.ranges);
    const [left, top, right, bottom] = numbers(svg.dataset.plot);
    // a probability on a logit axis; those near 0 and 1 stand at its ends
    const logit = (v) => Math.log(v / (1 - v));
    const scaled = svg.dataset.scale === "logit" ?
      (v) => v === null ? null : Math.min(Math.max(logit(Math.min(Math.max(v, 1e-9), 1 - 1e-9)), x0), x1) :
      (v) => v;
    return {
      mark, scaled, right,
      px: (v) => left + (v - x0) / (x1 - x0) * (right - left),
      py: (v) => bottom - (v - y0) / (y1 - y0) * (bottom - top),
      inside: (x, y) => between(x, x0, x1) && (y === undefined || between(y, y0, y1)),
    };
  }

  function between(v, low, high) {
    const room = 1e-9 * (high - low);
    return v !== null && v >= low - room && v <= high + room;
  }

  function percent(x) {
    if (x === 0) return "0 %";
    // only what is everything is 100 %
    if (x >= 99.95 && x < 100) return (Math.floor(100 * x) / 100).toFixed(2) + " %";
    return x.toPrecision(3) + " %";
  }

  function written(kind, v) {
    if (kind === "threshold") return v === null ? "above all scores" : String(v);
    if (v === null || v === undefined) return "undefined";
    if (kind === "count") return v.toLocaleString("en-US");
    return kind === "share" ? percent(100 * v) : String(Number(v.toPrecision(4)));
  }

  function place(f, now) {
    const want = f.mark.dataset;
    if (f.percent) { placeInPercent(f.mark, now); return; }
    const set = (name, v) => f.mark.setAttribute(name, v.toFixed(2));
    if (want.left) {
      set("y1", f.py(now(want.left)));
      set("y2", f.py(now(want.right)));
      return;
    }
    const x = f.scaled(now(want.x)), y = want.y ? now(want.y) : undefined;
    if (f.mark.tagName === "svg") { openWindow(f, x); return; }
    const there = f.inside(x, y);
    f.mark.setAttribute("visibility", there ? "visible" : "hidden");
    if (!there) return;
    if (f.mark.tagName === "circle") {
      set("cx", f.px(x));
      set("cy", f.py(y));
    } else {
      set("x1", f.px(x));
      set("x2", f.px(x));
    }
  }

  // what is flagged is seen through a window that begins at the threshold
  function openWindow(f, x) {
    const [, top, , height] = numbers(f.mark.getAttribute("viewBox"));
    const start = x === null ? f.right : Math.min(Math.max(f.px(x), 0), f.right);
    const width = (f.right - start).toFixed(2);
    f.mark.setAttribute("x", start.toFixed(2));
    f.mark.setAttribute("width", width);
    f.mark.setAttribute("viewBox", [start.toFixed(2), top, width, height].join(" "));
    f.mark.setAttribute("visibility", f.right > start ? "visible" : "hidden");
  }

  // a plot without a viewBox: places are per cent of its box
  function placeInPercent(mark, now) {
    const want = mark.dataset, x = now(want.x), y = want.y ? now(want.y) : undefined;
    const there = x !== null && y !== null;
    mark.setAttribute("visibility", there ? "visible" : "hidden");
    if (!there) return;
    const across = (100 * x).toFixed(2) + "%";
    const up = y === undefined ? "" : (100 - 100 * y).toFixed(2) + "%";
    const places = { circle: ["cx", "cy"], text: ["x", "y"] }[mark.tagName];
    if (places) {
      mark.setAttribute(places[0], across);
      mark.setAttribute(places[1], up);
    } else {
      mark.setAttribute("x1", across);
      mark.setAttribute("x2", across);
    }
    if (want.text) {
      mark.textContent = want.text + " " + written("share", y);
      const other = now(want.text === "recall" ? "precision" : "recall");
      const [side, above] = besideDot(want.text, x, y, other);
      mark.setAttribute("text-anchor", side);
      mark.setAttribute("dx", side === "end" ? "-10" : "10");
      mark.setAttribute("dy", above ? "-10" : "18");
    }
  }

  // where the name of a curve stands beside its dot: recall rises and precision falls
  function besideDot(name, x, y, other) {
    const recall = name === "recall";
    const gap = other === null ? 1 : recall ? y - other : other - y;
    const close = gap >= 0 && gap < CLOSE;
    const left = x > 0.7 || (close && x > 0.3);
    return [left ? "end" : "start", left || close ? recall : !recall];
  }

  const CLOSE = 0.2; // of the height of the plot: names of two curves would touch

  const chosen = () => data.models[Number(choice ? choice.value : 0)];

  function move() {
    const model = chosen();
    if (!model.columns) {
      window.workbench.lookUp(model, step, show);
      return;
    }
    const column = (name) => model.columns[name];
    show((name) => column(name) ? column(name)[step] : null,
      (k) => model.meets[k][step] === "1");
  }

  function moveTo(at) {
    step = Math.min(Math.max(at, 0), chosen().size - 1);
    move();
  }

  // the value of a slider is the proportion flagged, in thousandths; in the workbench,
  // which has no columns, it is the step
  function slide(event) {
    const moved = event.currentTarget, columns = chosen().columns;
    if (!columns) { moveTo(Number(moved.value)); return; }
    const rates = columns.flagged_rate, wanted = Number(moved.value) / 1000;
    let best = 0;
    rates.forEach((rate, at) => {
      if (Math.abs(rate - wanted) < Math.abs(rates[best] - wanted)) best = at;
    });
    const kept = moved.value;
    moveTo(best);
    moved.value = kept; // it stays under the finger between two steps
  }

  // by keyboard every step can be reached
  const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1,
    PageUp: 20, PageDown: -20 };

  function typed(event) {
    if (!(event.key in STEPS) || !chosen().columns) return;
    event.preventDefault();
    moveTo(step + STEPS[event.key]);
  }

  function show(now, held) {
    const columns = chosen().columns;
    [slider, flag].forEach((range) => {
      if (range && columns) range.value = String(Math.round(1000 * now("flagged_rate")));
    });
    followers.forEach((f) => place(f, now));
    drawIcons(now);
    all("[data-value]").forEach((e) => {
      e.textContent = written(e.dataset.kind, now(e.dataset.value));
    });
    const broken = data.constraints.filter((_, k) => !held(k));
    all("[data-meets]").forEach((e) => {
      const met = held(Number(e.dataset.meets));
      e.textContent = met ? "met" : "not met";
      e.classList.toggle("broken", !met);
    });
    const share = (name) => written("share", now(name));
    const spoken = "threshold " + written("threshold", now("threshold")) + ": flags " +
      share("flagged_rate") + ", recall " + share("recall") + ", precision " +
      share("precision");
    const text = spoken + (broken.length ? "; not met: " + broken.join(", ") : "");
    slider.setAttribute("aria-valuetext", text);
    if (flag) flag.setAttribute("aria-valuetext", text);
  }

  /* 1,000 cases: 25 in a column, found, missed, false alarms, rightly passed */

  function drawIcons(now) {
    const svg = document.querySelector("svg.icons");
    const recall = now("recall"), fpr = now("fpr");
    if (!svg || recall === null || fpr === null) return;
    const share = Number(svg.dataset.prevalence);
    const parts = [share * recall, share * (1 - recall), (1 - share) * fpr,
      (1 - share) * (1 - fpr)];
    const counts = thousand(parts);
    let first = 0;
    ["tp", "fn", "fp", "tn"].forEach((cell, k) => {
      // a dotted line down each column, a little longer than its dots are apart
      let path = "";
      const end = first + counts[k];
      while (first < end) {
        const row = first % 25, dots = Math.min(25 - row, end - first);
        path += "M" + (5 + 10 * Math.floor(first / 25)) + " " + (5 + 10 * row) +
          "v" + 10 * (dots - 1) + ".1";
        first += dots;
      }
      svg.querySelectorAll("[data-cell=" + cell + "]").forEach((e) => {
        e.setAttribute("d", path);
      });
      all("[data-icons=" + cell + "]").forEach((e) => { e.textContent = counts[k]; });
    });
  }

  // the largest remainders are rounded up, so that there are 1,000
  function thousand(parts) {
    const counts = parts.map((p) => Math.floor(1000 * p + 1e-9));
    const order = parts.map((p, k) => k)
      .sort((a, b) => (1000 * parts[b] - counts[b]) - (1000 * parts[a] - counts[a]));
    let left = 1000 - counts.reduce((a, b) => a + b, 0);
    for (let k = 0; left > 0; k += 1, left -= 1) counts[order[k % 4]] += 1;
    return counts;
  }

  function choose(at) {
    const k = choice ? choice.value : "0", model = chosen();
    step = typeof at === "number" ? at : model.start;
    slider.max = model.columns ? "1000" : String(model.size - 1);
    slider.value = String(step);
    all("[data-model]").forEach((e) => {
      const mine = e.dataset.model === k;
      e.classList.toggle("chosen", mine);
      // what lies last lies on top
      if (mine && e.classList.contains("curve")) e.parentNode.append(e);
      if (e.classList.contains("only")) e.classList.toggle("gone", !mine);
    });
    move();
  }

  /* the pointer over a curve: what a click there would set */

  // the step of the chosen classifier whose point, or upright line, is nearest
  function stepUnder(event, svg, mark) {
    const model = chosen();
    if (!model.columns) return null;
    const across = model.columns[mark.dataset.x], up = model.columns[mark.dataset.y];
    if (!across || (mark.dataset.y && !up)) return null;
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    // the slider is the horizontal axis of the first plot: there height is nothing
    const along = svg.classList.contains("plot");
    const scale = along ? null : follower(mark);
    const width = along ? 1 : box.width / svg.viewBox.baseVal.width;
    let best = null, least = Infinity;
    for (let at = 0; at < model.size; at += 1) {
      const u = along ? across[at] : scale.scaled(across[at]), v = up ? up[at] : undefined;
      if (u === null || v === null || (scale && !scale.inside(u, v))) continue;
      const dx = (along ? u * box.width : scale.px(u) * width) - x;
      const dy = along || !up ? 0 : scale.py(v) * width - y;
      const distance = dx * dx + dy * dy;
      if (distance < least) { least = distance; best = at; }
    }
    return best;
  }

  function told(at) {
    const column = chosen().columns;
    const share = (name) => written("share", column[name][at]);
    return "threshold " + written("threshold", column.threshold[at]) +
      "\nflags " + share("flagged_rate") + "\nrecall " + share("recall") +
      "\nprecision " + share("precision");
  }

  // what would move, drawn where it would move to
  let ghosts = [];

  function ghostOf(f) {
    const ghost = f.mark.cloneNode(false);
    ghost.setAttribute("class", "ghost");
    ghost.setAttribute("visibility", "hidden");
    f.mark.before(ghost);
    return { ...f, mark: ghost };
  }

  function haunt(at) {
    const columns = chosen().columns;
    ghosts.forEach((ghost) => {
      if (at === null) ghost.mark.setAttribute("visibility", "hidden");
      else place(ghost, (name) => columns[name] ? columns[name][at] : null);
    });
  }

  function readsOut(svg) {
    const mark = svg.querySelector("circle.now[data-x][data-y]") ||
      svg.querySelector("line.now[data-x]");
    if (!mark) return;
    svg.setAttribute("data-follows", "");
    const box = document.getElementById("under-pointer");
    svg.addEventListener("pointermove", (e) => {
      const at = stepUnder(e, svg, mark);
      box.hidden = at === null;
      haunt(at);
      if (at === null) return;
      box.textContent = told(at);
      const right = e.clientX > window.innerWidth - 190;
      box.style.left = e.pageX + (right ? -150 : 14) + "px";
      box.style.top = e.pageY + 14 + "px";
    });
    svg.addEventListener("pointerleave", () => {
      box.hidden = true;
      haunt(null);
    });
    svg.addEventListener("click", (e) => {
      const at = stepUnder(e, svg, mark);
      if (at !== null) moveTo(at);
    });
  }

  function pointAndClick() {
    if (!chosen().columns) return; // the workbench has no columns to look them up in
    document.body.classList.add("clickable");
    if (!document.getElementById("under-pointer")) {
      const box = document.createElement("div");
      box.id = "under-pointer";
      box.hidden = true;
      document.body.append(box);
    }
    ghosts = followers
      .filter((f) => f.mark.dataset.x && ["circle", "line"].includes(f.mark.tagName))
      .map(ghostOf);
    all("svg.figure, svg.plot").forEach(readsOut);
  }

  // the workbench begins again when it has new figures
  function begin(at) {
    data = JSON.parse(document.getElementById("data").textContent);
    slider = document.getElementById("threshold");
    if (!slider) return;
    choice = document.getElementById("model");
    flag = document.getElementById("flag");
    document.body.classList.add("live");
    followers = all("[data-x], [data-left]").map(follower);
    [slider, flag].forEach((range) => {
      if (!range) return;
      range.addEventListener("input", slide);
      range.addEventListener("keydown", typed);
    });
    if (choice) choice.addEventListener("change", choose);
    const back = document.getElementById("back");
    if (back) back.addEventListener("click", choose);
    choose(at);
    pointAndClick();
  }

  if (window.workbench) window.workbench.begin = begin;
  else begin();
})();
