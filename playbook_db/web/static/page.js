/* What is nicer with a script; every page works without it.

   A search answers while one types: the form's own address is fetched, and #results of the answer takes the place of
   ours. One key each presses the buttons of a proposal (data-key inside data-review), unless #keys is off. Nothing is
   asked of any other place than the page itself. */
"use strict";

const WAIT_MS = 150; // after the last key, before we ask
const KEYS_OFF = "playbook-keys-off";

/* Search as you type. */
const search = document.querySelector("form[role=search]");
let waiting = 0;
let asking = null; // what aborts the request under way
let isPushed = false; // whether this search has an entry of its own in the browser's history

function addressOf(form) {
  const address = new URL(form.action, location.href);
  const given = [...new FormData(form)].filter(([, value]) => value !== "");
  address.search = new URLSearchParams(given).toString();
  return address;
}

function announce(results) {
  const count = results.querySelector("[data-count]");
  document.getElementById("announced").textContent = count ? count.textContent.trim() : "";
}

async function ask() {
  clearTimeout(waiting);
  if (asking) asking.abort();
  const mine = (asking = new AbortController());
  const address = addressOf(search);
  const shown = document.getElementById("results");
  shown.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { signal: mine.signal, credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asking) return;
    const results = page.getElementById("results");
    if (!answer.ok || !results) return location.assign(address); // the page itself says what is wrong
    shown.replaceWith(document.adoptNode(results));
    history[isPushed ? "replaceState" : "pushState"](null, "", address);
    isPushed = true;
    announce(results);
  } catch (error) {
    shown.removeAttribute("aria-busy");
    if (error.name !== "AbortError") {
      document.getElementById("announced").textContent = "No answer. Is `playbook web` still running?";
    }
  }
}

if (search && document.getElementById("results")) {
  search.addEventListener("input", (event) => {
    clearTimeout(waiting);
    if (event.target.type === "search") waiting = setTimeout(ask, WAIT_MS);
  });
  search.addEventListener("change", (event) => {
    if (event.target.type !== "search") ask();
  });
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  addEventListener("popstate", () => location.reload());
}

/* A form is sent once, however often its button is clicked. A page that comes back from the browser's cache sends again. */
const sent = new Set();
addEventListener("pageshow", () => sent.clear());
addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
});

/* One key each. */
const buttons = document.querySelectorAll("[data-review] [data-key]");
const keys = document.getElementById("keys"); // whether they are on; only the page of a proposal has it

if (keys) {
  keys.closest("[hidden]").hidden = false;
  keys.checked = localStorage.getItem(KEYS_OFF) === null;
  keys.addEventListener("change", () => {
    if (keys.checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "");
  });
}

document.addEventListener("keydown", (event) => {
  if (!keys?.checked || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.repeat || event.isComposing || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  const button = [...buttons].find((each) => each.dataset.key === event.key);
  if (!button) return;
  button.click();
  event.preventDefault();
});

for (const button of buttons) {
  button.setAttribute("aria-keyshortcuts", button.dataset.key);
  button.append(" ", Object.assign(document.createElement("kbd"), { textContent: button.dataset.key, ariaHidden: "true" }));
}
