"use strict";
/* The workbench: sends files, asks the server for sections and numbers, and keeps the
   address in step. It computes nothing. */
window.workbench = (() => {
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) =>
    Array.from(within.querySelectorAll(selector));
  const GONE = "The server does not answer. Is trueness app still running?";
  const SECRET = window.truenessSession || "";
  const HEADER = "X-Trueness-Session";
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const tab = Math.random().toString(36).slice(2);
  const form = find("#state"), main = find("main[data-query]");
  // sections that ask for something of their own, beside the threshold
  const ASIDE = ["calibrated", "planning", "ensembles"];
  const bench = { begin: null, lookUp };
  let query = main ? main.dataset.query : "";
  let now = null, last = null, asking = false, next = null, dirty = false, timer = 0;
  let aimed = null; // the step of the slider that was asked for last
  // changed: the threshold may move; owed: so may every section, until all are asked for
  let changed = false, owed = false;
  // which round of asking a section waits for: an older one must not answer
  const rounds = {};

  /* requests: each carries the secret of the session, which no other page has */

  async function ask(url) {
    const answer = await fetch(url, { method: "POST", headers: { [HEADER]: SECRET } });
    if (answer.status === 403) location.reload(); // another session: the page says so
    return answer;
  }

  // a form, so that the browser writes the file to the disk as it comes
  function download(url) {
    const sent = document.createElement("form"), field = document.createElement("input");
    sent.method = "post";
    sent.action = url;
    field.type = "hidden";
    field.name = "session";
    field.value = SECRET;
    sent.append(field);
    document.body.append(sent);
    sent.submit();
    sent.remove();
  }

  /* files */

  function receive(file) {
    const sending = find("#sending"), bar = find("#bar"), sent = find("#sent");
    const refused = find("#refused"), request = new XMLHttpRequest();
    const refuse = (words) => {
      sending.hidden = true;
      refused.textContent = words;
      refused.hidden = false;
    };
    refused.hidden = true;
    sending.hidden = false;
    sent.textContent = "Reading " + file.name;
    request.upload.onprogress = (e) => { bar.value = e.total ? e.loaded / e.total : 0; };
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* no sentence */ }
      if (answer.address) location.assign(answer.address);
      else refuse(answer.problem || "The file was refused.");
    };
    request.onerror = () => refuse("The file could not be sent. Is trueness app still running?");
    request.onabort = () => { sending.hidden = true; };
    find("#abort").onclick = () => request.abort();
    request.open("POST", "/upload?name=" + encodeURIComponent(file.name));
    request.setRequestHeader(HEADER, SECRET);
    request.send(file);
  }

  function dropping(zone) {
    const over = (yes) => (e) => { e.preventDefault(); zone.classList.toggle("over", yes); };
    ["dragenter", "dragover"].forEach((n) => document.addEventListener(n, over(true)));
    ["dragleave", "dragend"].forEach((n) => document.addEventListener(n, over(false)));
    document.addEventListener("drop", (e) => {
      over(false)(e);
      if (e.dataTransfer.files.length) receive(e.dataTransfer.files[0]);
    });
    find("#file").addEventListener("change", (e) => {
      if (e.target.files.length) receive(e.target.files[0]);
    });
  }

  /* the state: what the form says is what the address says */

  function asked() {
    const given = new URLSearchParams();
    new FormData(form).forEach((v, k) => { if (v !== "") given.append(k, v); });
    return given.toString();
  }

  function remember(how) {
    const at = now ? "&model=" + now.model + "&at=" + now.at : "";
    const open = all("details[data-section][open]").map((e) => "&open=" + e.dataset.section);
    history[how](null, "", "/look?" + query + at + open.join(""));
  }

  // where the server does not answer, the sections say so
  async function check(more = "") {
    try { return await (await ask("/check?" + query + more)).json(); } catch {
      return { problems: {} };
    }
  }

  // what the threshold does not depend on leaves the slider where it is
  async function apply() {
    const wanted = asked(), moves = changed;
    changed = false;
    if (wanted === query) return;
    query = wanted;
    owed ||= moves;
    if (moves) now = last = aimed = null;
    const mine = hold(owed ? null : ASIDE);
    remember(dirty ? "replaceState" : "pushState");
    dirty = true;
    const answer = await check();
    if (wanted !== query) return;
    say(answer);
    (answer.asks || []).forEach((key) => {
      const asked = find("details[data-section='" + key + "']");
      if (asked && !asked.open) {
        asked.setAttribute("aria-busy", "true");
        asked.open = true;
      }
    });
    if (Object.keys(answer.problems).length) {
      // what is shown answers an older question, and nothing is being worked out
      sections(owed ? null : ASIDE).forEach((e) => e.removeAttribute("aria-busy"));
      return;
    }
    if (owed) unmet();
    owed = false;
    fillAll(mine);
  }

  // constraints that no threshold meets are told where they were typed, too
  async function unmet() {
    if (!form.elements.subject_to) return;
    const wanted = query, answer = await check("&unmet=1");
    if (wanted === query) say(answer);
  }

  // what is wrong, where it was typed; and the lines that give the same
  function say(answer) {
    const problems = { ...answer.unmet, ...answer.problems };
    // the server counts constraints that are there; a line between them may be empty
    const filled = all("[name=subject_to]").filter((e) => e.value.trim());
    all("[data-problem]").forEach((e) => {
      let name = e.dataset.problem;
      const line = filled.findIndex((i) => i.getAttribute("aria-describedby") === e.id);
      if (name.startsWith("subject_to_")) name = "subject_to_" + line;
      const words = problems[name] || "";
      e.textContent = words;
      e.hidden = !words;
      const input = find("[aria-describedby='" + e.id + "']");
      if (input) input.setAttribute("aria-invalid", words ? "true" : "false");
    });
    if (answer.taken) {
      all("[data-line]").forEach((e) => {
        if (e.dataset.line in answer.taken) e.textContent = answer.taken[e.dataset.line];
      });
    }
  }

  function soon(moves = true, ms = 180) {
    changed ||= moves;
    clearTimeout(timer);
    timer = setTimeout(apply, ms);
  }

  /* the counts: before them there is nothing to show, and one thing that can be wrong */

  async function counted() {
    const wait = find("[data-section=count] [data-wait]");
    for (;;) {
      let answer;
      try { answer = await ask("/count?" + query + "&tab=" + tab); } catch {
        tell(wait, { words: GONE });
        await later(1500);
        continue;
      }
      const found = await answer.json();
      if (answer.status === 202) {
        tell(wait, found);
        await later(250);
        continue;
      }
      const wrong = Object.keys(found.problems);
      wait.hidden = !found.problem;
      if (found.problem) find("[data-words]", wait).textContent = found.problem;
      if (wrong.length) {
        say(found);
        find("#answers").hidden = true;
        find("#unanswered").hidden = false;
        const told = find("#problem-" + wrong[0]);
        told.closest("details").open = true;
        told.scrollIntoView({ block: "center" });
      }
      return !wrong.length && !found.problem;
    }
  }

  /* sections: some are answered at once, others when somebody opens them */

  function sections(only) {
    return all("[data-section]").filter((e) => find("[data-body]", e) &&
      (!only || only.includes(e.dataset.section)));
  }

  const shown = (section) => section.tagName !== "DETAILS" || section.open;

  // from now on these sections answer an older question
  function hold(only) {
    const mine = { only };
    sections(only).forEach((section) => {
      rounds[section.dataset.section] = mine;
      delete section.dataset.done;
      if (shown(section)) section.setAttribute("aria-busy", "true");
      find("[data-body]", section).classList.add("stale");
    });
    return mine;
  }

  async function fillAll(mine) {
    const keys = sections(mine.only).filter(shown).map((e) => e.dataset.section);
    const first = keys.includes("threshold") ? ["threshold", "summary"] : [];
    for (const key of first) await fill(key, true, mine);
    const order = [...first, ...keys.filter((k) => !first.includes(k))];
    await Promise.all(order.map((key) => fill(key, false, mine)));
    if (first.length || mine.only) await tellSummary(mine, keys);
  }

  // what the sections found is said in the summary too
  async function tellSummary(mine, keys) {
    if (!find("[data-section=summary]") || keys.some((k) => rounds[k] !== mine)) return;
    rounds.summary = mine;
    await fill("summary", false, mine, "&again=1");
  }

  async function openedNow(section) {
    const key = section.dataset.section;
    remember("replaceState");
    if (!section.open || section.dataset.done || section.hasAttribute("aria-busy")) return;
    await fill(key, false, rounds[key]);
    if (section.dataset.done) await tellSummary(rounds.summary, ["summary"]);
  }

  async function fill(key, quick, mine, more = "") {
    const section = find("[data-section='" + key + "']"), wait = find("[data-wait]", section);
    const body = find("[data-body]", section);
    const url = "/section/" + key + "?" + query + "&tab=" + tab + (quick ? "&quick=1" : "");
    if (rounds[key] !== mine) return;
    section.setAttribute("aria-busy", "true");
    for (let first = true; rounds[key] === mine; first = false) {
      let answer;
      try { answer = await ask(url + (first ? more : "")); } catch {
        tell(wait, { words: GONE });
        await later(1500);
        continue;
      }
      if (rounds[key] !== mine) return;
      if (answer.status !== 202) {
        const text = await answer.text();
        if (rounds[key] !== mine) return;
        put(key, body, text);
        break;
      }
      tell(wait, await answer.json());
      await later(250);
    }
    if (rounds[key] !== mine) return;
    wait.hidden = true;
    if (!quick) {
      section.removeAttribute("aria-busy");
      section.dataset.done = "1";
      body.classList.remove("stale");
    }
  }

  function tell(wait, how) {
    wait.hidden = false;
    find("[data-words]", wait).textContent = how.words +
      (how.fraction === null || how.fraction === undefined ? " …" : " " + Math.round(100 * how.fraction) + " %");
    const bar = find("progress", wait);
    if (how.fraction) bar.value = how.fraction;
    else bar.removeAttribute("value");
  }

  function put(key, body, text) {
    const same = body.made === text, slides = key === "threshold";
    body.made = text;
    body.parentElement.classList.remove("empty");
    if (same) {
      const back = find("#back"); // not there where no threshold can be chosen
      if (slides && aimed === null && back) back.click();
      return;
    }
    const slider = find("#threshold"), focused = document.activeElement;
    const was = focused && body.contains(focused) ? focused.id : "";
    const opened = all("details", body).map((d) => d.open);
    body.innerHTML = text;
    all("details", body).forEach((d, k) => { d.open = Boolean(opened[k]); });
    if (key === "leaves") all(".scroll table", body).forEach(sorts);
    all("figure", body).filter((f) => find("svg.figure", f)).forEach((f, n) => {
      const links = document.createElement("p");
      links.className = "away";
      ["svg", "png"].forEach((kind) => {
        const a = document.createElement("a");
        a.dataset.take = key + "-" + n + "." + kind;
        a.href = "/take/" + a.dataset.take + "?" + query;
        a.textContent = kind.toUpperCase();
        a.setAttribute("aria-label", find("h3", f).textContent + " as " + kind.toUpperCase());
        links.append(a);
      });
      f.append(links);
    });
    if (slides && find("#threshold")) begin(slider !== null);
    if (was && document.getElementById(was)) document.getElementById(was).focus();
  }

  function begin(again) {
    const given = new URLSearchParams(location.search), choice = find("#model");
    let at;
    if (aimed !== null) at = aimed;
    else if (!again && given.has("at")) at = Number(given.get("at"));
    const data = JSON.parse(find("#data").textContent);
    // the best one is looked at first, and the address and the lines say so
    if (!form.elements.classifier.value) {
      form.elements.classifier.value = data.models[0].key;
      query = asked();
      check().then(say);
    }
    const wanted = form.elements.classifier.value;
    if (choice) {
      const mine = data.models.findIndex((m) => m.key === wanted);
      choice.value = String(Math.max(mine, 0));
      choice.addEventListener("change", () => {
        form.elements.classifier.value = data.models[Number(choice.value)].key;
        dirty = false;
        soon(false);
      });
    }
    bench.begin(at);
  }

  /* numbers: one question at a time, the last one asked for wins */

  async function lookUp(model, at, then) {
    next = [model, at, then];
    aimed = at; // a section that comes meanwhile must not take the slider back
    if (asking) return;
    asking = true;
    while (next) {
      const [which, step, show] = next;
      next = null;
      if (last && last.model === which.index && last.at === step) tellNow(last, show);
      try {
        const answer = await ask("/at?" + query + "&model=" + which.index + "&at=" + step);
        if (!answer.ok) continue;
        const found = await answer.json();
        now = { model: which.index, at: found.at, cut: found.values.threshold };
        last = { ...found, model: which.index };
        if (!next) aimed = found.at;
        find("[data-line=flagged]").textContent = found.flagged;
        tellNow(last, show);
      } catch { await later(300); }
    }
    asking = false;
    remember("replaceState");
  }

  function tellNow(found, show) {
    show((name) => name in found.values ? found.values[name] : null,
      (k) => found.meets[k] !== false);
  }

  /* a table that sorts */

  function sorts(table) {
    all("thead th", table).forEach((th, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = th.textContent;
      th.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = th.getAttribute("aria-sort") !== "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = find("tbody", table);
        const key = (row) => row.cells[column].textContent;
        const plain = (text) => text.replaceAll(",", "").replace("−", "-");
        body.append(...Array.from(body.rows).sort((a, b) => {
          const x = parseFloat(plain(key(a))), y = parseFloat(plain(key(b)));
          const order = Number.isNaN(x) || Number.isNaN(y) ?
            key(a).localeCompare(key(b), "en", { numeric: true }) : x - y;
          return up ? order : -order;
        }));
      });
    });
  }

  /* completion of names, as one types */

  function completes(input) {
    const list = find("#names"), words = JSON.parse(find("#words").textContent);
    const word = () => /[A-Za-z_]\w*$/.exec(input.value.slice(0, input.selectionStart));
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const mark = (k) => {
      const items = all("li", list);
      items.forEach((e, j) => e.setAttribute("aria-selected", String(j === k)));
      if (items[k]) {
        input.setAttribute("aria-activedescendant", items[k].id);
        items[k].scrollIntoView({ block: "nearest" });
      }
    };
    const marked = () => all("li", list).findIndex((e) => e.getAttribute("aria-selected") === "true");
    const accept = (text) => {
      const start = word().index, end = input.selectionStart;
      const name = text.replace(/\(.*/, "(");
      input.setRangeText(name, start, end, "end");
      close();
      input.dispatchEvent(new Event("input", { bubbles: true }));
    };
    input.addEventListener("input", () => {
      const typed = word();
      const fit = typed ? words.filter((w) => w.startsWith(typed[0].toLowerCase()) &&
        w !== typed[0]).slice(0, 12) : [];
      list.replaceChildren(...fit.map((w, k) => {
        const item = document.createElement("li");
        item.id = "name-" + k;
        item.role = "option";
        item.textContent = w;
        item.setAttribute("aria-selected", "false");
        item.addEventListener("mousedown", (e) => { e.preventDefault(); accept(w); });
        return item;
      }));
      if (!fit.length || document.activeElement !== input) { close(); return; }
      input.insertAdjacentElement("afterend", list);
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
    });
    input.addEventListener("keydown", (e) => {
      if (list.hidden) {
        if (e.key === "Enter") { e.preventDefault(); dirty = false; soon(); }
        return;
      }
      const items = all("li", list), at = marked();
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        mark((at + (e.key === "ArrowDown" ? 1 : items.length - 1) + (at < 0 && e.key === "ArrowUp" ? 1 : 0)) % items.length);
      } else if (e.key === "Enter" || (e.key === "Tab" && at >= 0)) {
        e.preventDefault();
        if (at >= 0) accept(items[at].textContent);
        else { close(); dirty = false; soon(); }
      } else if (e.key === "Escape") close();
    });
    input.addEventListener("blur", close);
  }

  function oneMore() {
    const inputs = all("[name=subject_to]"), last = inputs[inputs.length - 1];
    if (!last.value) return;
    const k = inputs.length, line = last.closest("p").cloneNode(true);
    const input = find("input", line), label = find("label", line);
    const told = find("[data-problem='subject_to_" + (k - 1) + "']").cloneNode(false);
    input.value = "";
    input.id = "limit-" + k;
    label.htmlFor = input.id;
    label.textContent = "Constraint " + (k + 1);
    told.id = "problem-subject_to_" + k;
    told.dataset.problem = "subject_to_" + k;
    told.hidden = true;
    input.setAttribute("aria-describedby", told.id);
    input.setAttribute("aria-invalid", "false");
    const list = find("#names", line);
    if (list) list.remove();
    find("#limits").append(line, told);
    completes(input);
  }

  /* sliders of costs and prevalence */

  function slides() {
    const ratio = find("#ratio"), share = find("#share");
    const round = (v) => Number(v.toPrecision(3));
    const fields = form.elements;
    const told = () => {
      const fp = Number(fields.cost_fp.value), fn = Number(fields.cost_fn.value);
      const known = fields.cost_fp.value && fields.cost_fn.value && fp > 0 && fn > 0;
      find("#ratio-now").textContent = known ? round(fn / fp) : "not set";
      if (known) ratio.value = Math.log10(fn / fp);
      const p = Number(fields.prevalence.value);
      if (p > 0 && p < 1) share.value = Math.log10(p);
      share.setAttribute("aria-valuetext", p ? round(100 * p) + " %" : "as in these cases");
      ratio.setAttribute("aria-valuetext", known ? round(fn / fp) + " to 1" : "no costs");
    };
    ratio.addEventListener("input", () => {
      fields.cost_fp.value = "1";
      fields.cost_fn.value = String(round(10 ** Number(ratio.value)));
      told();
      soon();
    });
    share.addEventListener("input", () => {
      fields.prevalence.value = String(round(10 ** Number(share.value)));
      told();
      soon();
    });
    form.addEventListener("input", (e) => { if (e.target.type === "number") told(); });
    told();
    find("#clear").addEventListener("click", () => {
      all("[data-typed]").forEach((e) => { e.value = ""; });
      find("[name=goal][value=maximize]").checked = true;
      dirty = false;
      told();
      soon(true, 0);
    });
  }

  /* what is taken away */

  async function away(link) {
    const name = link.dataset.take, making = find("#making");
    let url = "/take/" + name + "?" + query;
    if (name.startsWith("flagged")) {
      if (!now || now.cut === null) {
        making.textContent = "At this threshold no row is flagged.";
        return;
      }
      url += "&cut=" + now.cut;
      making.textContent = "";
      download(url);
      return;
    }
    for (;;) {
      const answer = await ask(url + "&ready=1&tab=" + tab);
      const found = await answer.json();
      if (answer.status === 202) {
        making.textContent = "Making " + name + ": " + found.words + " …";
        await later(300);
      } else if (found.ready) {
        making.textContent = name + " is ready.";
        download(url);
        return;
      } else {
        making.textContent = found.problem;
        return;
      }
    }
  }

  function listen() {
    document.addEventListener("click", (e) => {
      const link = e.target.closest("[data-take]");
      if (link) { e.preventDefault(); away(link); return; }
      const section = e.target.closest("[data-section]");
      if (e.target.closest("[data-stop]")) {
        ask("/stop/" + section.dataset.section + "?" + query);
      }
      if (e.target.closest("[data-once-more]")) {
        const key = section.dataset.section;
        delete section.dataset.done;
        fill(key, false, rounds[key], "&again=1");
      }
      const asks = e.target.closest("[data-asks]");
      if (asks) {
        const fields = all("[name=" + asks.dataset.asks + "]");
        const field = fields.find((f) => !f.value) || fields[fields.length - 1];
        field.closest("details").open = true;
        field.value = asks.value;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.focus();
      }
      const copy = e.target.closest("[data-copy]");
      if (copy) {
        const text = find("[data-line='" + copy.dataset.copy + "']").textContent;
        navigator.clipboard.writeText(text).then(
          () => { find("#copied").textContent = "Copied."; },
          () => { find("#copied").textContent = "Select the lines and copy them."; });
      }
    });
    document.addEventListener("change", (e) => {
      const sets = e.target.closest("[data-sets]");
      if (sets) {
        form.elements[sets.dataset.sets].value = sets.value;
        dirty = false;
        soon(false);
      } else if (e.target.closest("[data-again]")) {
        form.requestSubmit();
      } else if (e.target.form === form) {
        dirty = false;
        soon();
      }
    });
    form.addEventListener("input", (e) => {
      if (e.target.name === "subject_to") oneMore();
      if (e.target.closest("[data-typed]")) soon();
    });
    form.addEventListener("formdata", (e) => {
      for (const name of new Set(e.formData.keys())) {
        const kept = e.formData.getAll(name).filter((v) => v !== "");
        e.formData.delete(name);
        kept.forEach((v) => e.formData.append(name, v));
      }
    });
    window.addEventListener("popstate", () => location.reload());
    all("[data-typed][role=combobox]").forEach(completes);
    // on a narrow screen the report comes first
    const narrow = window.matchMedia("(max-width: 63.9rem)").matches;
    if (narrow) {
      all(".pane").forEach((pane) => { pane.open = Boolean(find(".problem:not([hidden])", pane)); });
    }
    if (find("#ratio")) slides();
  }

  // an address with a new token differs behind # only, which loads no page by itself
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) location.reload();
  });
  if (find("#drop")) dropping(find("#drop"));
  if (form) {
    listen();
    document.addEventListener("DOMContentLoaded", async () => {
      const mine = hold(null);
      if (!find("#answers") || !(await counted())) return;
      all("details[data-section]").forEach((e) => e.addEventListener("toggle", () => openedNow(e)));
      await fillAll(mine);
      unmet();
    });
  }
  return bench;
})();
