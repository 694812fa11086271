"use strict";
(() => {
  const main = document.getElementById("main");
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
  const KEPT = "\n\t\u200d";
  const visible = (text) =>
    text.replace(HIDDEN, (c) => (KEPT.includes(c) ? c : "\\u{" + c.codePointAt(0).toString(16) + "}"));
  // Text nodes only: nothing that a program, a tool or a model has written is ever parsed as HTML.
  const make = (tag, names, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(names || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };

  // Values by structure -----------------------------------------------------------------------------------------------
  const MAX_ITEMS = 200;
  const MAX_TEXT = 4000;
  const scalar = (value) => {
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    return visible(text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) + "…" : text);
  };
  const fill = (box, entries, start) => {
    for (const [key, item] of entries.slice(start, start + MAX_ITEMS)) box.append(tree(item, key));
    const rest = entries.length - start - MAX_ITEMS;
    if (rest > 0) {
      const more = make("button", { type: "button" }, rest + " more");
      more.addEventListener("click", () => { more.remove(); fill(box, entries, start + MAX_ITEMS); });
      box.append(more);
    }
  };
  const tree = (value, key, isOpen) => {
    const name = key === undefined ? [] : [make("span", { class: "key" }, visible(String(key)).slice(0, 200)), ": "];
    if (value === null || typeof value !== "object") return make("div", {}, ...name, scalar(value));
    const entries = Array.isArray(value) ? value.map((item, index) => [index, item]) : Object.entries(value);
    const count = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
    const preview = visible(JSON.stringify(value).slice(0, 80));
    const box = make("details", {}, make("summary", {}, ...name, count + " ", preview));
    const open = () => { if (box.open && box.children.length === 1) fill(box, entries, 0); };
    box.addEventListener("toggle", open);
    if (isOpen && entries.length <= 20) { box.open = true; open(); }
    return box;
  };
  const structure = (text) => {
    try {
      return make("div", { class: "tree" }, tree(JSON.parse(text), undefined, true));
    } catch {
      return make("pre", {}, visible(text));
    }
  };

  // The calls ---------------------------------------------------------------------------------------------------------
  const PARTS = [["arguments", "Arguments"], ["result", "Result"], ["error", "Error"], ["progress", "Progress"], ["question", "Asked"],
    ["decision", "Decision"], ["edited", "Ran with"]];
  const openCall = (call) => {
    if (!call.open || call.querySelector(":scope > .body")) return;
    const body = make("div", { class: "body" });
    if (call.dataset.line)
      body.append(make("p", {}, make("a", { href: "#L" + call.dataset.line }, "line " + call.dataset.line)));
    for (const [name, title] of PARTS) {
      const text = call.dataset[name];
      if (text === undefined) continue;
      const isText = ["error", "progress", "question", "decision"].includes(name);
      body.append(make("h3", {}, title), isText ? make("pre", {}, visible(text)) : structure(text));
    }
    call.append(body);
  };
  main.addEventListener("toggle", (event) => {
    if (event.target.parentElement && event.target.parentElement.classList.contains("calls")) openCall(event.target);
  }, true);

  // Rows of a long list are text until someone needs them. They are our own markup, with foreign text escaped in it.
  const expand = (part) => {
    const rows = new DOMParser().parseFromString(part.dataset.rows, "text/html").body.children;
    const first = rows[0];
    part.replaceWith(...rows);
    return first;
  };
  const expandMatching = (texts) => {
    for (const part of main.querySelectorAll(".part")) {
      const rows = part.dataset.rows.toLowerCase();
      if (texts.every((text) => rows.includes(text))) expand(part);
    }
  };
  const markup = (text) => make("p", {}, text).innerHTML.replaceAll('"', "&quot;").replaceAll("'", "&#x27;");
  const count = () => {
    const calls = main.querySelectorAll(".calls > details");
    return [...calls].filter((call) => !call.hidden).length;
  };

  const search = (words) => {
    const box = main.querySelector(".calls");
    if (!box) return;
    const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
    expandMatching(terms.map((term) => {
      const line = /^line:(\d+)$/.exec(term);
      return line ? `data-line="${line[1]}"` : markup(term);
    }).concat(terms.length ? [] : ["\0"]));
    for (const call of box.children) {
      if (call.tagName !== "DETAILS") {
        call.hidden = terms.length > 0;
        continue;
      }
      let isMatch = true;
      if (terms.length) {
        const data = call.dataset;
        const text = [call.firstElementChild.textContent, call.className, data.arguments, data.result, data.error,
          data.decision].join(" ").toLowerCase();
        isMatch = terms.every((term) => /^line:\d+$/.test(term) ? data.line === term.slice(5) : text.includes(term));
      }
      call.hidden = !isMatch;
    }
    main.querySelector("#matches").textContent = terms.length ? `${count()} found` : "";
  };
  let timer = 0;
  main.addEventListener("input", (event) => {
    if (event.target.id !== "search") return;
    clearTimeout(timer);
    timer = setTimeout(() => search(event.target.value), 120);
  });

  const show = (id) => {
    if (!id.startsWith("c-")) return;
    if (!document.getElementById(id)) expandMatching([`id="${id}"`]);
    const call = document.getElementById(id);
    if (!call || call.tagName !== "DETAILS") return;
    call.hidden = false;
    call.open = true;
    openCall(call);
    call.scrollIntoView({ block: "center" });
    call.firstElementChild.focus({ preventScroll: true });
  };
  addEventListener("hashchange", () => show(decodeURIComponent(location.hash.slice(1))));
  main.addEventListener("click", (event) => {
    const bar = event.target.closest("rect[data-call]");
    if (bar) show("c-" + bar.dataset.call);
    const link = event.target.closest("a[href^='#c-']");
    if (link) show(link.getAttribute("href").slice(1));
    const part = event.target.closest(".part");
    if (part) expand(part).firstElementChild.focus();
    const words = event.target.closest("[data-search]");
    if (words) {
      const input = main.querySelector("#search");
      input.value = words.dataset.search;
      search(input.value);
      input.focus();
    }
  });
  addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    const input = main.querySelector("#search");
    if (event.key === "/" && !isTyping && input) {
      event.preventDefault();
      input.focus();
    }
    const row = event.target.closest && event.target.closest(".calls > details");
    if (!row || event.target.tagName !== "SUMMARY" || !/^Arrow(Up|Down)$/.test(event.key)) return;
    event.preventDefault();
    const side = event.key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
    let next = row[side];
    while (next && next.hidden) next = next[side];
    if (next) next.firstElementChild.focus();
  });
  show(decodeURIComponent(location.hash.slice(1)));
})();
