// The three-plane viewer: one cross-hair for all planes of all viewers, images and maps decoded when first seen.
(() => {
  "use strict";
  const PLANES = [
    { u: 0, v: 1, n: 2 },
    { u: 0, v: 2, n: 1 },
    { u: 1, v: 2, n: 0 },
  ];
  const ENDS = [["R", "L"], ["A", "P"], ["S", "I"]];
  const FLICKER_MS = 650;
  const PLAY_MS = 350;
  const FADED = 0.2; // the share of a map's range over which it fades in, where it does
  const CHI2_95 = 5.991; // of two degrees of freedom
  const CROSS = "#ffd166";
  const root = document.documentElement;
  if (!("DecompressionStream" in window)) {
    root.dataset.still = "true"; // an old browser shows the still pictures
    return;
  }
  const meta = JSON.parse(document.getElementById("meta").textContent);
  const { shape, spacing, affine, volumes } = meta;
  const stride = [shape[1] * shape[2], shape[2], 1];
  const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  // Volumes: base64 → deflate → bytes, once each.
  const pending = new Map();
  const ready = new Map();

  async function inflate(name) {
    const text = atob(document.getElementById("volume-" + name).textContent.trim());
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const out = new Uint8Array(await new Response(stream).arrayBuffer());
    const other = volumes[name].relative;
    if (other) {
      const plain = await volume(other);
      for (let i = 0; i < out.length; i++) out[i] += plain[i];
    }
    ready.set(name, out);
    return out;
  }

  function volume(name) {
    if (!pending.has(name)) pending.set(name, inflate(name));
    return pending.get(name);
  }

  // Grey values and colours as 32-bit pixels, red in the lowest byte; 0 of a map is outside and transparent.
  const pixel = (r, g, b, a = 1) => ((Math.round(255 * a) << 24) | (b << 16) | (g << 8) | r) >>> 0;
  const GREY = Uint32Array.from({ length: 256 }, (_, i) => pixel(i, i, i));
  const tables = new Map();

  function colours(name) {
    if (!tables.has(name)) {
      const { table: t, fade } = volumes[name];
      const shown = { low: (x) => x, middle: (x) => Math.abs(2 * x - 1), "": () => 1 }[fade];
      tables.set(name, Uint32Array.from({ length: 256 }, (_, i) => i === 0 ? 0
        : pixel(t[3 * i], t[3 * i + 1], t[3 * i + 2], clamp(shown((i - 1) / 254) / FADED, 0, 1))));
    }
    return tables.get(name);
  }

  const scratch = document.createElement("canvas");

  // One slice, the patient's right on the left, anterior on the left, superior on top.
  function slice(data, table, plane, at) {
    const { u, v, n } = PLANES[plane];
    const [width, height] = [shape[u], shape[v]];
    scratch.width = width;
    scratch.height = height;
    const context = scratch.getContext("2d");
    const image = context.createImageData(width, height);
    const out = new Uint32Array(image.data.buffer);
    for (let row = 0; row < height; row++) {
      const start = at[n] * stride[n] + (height - 1 - row) * stride[v];
      for (let column = 0; column < width; column++) {
        out[row * width + column] = table[data[start + (width - 1 - column) * stride[u]]];
      }
    }
    context.putImageData(image, 0, 0);
    return scratch;
  }

  const world = (at) => affine.map((row) => row[0] * at[0] + row[1] * at[1] + row[2] * at[2] + row[3]);

  function valueAt(name, at) {
    const byte = ready.get(name)[at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2]];
    const map = volumes[name];
    if (byte === 0) return "–";
    const value = map.low + ((byte - 1) / 254) * (map.high - map.low);
    const shown = map.scale === "log2" ? 2 ** value : value;
    return shown.toFixed(map.unit === "mm" && shown >= 10 ? 1 : 2) + (map.unit ? " " + map.unit : "");
  }

  let cross = meta.middle.slice();
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
      this.on("warp", "input", (range) => { this.stop(); this.show("warp" + (range.value - 1)); });
      this.on("play", "click", () => this.toggle("play", PLAY_MS, () => this.nextWarp(1)));
      this.on("flicker", "click", () => this.flicker());
      this.on("pair", "change", () => { if (this.timer) { this.stop(); this.flicker(); } });
      this.on("peak", "click", (button) => this.peak(button.value));
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
        at[u] = shape[u] - 0.5 - ((event.clientX - box.left) / box.width) * shape[u];
        at[v] = shape[v] - 0.5 - ((event.clientY - box.top) / box.height) * shape[v];
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
      this.canvases.forEach((canvas, plane) => this.paint(canvas, plane));
      this.legend();
      this.element.dataset.drawn = this.base;
      root.dataset.ready = "true";
    }

    paint(canvas, plane) {
      if (!ready.has(this.base)) return;
      const { u, v } = PLANES[plane];
      const ratio = Math.min(window.devicePixelRatio || 1, 3);
      const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
      const height = Math.max(1, Math.round((width * shape[v] * spacing[v]) / (shape[u] * spacing[u])));
      if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = true;
      context.imageSmoothingQuality = "high";
      context.globalAlpha = 1;
      context.drawImage(slice(ready.get(this.base), GREY, plane, cross), 0, 0, width, height);
      if (this.overlay && ready.has(this.overlay)) {
        context.globalAlpha = this.opacity;
        context.drawImage(slice(ready.get(this.overlay), colours(this.overlay), plane, cross), 0, 0, width, height);
        context.globalAlpha = 1;
      }
      if (this.outlines && ready.has("labels")) this.outline(context, plane, width, height, ratio);
      if (this.points) this.ellipses(context, plane, width, height, ratio);
      this.decorate(context, plane, width, height, ratio);
    }

    outline(context, plane, width, height, ratio) {
      const { u, v, n } = PLANES[plane];
      const data = ready.get("labels");
      const [across, down] = [width / shape[u], height / shape[v]];
      const label = (column, row) => column >= shape[u] || row >= shape[v] ? 0
        : data[cross[n] * stride[n] + (shape[v] - 1 - row) * stride[v] + (shape[u] - 1 - column) * stride[u]];
      const paths = new Map();
      const edge = (one, other, x0, y0, x1, y1) => {
        if (one === other) return;
        const owner = Math.max(one, other);
        if (!paths.has(owner)) paths.set(owner, new Path2D());
        paths.get(owner).moveTo(x0 * across, y0 * down);
        paths.get(owner).lineTo(x1 * across, y1 * down);
      };
      for (let row = 0; row < shape[v]; row++) {
        for (let column = 0; column < shape[u]; column++) {
          const here = label(column, row);
          edge(here, label(column + 1, row), column + 1, row, column + 1, row + 1);
          edge(here, label(column, row + 1), column, row + 1, column + 1, row + 1);
        }
      }
      context.lineWidth = 1.4 * ratio;
      context.lineCap = "round";
      paths.forEach((path, owner) => {
        context.strokeStyle = meta.swatches[owner - 1];
        context.stroke(path);
      });
    }

    ellipses(context, plane, width, height, ratio) {
      const { u, v, n } = PLANES[plane];
      const perMm = width / (shape[u] * spacing[u]);
      const place = (at) => [(shape[u] - 0.5 - at[u]) * spacing[u] * perMm, (shape[v] - 0.5 - at[v]) * spacing[v] * perMm];
      for (const point of meta.points) {
        const away = Math.abs(point.at[n] - cross[n]) * spacing[n];
        const reach = Math.max(2 * Math.sqrt(point.covariance[n][n]), 2 * spacing[n]);
        if (away > reach) continue;
        const [a, b, d] = [point.covariance[u][u], point.covariance[u][v], point.covariance[v][v]];
        const half = Math.hypot((a - d) / 2, b);
        const [long, short] = [(a + d) / 2 + half, Math.max((a + d) / 2 - half, 0)];
        const [x, y] = place(point.at);
        context.globalAlpha = 1 - 0.7 * (away / reach);
        context.lineWidth = 1.6 * ratio;
        context.strokeStyle = "#56b4e9";
        context.beginPath();
        context.ellipse(x, y, Math.sqrt(CHI2_95 * long) * perMm, Math.sqrt(CHI2_95 * short) * perMm,
          Math.atan2(2 * b, a - d) / 2, 0, 2 * Math.PI);
        context.stroke();
        context.fillStyle = "#56b4e9";
        context.beginPath();
        context.arc(x, y, 1.8 * ratio, 0, 2 * Math.PI);
        context.fill();
        if (point.known) {
          const [kx, ky] = place(point.known);
          const arm = 3.5 * ratio;
          context.strokeStyle = "#f0e442";
          context.beginPath();
          context.moveTo(kx - arm, ky); context.lineTo(kx + arm, ky);
          context.moveTo(kx, ky - arm); context.lineTo(kx, ky + arm);
          context.stroke();
        }
      }
      context.globalAlpha = 1;
    }

    decorate(context, plane, width, height, ratio) {
      const { u, v, n } = PLANES[plane];
      const x = ((shape[u] - 0.5 - cross[u]) / shape[u]) * width;
      const y = ((shape[v] - 0.5 - cross[v]) / shape[v]) * height;
      const [gap, edge] = [7 * ratio, 17 * ratio];
      context.strokeStyle = CROSS;
      context.globalAlpha = 0.75;
      context.lineWidth = ratio;
      context.beginPath();
      for (const [x0, y0, x1, y1] of [[edge, y, x - gap, y], [x + gap, y, width - edge, y], [x, edge, x, y - gap], [x, y + gap, x, height - edge]]) {
        if (x1 < x0 || y1 < y0) continue;
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
      }
      context.stroke();
      context.globalAlpha = 1;
      context.font = `600 ${11 * ratio}px ui-sans-serif, system-ui, sans-serif`;
      context.fillStyle = "#e8edf2";
      context.shadowColor = "#000";
      context.shadowBlur = 3 * ratio;
      context.textBaseline = "middle";
      const inset = 9 * ratio;
      const write = (text, left, top, align) => { context.textAlign = align; context.fillText(text, left, top); };
      write(ENDS[u][0], inset, height / 2, "center");
      write(ENDS[u][1], width - inset, height / 2, "center");
      write(ENDS[v][0], width / 2, inset, "center");
      write(ENDS[v][1], width / 2, height - inset, "center");
      context.fillStyle = "#aab4be";
      const mm = world(cross)[n];
      write(`${ENDS[n][mm >= 0 ? 0 : 1]} ${Math.abs(mm).toFixed(1)}`, inset, height - inset, "left");
      context.shadowBlur = 0;
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
})();
