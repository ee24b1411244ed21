"use strict";
// Asks the server of this page for news, and changes what has changed. What the reader has chosen,
// marked, focused or scrolled to stays as it is.
(() => {
  const soon = 1000, later = 5000;
  let known = null, lost = 0;

  const status = document.createElement("p");
  status.className = "news";
  status.setAttribute("role", "status"); // screen readers hear that a run has ended, not each number
  document.querySelector("header .lead").after(status);
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };

  const controls = (figure) =>
    [...figure.querySelectorAll("input")].map((i) => `${i.type} ${i.dataset.role} ${i.value}`).join();

  const sameFigure = (a, b) =>
    a.matches("figure.live") && b.matches("figure.live") && a.id === b.id && controls(a) === controls(b);

  const change = (old, fresh) => {
    if (sameFigure(old, fresh)) {
      const data = old.querySelector("script"), next = fresh.querySelector("script");
      old.querySelector("figcaption").textContent = fresh.querySelector("figcaption").textContent;
      if (data.textContent === next.textContent) return;
      data.textContent = next.textContent;
      old.dispatchEvent(new Event("news"));
    } else if (old.outerHTML !== fresh.outerHTML) {
      const across = old.scrollLeft, focused = document.activeElement === old;
      old.replaceWith(fresh);
      fresh.scrollLeft = across;
      if (focused) fresh.focus({ preventScroll: true });
    }
  };

  const section = (old, fresh) => {
    const before = [...old.children], after = [...fresh.children];
    if (before.length === after.length) before.forEach((child, i) => change(child, after[i]));
    else old.replaceChildren(...after);
  };

  const show = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    document.title = page.title;
    for (const part of ["h1", ".lead", "nav", "footer"]) {
      const [old, fresh] = [document.querySelector(part), page.querySelector(part)];
      if (old && fresh && old.innerHTML !== fresh.innerHTML) old.innerHTML = fresh.innerHTML;
    }
    const main = document.querySelector("main"), name = "aria-labelledby";
    const old = new Map([...main.children].map((child) => [child.getAttribute(name), child]));
    const sections = [...page.querySelectorAll("main > section")].map((fresh) => {
      const there = old.get(fresh.getAttribute(name));
      if (!there) return fresh;
      section(there, fresh);
      return there;
    });
    if (sections.some((part, i) => main.children[i] !== part) || main.children.length !== sections.length)
      main.replaceChildren(...sections);
    document.dispatchEvent(new Event("news"));
  };

  const ask = async () => {
    let wait = soon;
    try {
      const headers = known ? { "If-None-Match": known } : {};
      const answer = await fetch("/", { headers, cache: "no-store" });
      lost = 0;
      if (answer.status === 200) {
        known = answer.headers.get("ETag");
        show(await answer.text());
      }
      const state = answer.headers.get("X-Run") ?? "";
      say({ running: "This page follows the run.", ended: "The run has ended.", waiting: "" }[state] ?? state);
      wait = state === "running" || state === "waiting" ? soon : later;
    } catch {
      lost += 1;
      if (lost > 1) say("The command that serves this page has ended: nothing here is updated any more.");
      wait = later;
    }
    setTimeout(ask, wait);
  };
  ask();
})();
