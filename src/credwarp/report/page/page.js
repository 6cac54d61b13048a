// Light or dark by hand, everything unfolded on paper, the section in sight marked in the table of contents.
(() => {
  "use strict";
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const set = (theme) => {
    root.dataset.theme = theme;
    button.querySelector("span").textContent = theme[0].toUpperCase() + theme.slice(1);
  };
  button.addEventListener("click", () => set(themes[(themes.indexOf(root.dataset.theme) + 1) % 3]));
  if (location.hash === "#dark" || location.hash === "#light") set(location.hash.slice(1));

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const observer = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    links.forEach((link) => link.removeAttribute("aria-current"));
    links.get(entry.target.id).setAttribute("aria-current", "true");
  }), { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("main > section[id]").forEach((section) => links.has(section.id) && observer.observe(section));
})();
