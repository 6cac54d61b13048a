// Volumes of the page: decoded when first seen, and one slice of them as a picture.
const root = document.documentElement;
if (!("DecompressionStream" in window)) {
  root.dataset.still = "true"; // an old browser shows the still pictures
  return;
}
const PLANES = [
  { u: 0, v: 1, n: 2 },
  { u: 0, v: 2, n: 1 },
  { u: 1, v: 2, n: 0 },
];
const ENDS = [["R", "L"], ["A", "P"], ["S", "I"]];
const meta = JSON.parse(document.getElementById("meta").textContent);
const { shape, spacing, affine, volumes } = meta;
const stride = [shape[1] * shape[2], shape[2], 1];
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

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
      : pixel(t[3 * i], t[3 * i + 1], t[3 * i + 2], clamp(shown((i - 1) / 254) / meta.faded, 0, 1))));
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

// One cross-hair for all planes of all viewers.
let cross = meta.middle.slice();
