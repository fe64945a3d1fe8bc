// Keeps the coordinator's page up to date: fetches the same page now and then and takes over its main part when it has changed.
const main = document.querySelector("main[data-refresh]");
if (main) {
  setInterval(async () => {
    if (document.hidden || main.contains(document.activeElement)) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected) return location.reload();
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      if (fresh && fresh.innerHTML !== main.dataset.shown) {
        main.dataset.shown = fresh.innerHTML;
        main.replaceChildren(...fresh.childNodes);
      }
    } catch {
      // The server is away; the next try may succeed.
    }
  }, 2000);
}
