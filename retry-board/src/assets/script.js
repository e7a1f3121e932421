// Makes pages live: hears that one has changed, asks for it again, and puts it in the place of
// what is shown. Without it every page works, and is renewed by reloading.
"use strict";

(() => {
  const status = document.getElementById("live");
  const words = {
    loading: "loading",
    live: "live",
    reconnecting: "reconnecting",
    stale: "stale",
  };
  let state = "";
  let lastHeard = Date.now();
  let lastShown = Date.now();
  let lastAsked = 0;
  let isLoading = false;
  let isWanted = false;

  const say = (next) => {
    if (!status || state === next) return;
    state = next;
    status.hidden = false;
    status.dataset.live = next;
    status.textContent = words[next];
    status.title =
      next === "live"
        ? "This page updates itself"
        : next === "reconnecting"
          ? "The board does not answer; trying again"
          : next === "stale"
            ? "What is shown may be out of date"
            : "";
  };

  // Times in the visitor's own zone, with UTC on hover.
  const moment = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
  });
  const clock = { hour: "2-digit", minute: "2-digit" };
  const clocks = {
    hours: new Intl.DateTimeFormat(undefined, clock),
    days: new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", ...clock }),
  };
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const date = new Date(time.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      if ("local" in time.dataset) {
        time.textContent = moment.format(date);
      } else if (time.dataset.clock in clocks) {
        time.textContent = clocks[time.dataset.clock].format(date);
      } else if ("hint" in time.dataset && !time.title.includes(" · ")) {
        time.title = `${moment.format(date)} · ${time.title}`;
      }
    }
  };
  // Without scripts, rows are selected one by one.
  const prepare = (root) => {
    localise(root);
    const all = root.querySelector("#pick-all");
    if (all) all.hidden = false;
  };
  prepare(document);
  document.addEventListener("change", ({ target }) => {
    if (target.id !== "pick-all") return;
    for (const row of document.querySelectorAll("input.pick")) row.checked = target.checked;
  });

  if (!status) return;
  const main = document.getElementById("main");

  // Whether a field no longer holds what the page came with: a choice that is not sent yet.
  const isChanged = (field) => {
    if (field.matches("select")) {
      const own = [...field.options].findIndex((option) => option.defaultSelected);
      return field.selectedIndex !== Math.max(own, 0);
    }
    if (field.matches("[type=checkbox], [type=radio]")) return field.checked !== field.defaultChecked;
    return field.type !== "hidden" && field.value !== field.defaultValue;
  };

  // Whether somebody is writing, or choosing text: that is not to be taken away.
  const isBusy = () => {
    if ([...main.querySelectorAll("input, select, textarea")].some(isChanged)) return true;
    const active = document.activeElement;
    if (active && active.matches("input, select, textarea") && main.contains(active)) return true;
    const chosen = document.getSelection();
    return Boolean(chosen && !chosen.isCollapsed && main.contains(chosen.anchorNode));
  };

  // What was unfolded, scrolled or focused stays so.
  const replace = (fresh) => {
    const open = [...main.querySelectorAll("details")].map((details) => details.open);
    const scrolled = [...main.querySelectorAll(".scroll, pre.block")].map((box) => [
      box.scrollLeft,
      box.scrollTop,
    ]);
    const links = [...main.querySelectorAll("a, button, summary, [tabindex]")];
    const at = links.indexOf(document.activeElement);
    const notice = document.getElementById("notice");
    main.replaceChildren(...fresh.childNodes);
    if (notice && !document.getElementById("notice")) main.prepend(notice);
    main.querySelectorAll("details").forEach((details, i) => {
      details.open = Boolean(open[i]);
    });
    main.querySelectorAll(".scroll, pre.block").forEach((box, i) => {
      [box.scrollLeft, box.scrollTop] = scrolled[i] || [0, 0];
    });
    if (at >= 0) {
      const again = [...main.querySelectorAll("a, button, summary, [tabindex]")][at];
      if (again) again.focus({ preventScroll: true });
    }
    prepare(main);
  };

  const refresh = async () => {
    if (isLoading || document.hidden || isBusy()) {
      isWanted = true;
      return;
    }
    // Of a busy job something changes all the time: once a second is enough.
    const early = lastAsked + 1000 - Date.now();
    if (early > 0) {
      if (!isWanted) setTimeout(refresh, early);
      isWanted = true;
      return;
    }
    lastAsked = Date.now();
    isLoading = true;
    isWanted = false;
    try {
      const answer = await fetch(location.href, {
        headers: { accept: "text/html" },
        credentials: "same-origin",
      });
      if (answer.status === 401) {
        location.reload();
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const files = (of) =>
        [...of.querySelectorAll("script[src], link[rel=stylesheet]")]
          .map((file) => file.getAttribute("src") || file.getAttribute("href"))
          .join();
      if (files(page) !== files(document)) {
        // The board was replaced by another version.
        location.reload();
        return;
      }
      const fresh = page.getElementById("main");
      if (fresh && !isBusy()) {
        replace(fresh);
        lastShown = Date.now();
      } else {
        isWanted = true;
      }
      say("live");
    } catch {
      say("stale");
      isWanted = true;
    } finally {
      isLoading = false;
    }
  };

  let events;
  const heard = () => {
    lastHeard = Date.now();
  };
  const connect = () => {
    if (events) events.close();
    events = new EventSource(status.dataset.url);
    events.addEventListener("hello", () => {
      heard();
      // What happened while nobody was connected is not heard of.
      if (state === "reconnecting" || state === "stale") refresh();
      else say("live");
    });
    events.addEventListener("change", () => {
      heard();
      refresh();
    });
    events.addEventListener("stale", () => {
      heard();
      say("stale");
    });
    events.addEventListener("beat", () => {
      heard();
      if (Date.now() - lastShown > 30000) refresh();
    });
    events.addEventListener("error", () => say("reconnecting"));
  };

  say("loading");
  connect();
  setInterval(() => {
    if (isWanted) refresh();
    // A connection that says nothing for long is none; one that has given up begins anew.
    if (Date.now() - lastHeard > 35000 || events.readyState === EventSource.CLOSED) {
      say("reconnecting");
      heard();
      connect();
    }
  }, 1500);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && isWanted) refresh();
  });
  addEventListener("pagehide", () => events.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) connect();
  });
})();
