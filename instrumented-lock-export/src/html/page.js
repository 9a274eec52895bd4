(() => {
  "use strict";
  const table = document.getElementById("locks");
  const filter = document.getElementById("filter");
  const kept = (() => {
    try { return JSON.parse(sessionStorage.getItem("locks")) || {}; } catch { return {}; }
  })();
  const keep = () => {
    kept.open = [...document.querySelectorAll("details[open]")].map((one) => one.dataset.lock);
    kept.scroll = scrollY;
    try { sessionStorage.setItem("locks", JSON.stringify(kept)); } catch { /* not kept then */ }
  };
  if (table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const value = (row, i) => {
      const cell = row.cells[i];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const sort = (i, down) => {
      const rows = [...body.rows].map((row) => [value(row, i), row]);
      rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
      heads.forEach((head, at) => {
        head.setAttribute("aria-sort", at === i ? (down ? "descending" : "ascending") : "none");
      });
      kept.sort = [i, down];
    };
    heads.forEach((head, i) => {
      head.querySelector("button").addEventListener("click", () => {
        const was = head.getAttribute("aria-sort");
        sort(i, was === "none" ? !head.classList.contains("l") : was === "ascending");
        keep();
      });
    });
    const narrow = () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      document.getElementById("shown").textContent = `${shown} of ${body.rows.length} rows`;
      kept.filter = filter.value;
    };
    filter.addEventListener("input", () => { narrow(); keep(); });
    if (kept.sort) sort(...kept.sort);
    filter.value = kept.filter || "";
    narrow();
  }
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
      target.querySelector("summary").focus();
    }
  };
  for (const one of document.querySelectorAll("details")) {
    if ((kept.open || []).includes(one.dataset.lock)) one.open = true;
    one.addEventListener("toggle", keep);
  }
  addEventListener("hashchange", open);
  addEventListener("pagehide", keep);
  open();
  if (kept.scroll && !location.hash) scrollTo(0, kept.scroll);
})();
