"use strict";
/* Opens a page of the workbench. The token in the address is exchanged for the secret of
   the session, once; the page is then asked for with that secret. */
(() => {
  const KEY = "trueness session", HEADER = "X-Trueness-Session";
  const GONE = "The server does not answer. Is trueness app still running?";
  const ask = (path, secret) =>
    fetch(path, { method: "POST", headers: { [HEADER]: secret } });

  // kept for this address and port alone; where that is forbidden, until the next reload
  function remember(secret) {
    window.truenessSession = secret;
    try { localStorage.setItem(KEY, secret); } catch { /* this page knows it */ }
  }

  function remembered() {
    try { return localStorage.getItem(KEY) || ""; } catch { return ""; }
  }

  async function exchange() {
    if (!location.hash.startsWith("#token=")) return;
    const token = location.hash.slice("#token=".length);
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await ask("/session", token);
    if (answer.ok) remember((await answer.json()).secret);
  }

  function say(words) {
    const told = document.querySelector("#opening");
    told.textContent = words;
    told.setAttribute("role", "alert");
  }

  async function open() {
    await exchange();
    const secret = remembered() || window.truenessSession || "";
    const answer = await ask(location.pathname + location.search, secret);
    const text = await answer.text();
    if (answer.status === 403) { say(text); return; }
    window.truenessSession = secret;
    document.open();
    document.write(text);
    document.close();
  }

  // a new address that differs in its token only does not load the page again
  window.addEventListener("hashchange", () => location.reload());
  open().catch(() => say(GONE));
})();
