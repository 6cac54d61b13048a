// Rows sorted by a column, and those hidden that are not looked for.
(() => {
  "use strict";
  const body = document.querySelector("#pairs tbody");
  const heads = [...document.querySelectorAll("#pairs thead th")];
  const rows = [...body.rows].map((row) => ({
    row,
    text: `${row.textContent} ${row.cells[1].title}`.toLowerCase(),
    keys: [...row.cells].map((cell) => (cell.matches(".number") ? Number(cell.dataset.value) : cell.textContent.toLowerCase())),
  }));

  heads.forEach((head, column) => head.addEventListener("click", () => {
    const numbers = head.matches(".number");
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numbers;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    rows.sort((a, b) => sign * (numbers ? a.keys[column] - b.keys[column] : a.keys[column].localeCompare(b.keys[column], undefined, { numeric: true })));
    body.append(...rows.map((one) => one.row));
  }));

  const find = document.getElementById("find");
  const status = document.getElementById("status");
  const count = document.getElementById("count");
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((one) => {
      const seen = words.every((word) => one.text.includes(word)) && (!status.value || one.row.dataset.status === status.value);
      one.row.hidden = !seen;
      left += seen;
    });
    count.textContent = left === rows.length ? `${left} pairs` : `${left} of ${rows.length} pairs`;
  };
  find.addEventListener("input", filter);
  status.addEventListener("change", filter);
})();
