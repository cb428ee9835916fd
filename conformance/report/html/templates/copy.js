// What is to be pasted elsewhere, with a button that copies it.

const SAID_FOR = 2000;

function copyable(text, what) {
  const button = el("button", { type: "button", class: "chip copy", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copies(text)) ? "Copied" : "Not allowed";
    setTimeout(() => {
      button.textContent = "Copy";
    }, SAID_FOR);
  });
  return button;
}

function command(text, what = "the command") {
  return el("span", { class: "copyable" }, el("code", { class: "command" }, text), " ", copyable(text, what));
}

// A document that was not served safely has no clipboard, but can have its selection copied.
async function copies(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { readonly: true, class: "unseen" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
