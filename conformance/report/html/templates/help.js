// The keys that the report knows.

const KEYS = [
  ["/", "go to the search"],
  ["↑ ↓ ← →", "move among the cells of the matrix"],
  ["n, p", "next and previous case"],
  ["u", "from a case back to the matrix"],
  ["?", "show these keys"],
  ["Esc", "close this"],
];

const help = el("dialog", { id: "help", "aria-labelledby": "help-title" },
  el("h2", { id: "help-title" }, "Keys"),
  el("dl", { class: "facts" }, KEYS.map(([key, does]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)))),
  el("form", { method: "dialog" }, el("button", { class: "chip" }, "Close")));
document.body.append(help);
document.getElementById("help-button").addEventListener("click", () => help.showModal());
