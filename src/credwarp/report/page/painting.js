// A plane of a viewer: image, map, outlines, ellipses, cross-hair, and where left and right are.
const CHI2_95 = 5.991; // of two degrees of freedom
const CROSS = "#ffd166";

// Where a plane's picture lies on its canvas: magnified round the cross-hair, moved only when that leaves it.
function placed(viewer, plane, width, height) {
  const { u, v } = PLANES[plane];
  const zoom = viewer.zoom;
  const [across, down] = [width / shape[u], height / shape[v]];
  const [x, y] = [(shape[u] - 0.5 - cross[u]) * across, (shape[v] - 0.5 - cross[v]) * down];
  const [left, top] = viewer.corners[plane].map((share, axis) => share * [width, height][axis]);
  const inside = x >= left && x <= left + width / zoom && y >= top && y <= top + height / zoom;
  const corner = inside ? [left, top] : [x - width / zoom / 2, y - height / zoom / 2];
  const at = [clamp(corner[0], 0, width - width / zoom), clamp(corner[1], 0, height - height / zoom)];
  viewer.corners[plane] = [at[0] / width, at[1] / height];
  return at;
}

function paint(viewer, canvas, plane) {
  if (!ready.has(viewer.base)) return;
  const { u, v } = PLANES[plane];
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round((width * shape[v] * spacing[v]) / (shape[u] * spacing[u])));
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  const context = canvas.getContext("2d");
  const [left, top] = placed(viewer, plane, width, height);
  const thin = ratio / viewer.zoom;
  context.setTransform(viewer.zoom, 0, 0, viewer.zoom, -left * viewer.zoom, -top * viewer.zoom);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.globalAlpha = 1;
  context.drawImage(slice(ready.get(viewer.base), GREY, plane, cross), 0, 0, width, height);
  if (viewer.overlay && ready.has(viewer.overlay)) {
    context.globalAlpha = viewer.opacity;
    context.drawImage(slice(ready.get(viewer.overlay), colours(viewer.overlay), plane, cross), 0, 0, width, height);
    context.globalAlpha = 1;
  }
  if (viewer.outlines && ready.has("labels")) outline(context, plane, width, height, thin);
  if (viewer.points) ellipses(context, plane, width, height, thin);
  context.setTransform(1, 0, 0, 1, 0, 0);
  const x = (((shape[u] - 0.5 - cross[u]) / shape[u]) * width - left) * viewer.zoom;
  const y = (((shape[v] - 0.5 - cross[v]) / shape[v]) * height - top) * viewer.zoom;
  crossHair(context, [x, y], width, height, ratio);
  captions(context, plane, width, height, ratio);
}

function outline(context, plane, width, height, thin) {
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
  context.lineWidth = 1.4 * thin;
  context.lineCap = "round";
  paths.forEach((path, owner) => {
    context.strokeStyle = meta.swatches[owner - 1];
    context.stroke(path);
  });
}

function ellipses(context, plane, width, height, thin) {
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
    context.lineWidth = 1.6 * thin;
    context.strokeStyle = "#56b4e9";
    context.beginPath();
    context.ellipse(x, y, Math.sqrt(CHI2_95 * long) * perMm, Math.sqrt(CHI2_95 * short) * perMm,
      Math.atan2(2 * b, a - d) / 2, 0, 2 * Math.PI);
    context.stroke();
    context.fillStyle = "#56b4e9";
    context.beginPath();
    context.arc(x, y, 1.8 * thin, 0, 2 * Math.PI);
    context.fill();
    if (point.known) {
      const [kx, ky] = place(point.known);
      const arm = 3.5 * thin;
      context.strokeStyle = "#f0e442";
      context.beginPath();
      context.moveTo(kx - arm, ky); context.lineTo(kx + arm, ky);
      context.moveTo(kx, ky - arm); context.lineTo(kx, ky + arm);
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

function crossHair(context, [x, y], width, height, ratio) {
  const [gap, edge] = [7 * ratio, 17 * ratio];
  context.strokeStyle = CROSS;
  context.globalAlpha = 0.75;
  context.lineWidth = ratio;
  context.beginPath();
  for (const [x0, y0, x1, y1] of [
    [edge, y, x - gap, y], [x + gap, y, width - edge, y], [x, edge, x, y - gap], [x, y + gap, x, height - edge],
  ]) {
    if (x1 < x0 || y1 < y0) continue;
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  }
  context.stroke();
  context.globalAlpha = 1;
}

function captions(context, plane, width, height, ratio) {
  const { u, v, n } = PLANES[plane];
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
