// SPDX-License-Identifier: Apache-2.0
// Sorts a table by the column whose head is clicked; once more turns the order around.
"use strict";
for (const table of document.querySelectorAll("table")) {
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (!head) return;
    const column = head.cellIndex;
    const down = head.getAttribute("aria-sort") !== "descending";
    const rows = [...table.tBodies[0].rows];
    const value = (row) => row.cells[column].dataset.v;
    const isNumber = rows.every((row) => value(row) === "" || !Number.isNaN(Number(value(row))));
    rows.sort((a, b) => {
      const order = isNumber ? Number(value(a)) - Number(value(b)) : value(a).localeCompare(value(b));
      return down ? -order : order;
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  });
}
