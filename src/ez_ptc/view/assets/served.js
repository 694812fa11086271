"use strict";
(() => {
  const main = document.getElementById("main");
  if (!main.hasAttribute("data-served")) return;
  const KEY = "ez-ptc-token";
  const PERSON = "ez-ptc-person";
  // The address has the token once; the tab keeps it. No other origin, port or tab can read it, and no log has it.
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  let offered = null;
  if (given) {
    if (given[1] !== sessionStorage.getItem(KEY)) offered = given[1];
    history.replaceState(null, "", location.pathname + location.search);
  }
  // The name of the last person in this browser is all that outlives the tab.
  const lastPerson = () => {
    try {
      return localStorage.getItem(PERSON);
    } catch {
      return null;
    }
  };
  const keepPerson = (name) => {
    try {
      localStorage.setItem(PERSON, name);
    } catch {
      // A browser without storage asks nothing.
    }
  };
  const make = (tag, names, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(names || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
  const visible = (text) => text.replace(HIDDEN, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
  const status = make("p", { id: "status", role: "status" });
  document.body.append(status);
  const shell = [...main.childNodes];
  const call = (path, options, token = sessionStorage.getItem(KEY)) => {
    const headers = { ...(options && options.headers) };
    if (token) headers.Authorization = "Bearer " + token;
    return fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  };

  // Who is here -------------------------------------------------------------------------------------------------------
  const nameOf = async (token) => {
    const answer = await call("/person", {}, token);
    return answer.ok ? (await answer.text()).trim() : null;
  };
  // Somebody else's address must not make a person decide in that one's name: the page asks first.
  const admit = async () => {
    const held = sessionStorage.getItem(KEY);
    const name = await nameOf(offered);
    if (name === null) {
      status.textContent = "The token in the address is not one of this server.";
      return;
    }
    const before = (held && (await nameOf(held))) || lastPerson();
    const isMeant = !before || before === name || (await askPerson(name, before));
    if (isMeant) {
      sessionStorage.setItem(KEY, offered);
      keepPerson(name);
    }
  };
  const askPerson = (name, before) => new Promise((resolve) => {
    const text = `This address has the token of ${visible(name)}, and you were ${visible(before)} in this browser. ` +
      `What you decide would be recorded as a decision of ${visible(name)}.`;
    const row = make("div", { class: "row" },
      button(`Stay ${visible(before)}`, () => resolve(false), { class: "primary" }),
      button(`Go on as ${visible(name)}`, () => resolve(true)));
    main.replaceChildren(make("header", {}, make("h1", {}, "Who are you?")),
      make("section", {}, make("p", {}, text), row));
    row.firstChild.focus();
  });
  const button = (text, action, names) => {
    const node = make("button", { type: "button", ...names }, text);
    node.addEventListener("click", action);
    return node;
  };

  // Contents ----------------------------------------------------------------------------------------------------------
  let isEditing = false;
  let isStale = false;
  let shownAt = 0;
  // Where the keyboard is, to go on there in the new contents: in the same question, the same call, or at the top.
  const focused = () => {
    const node = document.activeElement;
    if (!main.contains(node)) return () => {};
    const { run, path, digest } = (node.closest(".question") || main).dataset;
    const call = node.closest("details[id]");
    const text = node.textContent;
    return () => {
      let next = main.querySelector("h1");
      if (digest) {
        const same = [...main.querySelectorAll(".question")].find(({ dataset }) =>
          dataset.run === run && dataset.path === path && dataset.digest === digest);
        const button = same && [...same.querySelectorAll("button")].find((item) => item.textContent === text);
        next = button || same || next;
      } else if (call) {
        const same = document.getElementById(call.id);
        next = (same && same.firstElementChild) || next;
      } else if (node.id) {
        next = document.getElementById(node.id) || next;
      }
      if (!/^(BUTTON|SUMMARY|INPUT|A)$/.test(next.tagName)) next.setAttribute("tabindex", "-1");
      next.focus({ preventScroll: true });
    };
  };
  const load = async () => {
    const answer = await call("/data" + location.pathname + location.search);
    const text = await answer.text();
    if (answer.status === 401) {
      main.replaceChildren(...shell);
      const form = document.getElementById("token");
      form.hidden = false;
      form.elements.token.focus();
      return false;
    }
    if (!answer.ok) {
      main.replaceChildren(make("p", { class: "error" }, text));
      return true;
    }
    const open = [...main.querySelectorAll("details[open][id]")].map((node) => node.id);
    const search = main.querySelector("#search");
    const words = search ? search.value : "";
    const top = scrollY;
    const focusAgain = focused();
    main.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    for (const id of open) {
      const node = document.getElementById(id);
      if (node) node.open = true;
    }
    if (words) {
      main.querySelector("#search").value = words;
      main.querySelector("#search").dispatchEvent(new Event("input", { bubbles: true }));
    }
    const person = main.querySelector("[data-person]");
    if (person) keepPerson(person.dataset.person);
    document.title = main.querySelector("h1").textContent;
    for (const question of main.querySelectorAll(".question")) addButtons(question);
    focusAgain();
    scrollTo(0, top);
    isStale = false;
    shownAt = performance.now();
    return true;
  };
  const reload = () => {
    if (isEditing) {
      isStale = true;
      status.textContent = "There is news. It is shown when you have finished.";
    } else if (main.querySelector(".question:hover")) {
      // Another question must not come under a pointer that is about to click.
      status.textContent = "There is news. It is shown when the pointer leaves the question.";
      setTimeout(reload, 500);
    } else {
      load();
    }
  };
  const listen = async () => {
    for (;;) {
      try {
        const answer = await call("/events" + location.pathname);
        if (answer.status === 401) return;
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let rest = ""; ;) {
          const { value, done } = await reader.read();
          if (done) break;
          rest += value;
          const events = rest.split("\n\n");
          rest = events.pop();
          if (events.some((event) => event.startsWith("event: changed"))) reload();
        }
      } catch {
        status.textContent = "The server does not answer.";
      }
      await new Promise((resolve) => setTimeout(resolve, 2000));
      if (await load().catch(() => false)) status.textContent = "";
    }
  };

  // Decisions ---------------------------------------------------------------------------------------------------------
  // A click on what has just appeared, or the second of two, was meant for what stood there before.
  const SETTLE_MS = 1000;
  main.addEventListener("click", (event) => {
    if (!event.target.closest(".question")) return;
    if (event.detail < 2 && performance.now() - shownAt > SETTLE_MS) return;
    event.preventDefault();
    event.stopPropagation();
    status.textContent = "The page had just changed, so nothing was decided. Look again.";
  }, true);
  const send = async (question, fields) => {
    const { run, path, digest } = question.dataset;
    const body = JSON.stringify({ run, path, digest, ...fields });
    const answer = await call("/decisions", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    status.textContent = (await answer.text()).trim();
    if (answer.ok) {
      isEditing = false;
      await load();
      // Not its button: a second Enter must not decide the next call.
      const next = main.querySelector(".question") || main.querySelector("h1");
      next.setAttribute("tabindex", "-1");
      next.focus();
    }
  };
  const close = (question) => {
    question.querySelector("form").remove();
    question.querySelector(".row").hidden = false;
    question.querySelector(".row button").focus();
    isEditing = false;
    status.textContent = "";
    if (isStale) load();
  };
  const openForm = (question, fields, word, submit) => {
    const form = make("form", {}, ...fields);
    form.append(make("div", { class: "row" }, make("button", { class: "primary" }, word),
      button("Cancel", () => close(question))));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      submit(form);
    });
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") close(question); });
    question.querySelector(".row").hidden = true;
    question.append(form);
    isEditing = true;
    const first = form.querySelector("input,textarea,select");
    if (first) first.focus();
  };
  // The schema of an argument without "or null", and behind a reference: what a person chooses or writes is the same.
  const follow = (schema, root, steps = 5) => {
    if (!schema || typeof schema !== "object" || !steps) return { schema: null, isOptional: false };
    const name = /^#\/\$defs\/([^/~%]+)$/.exec(schema.$ref || "");
    if (name && Object.hasOwn(root.$defs || {}, name[1])) return follow(root.$defs[name[1]], root, steps - 1);
    const others = Array.isArray(schema.anyOf) ? schema.anyOf.filter((item) => item && item.type !== "null") : [];
    if (others.length === 1 && schema.anyOf.length === 2)
      return { schema: follow(others[0], root, steps - 1).schema, isOptional: true };
    return { schema, isOptional: false };
  };
  // A field for one argument, by its schema: a text, a number, a choice, yes or no, and JSON for all else.
  const choicesOf = (schema, isOptional) => {
    const choices = schema && Array.isArray(schema.enum) ? schema.enum : isOptional && schema &&
      schema.type === "boolean" ? [true, false] : [];
    return isOptional && choices.length && !choices.includes(null) ? [...choices, null] : choices;
  };
  const typeOf = (schema, value, choices) => {
    if (choices.length) return "choice";
    const type = schema && schema.type;
    if (type === "string" && (value === null || typeof value === "string")) return "text";
    if ((type === "integer" || type === "number") && (value === null || typeof value === "number")) return type;
    if (type === "boolean" && typeof value === "boolean") return "truth";
    return "json";
  };
  const field = (name, text, given, root, isSecret) => {
    const value = JSON.parse(text);
    const followed = follow(given, root);
    // The schema of an optional argument may leave null out; a field without a change stays null.
    const schema = followed.schema, isOptional = followed.isOptional || value === null;
    const choices = choicesOf(schema, isOptional);
    const type = isSecret ? "secret" : typeOf(schema, value, choices);
    let input;
    if (type === "choice") {
      input = make("select", {}, ...choices.map((item) => make("option", { value: JSON.stringify(item) },
        visible(JSON.stringify(item)))));
      input.value = JSON.stringify(value);
    } else if (type === "truth") {
      input = make("input", { type: "checkbox" });
      input.checked = value;
    } else if (type === "integer" || type === "number") {
      input = make("input", { inputmode: "decimal" });
      input.value = value === null ? "" : text;
    } else if (type === "text") {
      const words = value === null ? "" : value;
      input = words.includes("\n") || words.length > 60 ? make("textarea", {}) : make("input", { type: "text" });
      input.value = words;
    } else {
      input = make("textarea", { spellcheck: "false" });
      input.value = text;
    }
    input.disabled = isSecret;
    const description = given && given.description;
    const about = typeof description === "string" ? " – " + visible(description.slice(0, 300)) : "";
    const note = type === "json" ? " (JSON)" : isSecret ? " (secret, passed on as it is)" : "";
    const initial = input.value;
    // Only changes are sent, as JSON texts: the server has the rest, and reads numbers of any size.
    const read = () => {
      if (type === "truth") return input.checked === value ? undefined : String(input.checked);
      if (type === "secret" || input.value === initial) return undefined;
      if (type === "text") return JSON.stringify(input.value);
      if (isOptional && input.value.trim() === "") return "null";
      JSON.parse(input.value);
      return input.value;
    };
    return { name, read, label: make("label", {}, make("b", {}, visible(name)), about + note, make("br"), input) };
  };
  const edit = (question) => {
    const { arguments: values, schema: root, secrets } = JSON.parse(question.dataset.form);
    const properties = (root && root.properties) || {};
    const shown = Object.keys(values).map((name) => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : null;
      return field(name, values[name], schema, root, secrets.includes(name));
    });
    openForm(question, shown.map((item) => item.label), "Approve with these arguments", () => {
      const changes = {};
      for (const item of shown) {
        try {
          const text = item.read();
          if (text !== undefined) changes[item.name] = text;
        } catch {
          status.textContent = `${item.name}: expected JSON`;
          item.label.querySelector("input,textarea").focus();
          return;
        }
      }
      send(question, { decision: "approve", changes });
    });
  };
  const deny = (question) => {
    const reason = make("input", { type: "text", maxlength: "500" });
    openForm(question, [make("label", {}, "Reason, for the model", make("br"), reason)], "Deny", () =>
      send(question, { decision: "deny", reason: reason.value || null }));
  };
  const settle = (question) => {
    const result = make("textarea", { spellcheck: "false" });
    result.value = "null";
    openForm(question, [make("label", {}, "Its result, as JSON", make("br"), result)], "It happened", () => {
      try {
        send(question, { decision: "happened", result: JSON.parse(result.value) });
      } catch {
        status.textContent = "expected JSON, such as null";
      }
    });
  };
  const addButtons = (question) => {
    const row = make("div", { class: "row" });
    if (question.dataset.state === "needs_approval") {
      row.append(button("Approve", () => send(question, { decision: "approve" }), { class: "primary" }));
      if (question.dataset.form) row.append(button("Edit …", () => edit(question)));
      row.append(button("Deny …", () => deny(question)));
    } else {
      row.append(button("It did not happen: run it", () => send(question, { decision: "did_not_happen" })),
        button("It happened …", () => settle(question)), button("Let it fail …", () => deny(question)));
    }
    question.append(row);
  };

  document.getElementById("token").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, event.target.elements.token.value.trim());
    start();
  });
  addEventListener("hashchange", () => { if (location.hash.startsWith("#token=")) location.reload(); });
  const start = async () => {
    if (offered) await admit();
    offered = null;
    if (await load()) listen();
  };
  start().catch(() => { status.textContent = "The server does not answer."; });
})();
