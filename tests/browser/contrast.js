const numbers = (color) => (color.match(/[\d.]+/g) || []).map(Number);
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = (node) => {
  for (; node; node = node.parentElement) {
    const color = numbers(getComputedStyle(node).backgroundColor);
    if (color.length === 3 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const weak = [];
for (const node of document.querySelectorAll("body *:not(script):not(svg *)")) {
  const texts = [...node.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  if (!node.checkVisibility() || !texts.length) continue;
  const [a, b] = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) weak.push(`${node.tagName}.${node.className} ${ratio.toFixed(2)} ${node.textContent.slice(0, 30)}`);
}
return weak;
