// Reloads the page and replaces the changed parts. The reader keeps the scroll position, focus and selection. Without
// script, a meta element reloads the page. If the facade does not respond, a message says that the page is old.
"use strict";

(() => {
  const every = Number(document.documentElement.dataset.refresh) * 1000;
  const silent = document.getElementById("silent");
  let last = document.querySelector("time").textContent;

  // isRead reports whether text is selected. Replacing the page would lose the selection.
  const isRead = () => !document.getSelection().isCollapsed;

  const replace = (next) => {
    last = next.querySelector("time").textContent; // before its nodes move
    for (const part of document.querySelectorAll("[data-part]")) {
      const other = next.getElementById(part.id);
      if (!other || other.innerHTML === part.innerHTML) continue;
      const focused = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
      const scroll = part.querySelector(".scroll");
      const left = scroll ? scroll.scrollLeft : 0;
      part.replaceChildren(...other.childNodes);
      if (scroll && part.querySelector(".scroll")) part.querySelector(".scroll").scrollLeft = left;
      if (focused) [...part.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus({ preventScroll: true });
    }
    const verdict = document.getElementById("verdict");
    const newVerdict = next.getElementById("verdict");
    if (verdict.textContent !== newVerdict.textContent) verdict.textContent = newVerdict.textContent;
    verdict.className = newVerdict.className;
    document.title = next.title;
    document.getElementById("icon").href = next.getElementById("icon").href;
  };

  const complain = (why) => {
    silent.textContent = `${why} The data below is from ${last}.`;
    silent.hidden = false;
  };

  const look = async () => {
    if (document.hidden || isRead()) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(Math.max(every, 10000)) });
      if (!answer.ok) {
        complain(`The facade answers ${answer.status}.`);
        return;
      }
      replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
      silent.hidden = true;
    } catch {
      complain("The facade does not respond.");
    }
  };

  const again = async () => {
    await look();
    setTimeout(again, every);
  };

  setTimeout(again, every);
  document.addEventListener("visibilitychange", look);
})();
