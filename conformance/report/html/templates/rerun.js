// What makes a result happen again elsewhere: a command, a script, and the case's files.

function rerun(one, detail, subject) {
  return el("div", { class: "rerun" },
    el("p", {}, "Run it again: ", command(`${subject.command} --case ${detail.select ?? one.id}`)),
    el("details", {}, el("summary", {}, "The same as a Python script"),
      el("p", { class: "muted" }, "It takes the case from the installed suite, or from the folder given to it: the downloaded case, unpacked."),
      el("p", {}, copyable(script(one, subject), "the script")),
      el("pre", { class: "message script", tabindex: 0 }, script(one, subject))));
}

function script(one, subject) {
  const { case: ofCase, subject: ofSubject, options: ofOptions, of } = DATA.scripts;
  const ofThisSubject = (part) => part.split(ofOptions).map((piece) => piece.split(ofSubject).join(JSON.stringify(subject.id))).join(subject.options);
  return of[subject.kind].split(ofCase).map(ofThisSubject).join(JSON.stringify(one.id));
}

function takeAway(one) {
  const archive = document.getElementById(`archive-${one.number}`);
  if (!archive) return el("p", { class: "muted" }, "This report carries the files of cases that went wrong, and not of this one. The suite has them in its corpus: ", el("code", {}, `${one.kind}/${one.id}`), ".");
  const button = el("button", { type: "button", class: "chip download" }, `Download ${fileName(one)}`);
  button.addEventListener("click", () => download(fileName(one), decoded(archive.textContent)));
  return [
    el("p", {}, button),
    el("p", { class: "muted" }, "Unpacked it is a corpus of this one case: model, inputs, expected outputs and bounds. Run it with ",
      command(`onnx-conformance run -b NAME --data ${folderName(one)}`)),
  ];
}

function folderName(one) {
  return one.id.replace(/[^\w-]/g, "_");
}

function fileName(one) {
  return `${folderName(one)}.zip`;
}

function decoded(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

// Hands bytes to the browser as a file; nothing leaves the page.
function download(name, bytes) {
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
