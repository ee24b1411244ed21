// Typesets the formulas of a page with KaTeX, which lies beside it: no request leaves the machine.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const formula = element.textContent.trim(); // \( ... \) or \[ ... \]
    katex.render(formula.slice(2, -2), element, {
      displayMode: formula.startsWith("\\["),
      throwOnError: false,
    });
  }
});
