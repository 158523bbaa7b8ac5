"use strict";
/* One threshold through every figure. A report brings every number with it; the
   workbench asks its server for them (window.workbench.lookUp). */
(() => {
  let data, slider, choice, followers;
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const numbers = (text) => text.split(" ").map(Number);

  // where a value lies on the paper of a figure
  function follower(mark) {
    const svg = mark.closest("svg.figure");
    const [x0, x1, y0, y1] = numbers(svg.dataset.ranges);
    const [left, top, right, bottom] = numbers(svg.dataset.plot);
    return {
      mark,
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

  const chosen = () => data.models[Number(choice ? choice.value : 0)];

  function move() {
    const model = chosen(), at = Number(slider.value);
    if (!model.columns) {
      window.workbench.lookUp(model, at, show);
      return;
    }
    const column = (name) => model.columns[name];
    show((name) => column(name) ? column(name)[at] : null,
      (k) => model.meets[k][at] === "1");
  }

  function show(now, held) {
    followers.forEach((f) => place(f, now));
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
    slider.setAttribute("aria-valuetext",
      spoken + (broken.length ? "; not met: " + broken.join(", ") : ""));
  }

  function choose(at) {
    const k = choice ? choice.value : "0", model = chosen();
    slider.max = String(model.size - 1);
    slider.value = String(typeof at === "number" ? at : model.start);
    all("[data-model]").forEach((e) => {
      const mine = e.dataset.model === k;
      e.classList.toggle("chosen", mine);
      if (e.classList.contains("only")) e.classList.toggle("gone", !mine);
    });
    move();
  }

  // the workbench begins again when it has new figures
  function begin(at) {
    data = JSON.parse(document.getElementById("data").textContent);
    slider = document.getElementById("threshold");
    if (!slider) return;
    choice = document.getElementById("model");
    followers = all("[data-x], [data-left]").map(follower);
    slider.addEventListener("input", move);
    if (choice) choice.addEventListener("change", choose);
    const back = document.getElementById("back");
    if (back) back.addEventListener("click", choose);
    choose(at);
  }

  if (window.workbench) window.workbench.begin = begin;
  else begin();
})();
