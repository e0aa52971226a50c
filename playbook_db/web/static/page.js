/* What is nicer with a script; every page works without it.

   A search answers while one types: the form's own address is fetched, and #results of the answer takes the place of
   ours. One key each presses the buttons of a proposal (data-key inside data-review); "/" goes to the search, "?" shows
   the keys. Nothing is asked of any other place than the page itself. */
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

/* One key each. */
const buttons = [...document.querySelectorAll("[data-review] [data-key]")];
const isOff = () => localStorage.getItem(KEYS_OFF) !== null;

function press(key) {
  const button = buttons.find((each) => each.dataset.key === key);
  if (button) button.click();
  return Boolean(button);
}

function help() {
  const dialog = document.createElement("dialog");
  const title = document.createElement("h2");
  const list = document.createElement("dl");
  title.id = "keys";
  title.textContent = "Keys";
  dialog.setAttribute("aria-labelledby", "keys");
  list.className = "facts";
  const keys = [["?", "these keys"]];
  if (search) keys.push(["/", "to the search"]);
  keys.push(...buttons.map((button) => [button.dataset.key, button.dataset.name]));
  for (const [key, what] of keys) {
    const term = document.createElement("dt");
    term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
    list.append(term, Object.assign(document.createElement("dd"), { textContent: what }));
  }
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: !isOff() });
  box.addEventListener("change", () => {
    if (box.checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "");
  });
  label.append(box, " Keys other than ? are on");
  const form = Object.assign(document.createElement("form"), { method: "dialog" });
  form.append(Object.assign(document.createElement("button"), { textContent: "Close" }));
  dialog.append(title, list, label, form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function isTyping(target) {
  return target.closest("input, select, textarea, [contenteditable], dialog") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
  if (event.key === "?") help();
  else if (isOff() || event.shiftKey || event.repeat) return;
  else if (event.key === "/" && search) search.querySelector("[type=search]").focus();
  else if (!press(event.key)) return;
  event.preventDefault();
});

for (const button of buttons) {
  button.dataset.name = button.textContent.trim();
  button.setAttribute("aria-keyshortcuts", button.dataset.key);
  button.append(" ", Object.assign(document.createElement("kbd"), { textContent: button.dataset.key, ariaHidden: "true" }));
}
