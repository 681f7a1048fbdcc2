// Draws the curves of a report with uPlot, so that they answer to the pointer. Without scripts a page shows SVG charts.
'use strict';
(() => {
  const charts = [], hidden = new Set();
  let smoothing = 0;

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

  // Four significant digits, as in the tables of the page.
  const format = value => {
    if (value == null) return '';
    const size = Math.abs(value);
    if (size >= 1e4 && size < 1e7) return Math.round(value).toLocaleString('en');
    const rounded = Number(value.toPrecision(4));
    return size > 0 && size < 1e-4 ? rounded.toExponential() : String(rounded);
  };

  const kFewPoints = 20;  // such as those of validations: smoothing would show values that no model had
  const isSmoothed = series => smoothing > 0 && series.y.length > kFewPoints;

  // The exponential moving average, divided by the sum of its weights, so that it has no bias towards zero.
  const smooth = values => {
    let sum = 0, weights = 0;
    return values.map(value => {
      if (value == null) return value;
      sum = smoothing * sum + (1 - smoothing) * value;
      weights = smoothing * weights + (1 - smoothing);
      return sum / weights;
    });
  };

  // The point of a series that is nearest to a step: not every series has a value at each one.
  const findNearest = (plot, series, index) => {
    const [x] = plot.data, values = plot.data[series];
    let left = index, right = index;
    while (left >= 0 && values[left] == null) --left;
    while (right < x.length && values[right] == null) ++right;
    if (left < 0 || right === x.length) return left < 0 ? right : left;
    return x[index] - x[left] <= x[right] - x[index] ? left : right;
  };

  // Leaves some space above and below, and begins at zero if zero is near.
  const findRange = isLogarithmic => (plot, low, high) => {
    if (low == null) return isLogarithmic ? [1, 10] : [0, 1];
    if (isLogarithmic) {
      const margin = Math.max(high / low, 1.1) ** 0.06;
      return [low / margin, high * margin];
    }
    const margin = low === high ? 0.1 * Math.abs(low) || 1 : 0.06 * (high - low);
    return [low >= 0 && low < 0.3 * high ? 0 : low - margin, high + margin];
  };

  // Powers of ten, or every second or third if there are many; 2 and 5 times them if there are few.
  const findSplits = (plot, axis, low, high) => {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const step = Math.ceil((last - first) / 6), factors = last - first <= 2 ? [1, 2, 5] : [1];
    const splits = [];
    for (let power = first; power <= last; power += step)
      splits.push(...factors.map(factor => Number(`${factor}e${power}`)));
    const shown = splits.filter(split => split >= low && split <= high);
    if (shown.length > 1) return shown;
    return [0, 1, 2, 3].map(i => Number((low * (high / low) ** (i / 3)).toPrecision(2)));
  };

  const addElement = (parent, name, properties) =>
    parent.appendChild(Object.assign(document.createElement(name), properties));

  class Chart {
    constructor(figure) {
      this.figure = figure;
      Object.assign(this, JSON.parse(figure.querySelector('script').textContent));
      this.data = uPlot.join(this.series.map(one => [one.x, one.y]));
      this.place = document.createElement('div');
      figure.querySelector('svg.chart').replaceWith(this.place);
      this.addLegend();
      if (this.data.slice(1).some(values => values.some(value => value > 0))) this.addScaleButton();
      this.draw();
      new ResizeObserver(() => {
        if (this.plot.width !== this.place.clientWidth) this.plot.setSize(this.size());
      }).observe(this.place);
    }

    size() {
      const width = this.place.clientWidth;
      return {width, height: Math.round(width * 230 / 440)};
    }

    // A column for the values at the pointer. A name hides and shows the series of that name in all charts.
    addLegend() {
      const [head, ...rows] = this.figure.querySelectorAll('.legend tr');
      this.head = addElement(head, 'th', {className: 'number pointer'});
      this.cells = rows.map(row => addElement(row, 'td', {className: 'number pointer'}));
      this.names = rows.map(row => row.querySelector('.name'));
      this.names.forEach((cell, i) => {
        const name = this.series[i].name;
        const toggle = () => {
          if (!hidden.delete(name)) hidden.add(name);
          charts.forEach(chart => chart.draw());
        };
        Object.assign(cell, {tabIndex: 0, role: 'button', onclick: toggle});
        cell.onkeydown = event => {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          toggle();
        };
      });
    }

    addScaleButton() {
      const caption = this.figure.querySelector('figcaption');
      caption.querySelector('.scale')?.remove();
      this.button = addElement(caption, 'button', {type: 'button', textContent: 'logarithmic'});
      this.button.onclick = () => {
        this.isLogarithmic = !this.isLogarithmic;
        this.draw();
      };
    }

    // A logarithmic axis has no place for zero and negative values.
    shownData() {
      const isShown = value => value == null || !this.isLogarithmic || value > 0;
      const [x, ...all] = this.data;
      return [x, ...all.map((values, i) => {
        const shown = values.map(value => isShown(value) ? value : null);
        return isSmoothed(this.series[i]) ? smooth(shown) : shown;
      })];
    }

    // Shows each value at the pointer as the run logged it, without smoothing.
    showValues(plot) {
      const {idx, idxs} = plot.cursor;
      this.head.textContent = idx == null ? '' : `${this.xLabel} ${this.data[0][idx].toLocaleString('en')}`;
      this.cells.forEach((cell, i) => {
        cell.textContent = idx == null || !plot.series[i + 1].show ? '' : format(this.data[i + 1][idxs[i + 1]]);
      });
    }

    drawBest(plot) {
      plot.ctx.lineWidth = 1.6 * devicePixelRatio;
      this.series.forEach((series, i) => {
        if (!series.best || !plot.series[i + 1].show || isSmoothed(series)) return;
        const x = plot.valToPos(series.best[0], 'x', true), y = plot.valToPos(series.best[1], 'y', true);
        const {left, top, width, height} = plot.bbox;
        if (x < left || x > left + width || y < top || y > top + height) return;
        plot.ctx.strokeStyle = colour('c' + series.colour);
        plot.ctx.beginPath();
        plot.ctx.arc(x, y, 4.6 * devicePixelRatio, 0, 2 * Math.PI);
        plot.ctx.stroke();
      });
    }

    draw() {
      const zoomed = this.plot && this.isZoomed ? this.plot.scales.x : null;
      this.plot?.destroy();
      this.button?.setAttribute('aria-pressed', this.isLogarithmic);
      this.names.forEach((cell, i) => cell.setAttribute('aria-pressed', !hidden.has(this.series[i].name)));
      const axis = {stroke: colour('faint'), font: '12px system-ui, sans-serif', ticks: {show: false},
                    values: (plot, values) => values.map(format)};
      const grid = {stroke: colour('rule'), width: 1};
      this.plot = new uPlot({
        ...this.size(),
        legend: {show: false},
        cursor: {y: false, dataIdx: findNearest, sync: {key: 'curves', scales: ['x', null]}},
        scales: {x: {time: false}, y: {distr: this.isLogarithmic ? 3 : 1, range: findRange(this.isLogarithmic)}},
        axes: [{...axis, grid: {show: false}, border: {show: true, stroke: colour('faint'), width: 1}, size: 30,
                label: this.xLabel, labelSize: 18, labelFont: axis.font},
               {...axis, grid, size: 60, ...(this.isLogarithmic && {splits: findSplits, filter: (_, splits) => splits})}],
        series: [{}, ...this.series.map(one => ({
          label: one.name, show: !hidden.has(one.name), stroke: colour('c' + one.colour),
          width: one.line === 'faint' ? 1.2 : 1.8, alpha: one.line === 'faint' ? 0.75 : 1,
          dash: one.line === 'dashed' ? [5, 4] : undefined, points: {size: 5},
        }))],
        hooks: {
          setCursor: [plot => this.showValues(plot)],
          draw: [plot => this.drawBest(plot)],
          setScale: [(plot, name) => {
            const [x] = plot.data;
            if (name === 'x') this.isZoomed = plot.scales.x.min > x[0] || plot.scales.x.max < x[x.length - 1];
          }],
        },
      }, this.shownData(), this.place);
      if (zoomed) this.plot.setScale('x', {min: zoomed.min, max: zoomed.max});
    }
  }

  const addControls = section => {
    const controls = document.createElement('p');
    controls.className = 'controls';
    section.querySelector('.charts').before(controls);
    const label = addElement(controls, 'label', {textContent: 'Smoothing '});
    const slider = addElement(label, 'input', {type: 'range', min: 0, max: 0.99, step: 0.01, value: 0});
    const shown = addElement(label, 'output', {textContent: '0'});
    const help = 'Drag over steps to zoom, double-click for all. Click a name to hide its curves.';
    addElement(controls, 'span', {className: 'quiet', textContent: help});
    slider.oninput = () => {
      smoothing = Number(slider.value);
      shown.textContent = slider.value;
      charts.forEach(chart => chart.draw());
    };
  };

  const section = document.getElementById('curves');
  addControls(section);
  for (const figure of section.querySelectorAll('figure')) charts.push(new Chart(figure));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.forEach(chart => chart.draw()));
})();
