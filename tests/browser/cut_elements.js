const width = document.documentElement.clientWidth;
const scrolls = (box) =>
  box && (["auto", "scroll"].includes(getComputedStyle(box).overflowX) || scrolls(box.parentElement));
return [...document.body.querySelectorAll("*")].filter((each) => {
  const { width: own, right } = each.getBoundingClientRect();
  return own > 1 && right > width + 1 && !scrolls(each.parentElement);
}).map((each) => each.outerHTML.slice(0, 100));
