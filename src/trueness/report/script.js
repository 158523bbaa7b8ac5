"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const slider = document.getElementById("threshold");
  if (!slider) return;
  const choice = document.getElementById("model");
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const numbers = (text) => text.split(" ").map(Number);
  // where a value lies on the paper of a figure
  const followers = all("[data-x], [data-left]").map((mark) => {
    const svg = mark.closest("svg.figure");
    const [x0, x1, y0, y1] = numbers(svg.dataset.ranges);
    const [left, top, right, bottom] = numbers(svg.dataset.plot);
    return {
      mark,
      px: (v) => left + (v - x0) / (x1 - x0) * (right - left),
      py: (v) => bottom - (v - y0) / (y1 - y0) * (bottom - top),
      inside: (x, y) => between(x, x0, x1) && (y === undefined || between(y, y0, y1)),
    };
  });

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
    const set = (name, v) => f.mark.setAttribute(name, v.toFixed(2));
    const want = f.mark.dataset;
    if (want.left) {
      set("y1", f.py(now(want.left)));
      set("y2", f.py(now(want.right)));
      return;
    }
    const x = now(want.x), y = want.y ? now(want.y) : undefined;
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
    const now = (name) => name in model.columns ? model.columns[name][at] : null;
    followers.forEach((f) => place(f, now));
    all("[data-value]").forEach((e) => {
      e.textContent = written(e.dataset.kind, now(e.dataset.value));
    });
    const broken = data.constraints.filter((_, k) => model.meets[k][at] === "0");
    all("[data-meets]").forEach((e) => {
      const held = model.meets[Number(e.dataset.meets)][at] === "1";
      e.textContent = held ? "met" : "not met";
      e.classList.toggle("broken", !held);
    });
    const share = (name) => written("share", now(name));
    const spoken = "threshold " + written("threshold", now("threshold")) + ": flags " +
      share("flagged_rate") + ", recall " + share("recall") + ", precision " +
      share("precision");
    slider.setAttribute("aria-valuetext",
      spoken + (broken.length ? "; not met: " + broken.join(", ") : ""));
  }

  function choose() {
    const k = choice ? choice.value : "0";
    const model = data.models[Number(k)];
    slider.max = String(model.size - 1);
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
