// Makes pages live: is notified that one has changed, fetches it again, and replaces what is shown.
// Without it every page works, and is renewed by reloading.
//
// All tabs of a browser share one stream of events, because a browser opens six connections to a
// host at most. The file is therefore also the script of a worker that all tabs are connected to.
"use strict";

(() => {
  // The longest time without an event from the board, in milliseconds.
  const silence = 35000;
  // The largest number of topics of a stream; later tabs reload themselves.
  const mostTopics = 32;

  // Opens one stream for the topics of all tabs. A tab repeats its topic every second or two while it
  // is visible, and withdraws it when it is hidden.
  const hub = () => {
    const tabs = new Map();
    let address = "";
    // The stream in use, and the one that replaces it because the topics have changed.
    let current;
    let next;
    let failures = 0;
    let retryAt = 0;

    const send = (word, topic) => {
      for (const [port, tab] of tabs) {
        if (topic === undefined || tab.topic === topic) port.postMessage(word);
      }
    };
    const close = () => {
      for (const stream of [current, next]) if (stream) stream.source.close();
      current = next = undefined;
    };
    const open = (topics) => {
      const query = topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join("&");
      const stream = { topics, source: new EventSource(`${address}?${query}`), heard: Date.now() };
      const on = (word, then) => {
        stream.source.addEventListener(word, (event) => {
          stream.heard = Date.now();
          then(event);
        });
      };
      on("hello", () => {
        stream.isOpen = true;
        failures = 0;
        if (stream === next) {
          if (current) current.source.close();
          current = next;
          next = undefined;
        }
        for (const topic of topics) send("hello", topic);
      });
      for (const word of ["change", "stale"]) on(word, ({ data }) => send(word, topics[data]));
      on("beat", () => {
        for (const topic of topics) send("beat", topic);
      });
      stream.source.addEventListener("error", () => {
        stream.isOpen = false;
        const isRefused = stream.source.readyState === EventSource.CLOSED;
        if (isRefused) {
          failures += 1;
          retryAt = Date.now() + Math.min(1000 * 2 ** failures, 30000);
          if (stream === current) current = undefined;
          if (stream === next) next = undefined;
        }
        if (!current || !current.isOpen) send(isRefused ? "refused" : "lost");
      });
      return stream;
    };
    const update = () => {
      const now = Date.now();
      for (const [port, tab] of tabs) if (now - tab.at > 60000) tabs.delete(port);
      const topics = [...new Set([...tabs.values()].map((tab) => tab.topic))].slice(0, mostTopics);
      const newest = next || current;
      if (newest && now - newest.heard > silence) {
        // A connection that carries nothing for long is lost.
        close();
        send("lost");
        return;
      }
      topics.sort();
      if (topics.length === 0) close();
      else if (newest && newest.topics.join("\n") === topics.join("\n")) return;
      else if (now >= retryAt) {
        if (next) next.source.close();
        next = open(topics);
      }
    };
    setInterval(update, 1000);

    return (port) => {
      port.onmessage = ({ data }) => {
        const known = tabs.get(port);
        if (!data.topic) {
          tabs.delete(port);
        } else {
          address = data.address;
          tabs.set(port, { topic: data.topic, at: Date.now() });
          if (known && known.topic === data.topic) return;
          if (current && current.isOpen && current.topics.includes(data.topic)) {
            port.postMessage("hello");
          }
        }
        update();
      };
    };
  };

  if (typeof document === "undefined") {
    const join = hub();
    self.onconnect = ({ ports }) => join(ports[0]);
    return;
  }

  const status = document.getElementById("live");
  const words = {
    loading: "loading",
    live: "live",
    polling: "every 10 s",
    reconnecting: "reconnecting",
    stale: "stale",
  };
  let state = "";
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
        : next === "polling"
          ? "There is no stream of events for this page, so it is fetched every ten seconds"
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
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const date = new Date(time.dateTime);
      if (Number.isNaN(date.getTime())) continue;
      if ("local" in time.dataset) {
        time.textContent = moment.format(date);
      } else if ("clock" in time.dataset) {
        time.textContent = clock.format(date);
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
  const narrow = matchMedia("(max-width: 480px)");
  const fold = () => {
    for (const filters of document.querySelectorAll("details[data-fold]")) filters.open = !narrow.matches;
  };
  fold();
  narrow.addEventListener("change", fold);
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

  // Whether events arrive, and whether some may have been missed before.
  let isConnected = false;
  let isBehind = false;

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
      say(isConnected ? "live" : "polling");
    } catch {
      say(isConnected ? "stale" : "reconnecting");
      isWanted = true;
    } finally {
      isLoading = false;
    }
  };

  const address = new URL(status.dataset.url, location.href);
  const topic = address.searchParams.get("topic");
  address.search = "";
  let port;

  // Connects to the worker that all tabs share. Without one, the tab has a stream of its own.
  const connect = (join) => {
    if (join) {
      const { port1, port2 } = new MessageChannel();
      join(port2);
      port = port1;
    } else {
      const worker = new SharedWorker(new URL(status.dataset.worker, location.href));
      worker.onerror = () => connect(hub());
      port = worker.port;
    }
    port.onmessage = ({ data: word }) => {
      if (word === "hello") {
        isConnected = true;
        if (isBehind) refresh();
        else say("live");
        isBehind = false;
      } else if (word === "change") {
        refresh();
      } else if (word === "stale") {
        say("stale");
        isBehind = true;
      } else if (word === "beat") {
        if (Date.now() - lastShown > 30000) refresh();
      } else {
        isConnected = false;
        isBehind = true;
        // The board answers, but has no stream left: this page is as new as its last fetch.
        if (word === "refused" && state === "loading") say("polling");
        else if (word === "refused" && state !== "polling") refresh();
        else if (state !== "polling") say("reconnecting");
      }
    };
    watch();
  };
  const watch = () => {
    // A hidden tab shows nothing, so it needs no events.
    if (!document.hidden) port.postMessage({ topic, address: address.href });
  };
  const leave = () => {
    isConnected = false;
    isBehind = true;
    port.postMessage({});
  };

  say("loading");
  try {
    connect();
  } catch {
    connect(hub());
  }
  const began = Date.now();
  setInterval(() => {
    watch();
    const isAlone = !isConnected && Date.now() - Math.max(lastAsked, began) > 10000;
    if (isWanted || isAlone) refresh();
  }, 1500);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) leave();
    else watch();
  });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => {
    if (event.persisted) watch();
  });
})();
