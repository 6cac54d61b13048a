// The controls of the viewers: pointer, keys, sliders, flicker.
const FLICKER_MS = 650;
const PLAY_MS = 350;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const viewers = [];
let queued = false;

function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    viewers.forEach((viewer) => viewer.draw());
  });
}

function go(at) {
  cross = at.map((x, axis) => clamp(Math.round(x), 0, shape[axis] - 1));
  redraw();
}

class Viewer {
  constructor(element) {
    this.element = element;
    this.base = element.dataset.base;
    this.overlay = element.dataset.overlay || "";
    this.opacity = 0.7;
    this.outlines = "outlined" in element.dataset;
    this.points = "points" in element.dataset;
    this.warp = 0;
    this.zoom = 1;
    this.corners = [[0, 0], [0, 0], [0, 0]]; // of each plane's picture, as shares of the canvas
    this.timer = 0;
    this.visible = false;
    this.canvases = [...element.querySelectorAll("canvas")];
    this.readout = element.querySelector(".readout");
    this.canvases.forEach((canvas, plane) => this.listen(canvas, plane));
    this.wire();
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element.querySelector(".planes"));
    new IntersectionObserver((entries) => {
      this.visible = entries[entries.length - 1].isIntersecting;
      this.draw();
    }, { rootMargin: "200px" }).observe(element);
  }

  find(role) {
    return this.element.querySelector(`[data-role="${role}"]`);
  }

  on(role, event, action) {
    const control = this.find(role);
    if (control) control.addEventListener(event, () => action(control));
  }

  wire() {
    this.element.querySelectorAll('[data-role="base"]').forEach((radio) =>
      radio.addEventListener("change", () => { this.stop(); this.show(radio.value); }));
    this.on("overlay", "change", (select) => { this.overlay = select.value; this.draw(); });
    this.on("opacity", "input", (range) => { this.opacity = range.value / 100; this.draw(); });
    this.on("outlines", "change", (box) => { this.outlines = box.checked; this.draw(); });
    this.on("zoom", "change", (select) => this.magnify(Number(select.value)));
    this.on("warp", "input", (range) => { this.stop(); this.show("warp" + (range.value - 1)); });
    this.on("play", "click", () => this.toggle("play", PLAY_MS, () => this.nextWarp(1)));
    this.on("flicker", "click", () => this.flicker());
    this.on("pair", "change", () => { if (this.timer) { this.stop(); this.flicker(); } });
    this.on("peak", "click", () => this.overlay && this.peak(this.overlay));
  }

  show(name) {
    const place = /^warp(\d+)$/.exec(name);
    if (name === "warp" || place) {
      if (place) this.warp = Number(place[1]);
      name = "warp" + this.warp;
      const range = this.find("warp");
      if (range) range.value = this.warp + 1;
      const label = this.find("warp-number");
      if (label) label.textContent = `${this.warp + 1} of ${meta.warps}`;
    }
    this.base = name;
    const radio = this.element.querySelector(`[data-role="base"][value="${name.startsWith("warp") ? "warp" : name}"]`);
    if (radio) radio.checked = true;
    this.draw();
  }

  nextWarp(step) {
    this.show("warp" + ((this.warp + step + meta.warps) % meta.warps));
  }

  flicker() {
    const pair = this.find("pair");
    if (!pair) return;
    this.toggle("flicker", FLICKER_MS, () => this.swap());
  }

  swap() {
    const [one, other] = this.find("pair").value.split(" ");
    this.show(this.base === one ? other : one);
  }

  toggle(role, wait, action) {
    const was = this.running;
    this.stop();
    if (was === role) return;
    this.running = role;
    this.find(role).setAttribute("aria-pressed", "true");
    action();
    this.timer = setInterval(action, still.matches ? 2 * wait : wait);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    if (this.running) this.find(this.running).setAttribute("aria-pressed", "false");
    this.running = "";
  }

  async peak(name) {
    const data = await volume(name);
    let best = 0;
    for (let i = 1; i < data.length; i++) if (data[i] > data[best]) best = i;
    go([Math.floor(best / stride[0]), Math.floor(best / stride[1]) % shape[1], best % shape[2]]);
  }

  listen(canvas, plane) {
    const { u, v } = PLANES[plane];
    const pick = (event) => {
      const box = canvas.getBoundingClientRect();
      const at = cross.slice();
      const [left, top] = this.corners[plane];
      at[u] = shape[u] - 0.5 - ((event.clientX - box.left) / box.width / this.zoom + left) * shape[u];
      at[v] = shape[v] - 0.5 - ((event.clientY - box.top) / box.height / this.zoom + top) * shape[v];
      go(at);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      canvas.focus({ preventScroll: true });
      pick(event);
    });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons & 1) pick(event); });
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas) return;
      event.preventDefault();
      this.through(plane, -Math.sign(event.deltaY));
    }, { passive: false });
  }

  through(plane, step) {
    const at = cross.slice();
    at[PLANES[plane].n] += step;
    go(at);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const plane = this.canvases.indexOf(event.target);
    if (plane >= 0 && this.step(event.key, plane)) return event.preventDefault();
    if (/^(INPUT|SELECT)$/.test(event.target.tagName) && event.target.type !== "radio") return;
    const actions = {
      f: () => this.flicker(),
      x: () => this.find("pair") && (this.stop(), this.swap()),
      o: () => this.nextOverlay(),
      n: () => meta.warps && (this.stop(), this.nextWarp(1)),
      p: () => meta.warps && (this.stop(), this.nextWarp(-1)),
      z: () => this.magnify(this.zoom === 4 ? 1 : 2 * this.zoom),
      "+": () => this.fade(10),
      "-": () => this.fade(-10),
    };
    const action = actions[event.key.toLowerCase()];
    if (action) { action(); event.preventDefault(); }
  }

  step(key, plane) {
    const { u, v } = PLANES[plane];
    const moves = { ArrowLeft: [u, 1], ArrowRight: [u, -1], ArrowUp: [v, 1], ArrowDown: [v, -1] };
    if (key in moves) {
      const at = cross.slice();
      at[moves[key][0]] += moves[key][1];
      go(at);
    } else if (key === "PageUp" || key === "PageDown") this.through(plane, key === "PageUp" ? 1 : -1);
    else return false;
    return true;
  }

  nextOverlay() {
    const select = this.find("overlay");
    if (!select) return;
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    this.overlay = select.value;
    this.draw();
  }

  magnify(zoom) {
    this.zoom = zoom;
    this.corners = this.corners.map(() => [2, 2]); // out of sight, so that it starts round the cross-hair
    this.find("zoom").value = zoom;
    this.draw();
  }

  fade(by) {
    const range = this.find("opacity");
    if (!range) return;
    range.value = Number(range.value) + by;
    this.opacity = range.value / 100;
    this.draw();
  }

  async draw() {
    if (!this.visible) return;
    const needed = [this.base, this.overlay, this.outlines ? "labels" : ""].filter(Boolean);
    await Promise.all(needed.map(volume));
    this.canvases.forEach((canvas, plane) => paint(this, canvas, plane));
    this.legend();
    this.element.dataset.drawn = this.base;
    root.dataset.ready = "true";
  }

  legend() {
    const bar = this.element.querySelector(".colourbar");
    if (bar) {
      const map = volumes[this.overlay];
      bar.hidden = !map;
      if (map) {
        bar.querySelector(".ramp").style.background = `linear-gradient(90deg, ${map.stops.join(", ")})`;
        bar.querySelector(".ticks").replaceChildren(...map.ticks.map((text) => {
          const tick = document.createElement("span");
          tick.textContent = text;
          return tick;
        }));
        bar.querySelector(".what").textContent = map.title + (map.unit ? ` (${map.unit})` : "");
      }
    }
    const mm = world(cross);
    const parts = mm.map((x, axis) => `${ENDS[axis][x >= 0 ? 0 : 1]} ${Math.abs(x).toFixed(1)}`);
    const words = [parts.join("  ") + " mm", volumes[this.base].title];
    if (this.overlay && ready.has(this.overlay)) words.push(`${volumes[this.overlay].title} ${valueAt(this.overlay, cross)}`);
    if (this.outlines && ready.has("labels")) {
      const label = ready.get("labels")[cross[0] * stride[0] + cross[1] * stride[1] + cross[2] * stride[2]];
      if (label) words.push(meta.names[label - 1]);
    }
    this.readout.textContent = words.join("  ·  ");
  }
}

document.querySelectorAll(".viewer").forEach((element) => viewers.push(new Viewer(element)));
document.querySelectorAll("[data-go]").forEach((button) =>
  button.addEventListener("click", () => go(button.dataset.go.split(",").map(Number))));
