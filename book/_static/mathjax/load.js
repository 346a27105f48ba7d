// Load MathJax: with its fonts in files of their own, or, as some browsers load no font for a page
// that is itself opened from a file, in the form that draws the letters.
(() => {
  const script = document.createElement("script");
  const component = location.protocol === "file:" ? "tex-svg-full.js" : "tex-chtml-full.js";
  script.src = new URL(component, document.currentScript.src);
  document.head.append(script);
})();
