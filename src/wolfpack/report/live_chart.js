"use strict";
// Draws each figure.live from the JSON inside it, and redraws when a control or the width changes.
(() => {
  const height = 340, margin = { left: 68, right: 16, top: 12, bottom: 44 };

  const element = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const short = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, "e");
    return String(Number(value.toPrecision(4)));
  };

  const exact = (value) => {
    const size = Math.abs(value);
    if (value !== 0 && (size >= 1e7 || size < 1e-3)) return value.toExponential(4);
    return String(Number(value.toPrecision(8)));
  };

  const logTicks = ([low, high]) => {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const factors = last - first <= 2 ? [1, 2, 5] : [1], step = Math.ceil((last - first) / 8) || 1;
    const ticks = [];
    for (let power = first; power <= last; power += step)
      for (const factor of factors) ticks.push(factor * 10 ** power);
    return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  };

  const linearTicks = ([low, high]) => {
    const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12); i++) ticks.push(i * step);
    return ticks;
  };

  const scale = (values, log, [from, to]) => {
    let low = Math.min(...values), high = Math.max(...values);
    if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 1, high + 1];
    const of = log ? Math.log10 : (value) => value, start = of(low), length = of(high) - start;
    const place = (value) => from + ((of(value) - start) / length) * (to - from);
    return { place, ticks: (log ? logTicks : linearTicks)([low, high]) };
  };

  const start = (figure) => {
    const read = () => JSON.parse(figure.querySelector("script").textContent);
    let spec = read();
    const svg = figure.querySelector("figure > svg"), output = figure.querySelector("output");
    let at = null, plot = null;

    const chosen = (name) =>
      [...figure.querySelectorAll(`input[data-role="${name}"]:checked`)].map((i) => i.value);

    const points = (series, xs, log) =>
      series.values
        .map((y, i) => ({ x: xs[i], y, i }))
        .filter(({ x, y }) => x !== null && y !== null && (!log.x || x > 0) && (!log.y || y > 0));

    const draw = () => {
      const width = Math.max(300, svg.clientWidth);
      const axis = chosen("axis")[0], shown = chosen("series"), scales = chosen("scale");
      const log = { x: scales.includes("x"), y: scales.includes("y") };
      const xs = spec.x[axis];
      const lines = spec.series
        .filter((series) => shown.includes(series.name))
        .map((series) => ({ series, points: points(series, xs, log) }))
        .filter((line) => line.points.length);
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      plot = null;
      if (!lines.length) {
        svg.append(element("text", { x: 20, y: 40, class: "tick" }, "Nothing to draw."));
        output.textContent = "";
        return;
      }
      const all = lines.flatMap((line) => line.points);
      const right = width - margin.right, bottom = height - margin.bottom;
      const x = scale(all.map((p) => p.x), log.x, [margin.left, right]);
      const y = scale(all.map((p) => p.y), log.y, [bottom, margin.top]);
      grid(x, y, right, bottom, axis);
      if (spec.band) band(lines, x, y);
      for (const { series, points } of lines) {
        if (points.length === 1) {
          const [{ x: cx, y: cy }] = points.map((p) => ({ x: x.place(p.x), y: y.place(p.y) }));
          svg.append(element("circle", {
            cx, cy, r: 4, class: "point", "data-series": series.name, style: `fill: var(--${series.color})`,
          }));
          continue;
        }
        const d = points.map((p, i) => `${i ? "L" : "M"}${x.place(p.x).toFixed(2)} ${y.place(p.y).toFixed(2)}`);
        svg.append(element("path", {
          d: d.join(""), class: "line", "data-series": series.name,
          style: `stroke: var(--${series.color}); stroke-dasharray: ${series.dash}`,
        }));
      }
      plot = { lines, x, y, xs, axis, bottom };
      mark();
    };

    const grid = (x, y, right, bottom, axis) => {
      const room = Math.max(1, Math.ceil((x.ticks.length * 56) / (right - margin.left)));
      x.ticks.forEach((tick, i) => {
        const place = x.place(tick);
        svg.append(element("line", { x1: place, x2: place, y1: margin.top, y2: bottom, class: "grid" }));
        if (i % room === 0)
          svg.append(element("text", { x: place, y: bottom + 18, "text-anchor": "middle", class: "tick" }, short(tick)));
      });
      for (const tick of y.ticks) {
        const place = y.place(tick);
        svg.append(element("line", { x1: margin.left, x2: right, y1: place, y2: place, class: "grid" }));
        svg.append(element("text", { x: margin.left - 8, y: place + 4, "text-anchor": "end", class: "tick" }, short(tick)));
      }
      const middle = (margin.left + right) / 2;
      svg.append(element("text", { x: middle, y: height - 8, "text-anchor": "middle", class: "tick" }, spec.labels[axis]));
    };

    const band = (lines, x, y) => {
      const [upper, lower] = spec.band.map((name) => lines.find((line) => line.series.name === name));
      if (!upper || !lower) return;
      const known = new Map(lower.points.map((p) => [p.i, p]));
      const both = upper.points.filter((p) => known.has(p.i));
      const there = both.map((p) => `${x.place(p.x)} ${y.place(p.y)}`);
      const back = both.map((p) => `${x.place(p.x)} ${y.place(known.get(p.i).y)}`).reverse();
      if (both.length) svg.append(element("path", { d: `M${[...there, ...back].join("L")}Z`, class: "band" }));
    };

    const mark = () => {
      svg.querySelectorAll(".mark").forEach((old) => old.remove());
      if (!plot) return;
      const indices = plot.lines.flatMap((line) => line.points.map((p) => p.i));
      if (at === null || !indices.includes(at)) at = Math.max(...indices);
      const place = plot.x.place(plot.xs[at]);
      svg.append(element("line", { x1: place, x2: place, y1: margin.top, y2: plot.bottom, class: "mark" }));
      const words = [`${spec.labels[plot.axis]}: ${exact(plot.xs[at])}`];
      for (const { series, points } of plot.lines) {
        const point = points.find((p) => p.i === at);
        if (!point) continue;
        svg.append(element("circle", {
          cx: place, cy: plot.y.place(point.y), r: 4, class: "mark", style: `fill: var(--${series.color})`,
        }));
        words.push(`${series.label}: ${exact(point.y)}`);
      }
      output.textContent = words.join("  ·  ");
    };

    const usable = () =>
      [...new Set(plot.lines.flatMap((line) => line.points.map((p) => p.i)))].sort((a, b) => a - b);

    svg.addEventListener("pointermove", (event) => {
      if (!plot) return;
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const distance = (i) => Math.abs(plot.x.place(plot.xs[i]) - x);
      at = usable().reduce((best, i) => (distance(i) < distance(best) ? i : best));
      mark();
    });
    svg.addEventListener("keydown", (event) => {
      if (!plot || !["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
      event.preventDefault();
      const steps = usable(), now = steps.indexOf(at);
      const next = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: steps.length - 1 }[event.key];
      at = steps[Math.min(Math.max(next, 0), steps.length - 1)];
      mark();
    });
    figure.addEventListener("change", draw);
    // of a page that is watched, there are new numbers; a mark at the last point moves with it
    figure.addEventListener("news", () => {
      if (plot && at === Math.max(...usable())) at = null;
      spec = read();
      draw();
    });
    new ResizeObserver(draw).observe(svg);
    draw();
  };

  const begin = () =>
    document.querySelectorAll("figure.live:not([data-drawn])").forEach((figure) => {
      figure.dataset.drawn = "";
      start(figure);
    });
  document.addEventListener("news", begin);
  begin();
})();
