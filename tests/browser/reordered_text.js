// Returns the parts of the page with letters of right-to-left scripts whose characters are not in the order of the text.
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, text = node.data;
  if (!/[\u0590-\u08ff]/.test(text) || !node.parentElement.checkVisibility()) continue;
  let before = null;
  for (let place = 0; place < text.length; place++) {
    const range = document.createRange();
    range.setStart(node, place);
    range.setEnd(node, place + 1);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    if (before && Math.abs(box.top - before.top) < 2 && box.left < before.left - 1) {
      found.push(`${node.parentElement.tagName}.${node.parentElement.className}: ${text.slice(Math.max(0, place - 12), place + 12)}`);
      break;
    }
    before = box;
  }
}
return found;
