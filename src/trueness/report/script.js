"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const slider = document.getElementById("threshold");
  if (!slider) return;
  const choice = document.getElementById("model");
  const LEFT = 54, RIGHT = 14, TOP = 12, BOTTOM = 46;
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const followers = all("[data-x], [data-left]").map((mark) => {
    const svg = mark.closest("svg.figure");
    const box = svg.viewBox.baseVal;
    const [x0, x1, y0, y1] = svg.dataset.ranges.split(" ").map(Number);
    return {
      mark,
      px: (v) => LEFT + (v - x0) / (x1 - x0) * (box.width - LEFT - RIGHT),
      py: (v) => box.height - BOTTOM - (v - y0) / (y1 - y0) * (box.height - TOP - BOTTOM),
      inside: (x, y) => between(x, x0, x1) && (y === undefined || between(y, y0, y1)),
    };
  });

  function between(v, low, high) {
    const room = 1e-9 * (high - low);
    return v !== null && v >= low - room && v <= high + room;
  }

  const ratio = (a, b) => (b > 0 ? a / b : NaN);

  function values(model, at) {
    const tp = model.tp[at], fp = model.fp[at];
    const fn = model.pos - tp, tn = model.neg - fp, n = model.pos + model.neg;
    const cut = model.threshold[at];
    const loss = data.prices.fp * fp + data.prices.fn * fn;
    const fpr = ratio(fp, model.neg), fnr = ratio(fn, model.pos);
    // scores that are no probabilities have neither a meaning nor a net benefit
    const acts = model.probability !== null && cut !== null && cut < 1;
    return {
      tp, fp, fn, tn,
      threshold: cut === null ? Infinity : cut,
      flagged: tp + fp, passed: fn + tn,
      recall: ratio(tp, model.pos), fpr, fnr,
      specificity: ratio(tn, model.neg), precision: ratio(tp, tp + fp),
      npv: ratio(tn, fn + tn), accuracy: ratio(tp + tn, n),
      f1: ratio(2 * tp, 2 * tp + fp + fn), flagged_rate: ratio(tp + fp, n),
      cost: ratio(loss, n),
      weight: data.weight,
      weighted_cost: data.weight * fnr + (1 - data.weight) * fpr,
      probability: model.probability && model.probability[at],
      net_benefit: acts ? ratio(tp - fp * cut / (1 - cut), n) : null,
    };
  }

  const counts = new Set(["tp", "fp", "fn", "tn", "flagged", "passed"]);

  function percent(x) {
    if (x === 0) return "0%";
    // only what is everything is 100%
    if (x >= 99.95 && x < 100) return (Math.floor(100 * x) / 100).toFixed(2) + "%";
    return x.toPrecision(3) + "%";
  }

  function written(name, v) {
    if (counts.has(name)) return v.toLocaleString("en-US");
    if (name === "threshold") return v === Infinity ? "above all scores" : String(v);
    if (Number.isNaN(v) || v === null) return "undefined";
    if (name === "cost") return String(Number(v.toPrecision(4)));
    return percent(100 * v);
  }

  function place(f, now) {
    const set = (name, v) => f.mark.setAttribute(name, v.toFixed(2));
    const want = f.mark.dataset;
    if (want.left) {
      set("y1", f.py(now[want.left]));
      set("y2", f.py(now[want.right]));
      return;
    }
    const x = now[want.x], y = want.y ? now[want.y] : undefined;
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

  function move() {
    const model = data.models[Number(choice ? choice.value : 0)];
    const at = Number(slider.value);
    const now = values(model, at);
    followers.forEach((f) => place(f, now));
    all("[data-value]").forEach((e) => {
      e.textContent = written(e.dataset.value, now[e.dataset.value]);
    });
    const broken = data.constraints.filter((_, k) => model.meets[k][at] === "0");
    all("[data-meets]").forEach((e) => {
      const held = model.meets[Number(e.dataset.meets)][at] === "1";
      e.textContent = held ? "met" : "not met";
      e.classList.toggle("broken", !held);
    });
    const spoken = "threshold " + written("threshold", now.threshold) + ": flags " +
      written("flagged_rate", now.flagged_rate) + ", recall " +
      written("recall", now.recall) + ", precision " + written("precision", now.precision);
    slider.setAttribute("aria-valuetext",
      spoken + (broken.length ? "; not met: " + broken.join(", ") : ""));
  }

  function choose() {
    const k = choice ? choice.value : "0";
    const model = data.models[Number(k)];
    slider.max = String(model.tp.length - 1);
    slider.value = String(model.start);
    all("[data-model]").forEach((e) => {
      const mine = e.dataset.model === k;
      e.classList.toggle("chosen", mine);
      if (e.classList.contains("only")) e.classList.toggle("gone", !mine);
    });
    move();
  }

  slider.addEventListener("input", move);
  if (choice) choice.addEventListener("change", choose);
  const back = document.getElementById("back");
  if (back) back.addEventListener("click", choose);
  choose();
})();
