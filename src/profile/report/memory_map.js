// The memory map: one rectangle per tensor, x = operator or time, y = address.
//
// Rectangles are filled into an array of pixels and shown at once: the cost of a frame is the number of pixels plus the
// number of tensors, whatever their sizes, so that 100,000 tensors can be panned. Tensors smaller than a pixel take one.

import { axisTicks, formatBytes } from './format.js';
import { Palette, colourWheel, cssColour, pixelOf, themeOf, wheelPlace } from './colours.js';

/** @typedef {import('./data.js').Plan} Plan */
/** @typedef {import('./view.js').View} View */

/**
 * What is chosen on the page, as pictures need it.
 * @typedef {object} Choice
 * @property {boolean} dark
 * @property {boolean} byTime
 * @property {number} region -1: all, one above the other
 * @property {string} colourBy "kind", "operator" or "module"
 */

/**
 * What is chosen in one plan.
 * @typedef {object} Marks
 * @property {number} moment step, -1: none
 * @property {number} pinned tensor, -1: none
 * @property {number} hovered likewise
 * @property {Uint8Array | null} found by tensor; null: nothing is searched for
 */

/** @returns {Marks} */
export function noMarks() { return { moment: -1, pinned: -1, hovered: -1, found: null }; }

/** Space for the axes, in units of the page's letter height. */
export const LEFT = 5;
const BOTTOM = 0.5;
const MOST_LABELS = 400;

/** @returns {number} the letter height of the page in pixels */
export function letterHeight() { return parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.8; }

/**
 * Makes a canvas as many pixels as it covers.
 * @param {HTMLCanvasElement} canvas
 * @returns {number} device pixels per CSS pixel
 */
export function fitCanvas(canvas) {
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  const width = Math.max(1, Math.round(canvas.clientWidth * scale));
  const height = Math.max(1, Math.round(canvas.clientHeight * scale));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  return scale;
}

/** @param {HTMLCanvasElement} canvas @returns {CanvasRenderingContext2D} */
export function contextOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
}

export class MemoryMap {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Plan} plan
   * @param {View} view
   * @param {Choice} choice
   * @param {Marks} marks
   */
  constructor(canvas, plan, view, choice, marks) {
    this.canvas = canvas;
    this.plan = plan;
    this.view = view;
    this.choice = choice;
    this.marks = marks;
    this.left = 0;
    this.plotWidth = 1;
    this.plotHeight = 1;
    /** @type {ImageData | null} */
    this.image = null;
    this.pixels = new Uint32Array(0);
    this.paletteKey = '';
    this.palette = new Palette(themeOf(false), []);
    this.places = new Uint16Array(0);
    // In the order of drawing, side by side in memory: that is what a frame reads.
    this.begin = Int32Array.from(plan.drawingOrder, (tensor) => plan.begin[tensor]);
    this.end = Int32Array.from(plan.drawingOrder, (tensor) => plan.end[tensor]);
    this.bytes = Float64Array.from(plan.drawingOrder, (tensor) => plan.bytes[tensor]);
    this.offset = Float64Array.from(plan.drawingOrder, (tensor) => plan.offset[tensor]);
    this.region = Uint16Array.from(plan.drawingOrder, (tensor) => plan.region[tensor]);
    /** @type {{tensor: number, x: number, y: number, width: number, height: number}[]} */
    this.labels = [];
    /** What the last frame filled. */
    this.drawn = { rectangles: 0, pixels: 0 };
  }

  /** @param {number} tensor @returns {number} address on the y axis */
  address(tensor) {
    const base = this.choice.region < 0 ? this.plan.regionBase[this.plan.region[tensor]] : 0;
    return base + this.plan.offset[tensor];
  }

  draw() {
    const scale = fitCanvas(this.canvas);
    const letter = letterHeight() * scale;
    this.left = Math.round(letter * LEFT);
    this.plotWidth = Math.max(1, this.canvas.width - this.left);
    this.plotHeight = Math.max(1, this.canvas.height - Math.round(letter * BOTTOM));
    const theme = themeOf(this.choice.dark);
    const context = contextOf(this.canvas);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.fillPixels();
    context.putImageData(/** @type {ImageData} */ (this.image), this.left, 0);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.plotWidth, this.plotHeight);
    context.clip();
    this.drawLabels(context, letter);
    this.drawMarks(context, scale);
    context.restore();
    this.drawAxes(context, letter);
  }

  /** Places in the palette in the order of drawing, made again when theme or choice of colours is another. */
  updatePalette() {
    const key = this.choice.dark + this.choice.colourBy;
    if (key === this.paletteKey) return;
    const theme = themeOf(this.choice.dark);
    const palette = new Palette(theme, this.choice.colourBy === 'kind' ? theme.kinds : colourWheel(this.choice.dark));
    this.palette = palette;
    this.paletteKey = key;
    this.places = Uint16Array.from(this.plan.drawingOrder, (tensor) => palette.at(this.colourOf(tensor), tensor));
  }

  /** @param {number} tensor @returns {number} its colour in the palette */
  colourOf(tensor) {
    const plan = this.plan;
    if (this.choice.colourBy === 'kind') return plan.kind[tensor];
    const step = plan.producer[tensor];
    if (step < 0) return 0;
    return wheelPlace(this.choice.colourBy === 'module' ? plan.stepModule[step] : plan.stepType[step]);
  }

  fillPixels() {
    const width = this.plotWidth;
    const height = this.plotHeight;
    if (this.image === null || this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const { plan, view, choice, marks, pixels } = this;
    const theme = themeOf(choice.dark);
    this.updatePalette();
    const { normal, dimmed, edge } = this.palette;
    const positions = plan.positions(choice.byTime);
    const { begin, end, offset, bytes, region, places } = this;
    const base = choice.region < 0 ? plan.regionBase : new Float64Array(plan.regionBase.length);
    const canDim = marks.found !== null || marks.pinned >= 0;
    const xScale = width / (view.xEnd - view.xBegin);
    const yScale = height / (view.yEnd - view.yBegin);
    this.fillBackground(theme, positions[plan.steps], xScale, yScale);
    this.labels = [];
    const wideEnough = 4 * letterHeight();
    const highEnough = 1.2 * letterHeight();
    const drawn = { rectangles: 0, pixels: 0 };
    for (let i = 0; i < plan.count; i += 1) {
      const left = (positions[begin[i]] - view.xBegin) * xScale;
      const right = (positions[end[i]] - view.xBegin) * xScale;
      if (right <= 0 || left >= width || (choice.region >= 0 && region[i] !== choice.region)) continue;
      const bottom = height - (base[region[i]] + offset[i] - view.yBegin) * yScale;
      const top = bottom - bytes[i] * yScale;
      if (bottom <= 0 || top >= height) continue;
      const x0 = Math.max(0, Math.round(left));
      const x1 = Math.min(width, Math.max(Math.round(right), x0 + 1));
      const y0 = Math.max(0, Math.round(top));
      const y1 = Math.min(height, Math.max(Math.round(bottom), y0 + 1));
      drawn.rectangles += 1;
      drawn.pixels += (x1 - x0) * (y1 - y0);
      const at = places[i];
      const dim = canDim && this.isDimmed(plan.drawingOrder[i]);
      const fill = dim ? dimmed[at] : normal[at];
      for (let row = y0 * width; row < y1 * width; row += width) {
        if (x1 - x0 < 40) {
          for (let pixel = row + x0; pixel < row + x1; pixel += 1) pixels[pixel] = fill;
        } else {
          pixels.fill(fill, row + x0, row + x1);
        }
      }
      if (x1 - x0 < 4 || y1 - y0 < 4) continue;
      if (top >= 0) pixels.fill(edge[at], y0 * width + x0, y0 * width + x1);
      if (right <= width) for (let y = y0; y < y1; y += 1) pixels[y * width + x1 - 1] = edge[at];
      if (!dim && x1 - x0 > wideEnough && y1 - y0 > highEnough && this.labels.length < MOST_LABELS) {
        this.labels.push({ tensor: plan.drawingOrder[i], x: x0, y: y0, width: x1 - x0, height: y1 - y0 });
      }
    }
    this.drawn = drawn;
  }

  /**
   * @param {import('./colours.js').Theme} theme
   * @param {number} xLast where the plan ends
   * @param {number} xScale
   * @param {number} yScale
   */
  fillBackground(theme, xLast, xScale, yScale) {
    const { plan, view, choice, pixels } = this;
    pixels.fill(pixelOf(theme.background));
    const hole = pixelOf(theme.hole);
    const x0 = Math.max(0, Math.round(-view.xBegin * xScale));
    const x1 = Math.min(this.plotWidth, Math.round((xLast - view.xBegin) * xScale));
    plan.regions.forEach((region, i) => {
      if (choice.region >= 0 && i !== choice.region) return;
      const base = choice.region < 0 ? plan.regionBase[i] : 0;
      const y0 = Math.max(0, Math.round(this.plotHeight - (base + region.bytes - view.yBegin) * yScale));
      const y1 = Math.min(this.plotHeight, Math.round(this.plotHeight - (base - view.yBegin) * yScale));
      for (let y = y0 + (choice.region < 0 ? 1 : 0); y < y1; y += 1) {
        pixels.fill(hole, y * this.plotWidth + x0, y * this.plotWidth + x1);
      }
    });
  }

  /** @param {number} tensor @returns {boolean} */
  isDimmed(tensor) {
    const { plan, marks } = this;
    if (marks.found !== null && !marks.found[tensor]) return true;
    return marks.pinned >= 0 && marks.pinned !== tensor && !plan.conflict(tensor, marks.pinned);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} letter */
  drawLabels(context, letter) {
    context.fillStyle = this.choice.dark ? '#ffffff' : '#10141c';
    context.font = Math.round(letter * 0.92) + 'px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const wide = letter * 0.5;
    for (const label of this.labels) {
      const room = Math.floor((label.width - letter * 0.6) / wide);
      if (room < 4 || label.height < letter * 1.1) continue;
      const name = this.plan.nameOf(label.tensor);
      const text = name.length <= room ? name : name.slice(0, room - 1) + '…';
      context.fillText(text, label.x + this.left + letter * 0.3, label.y + label.height / 2, label.width - letter * 0.6);
    }
  }

  /** @param {number} tensor @returns {[number, number, number, number]} x, y, width, height in device pixels */
  rectangleOf(tensor) {
    const { plan, view } = this;
    const positions = plan.positions(this.choice.byTime);
    const xScale = this.plotWidth / (view.xEnd - view.xBegin);
    const yScale = this.plotHeight / (view.yEnd - view.yBegin);
    const x = this.left + (positions[plan.begin[tensor]] - view.xBegin) * xScale;
    const width = (positions[plan.end[tensor]] - positions[plan.begin[tensor]]) * xScale;
    const height = plan.bytes[tensor] * yScale;
    const y = this.plotHeight - (this.address(tensor) - view.yBegin) * yScale - height;
    return [x, y, Math.max(width, 2), Math.max(height, 2)];
  }

  /** @param {CanvasRenderingContext2D} context @param {number} scale */
  drawMarks(context, scale) {
    const { plan, view, marks } = this;
    const theme = themeOf(this.choice.dark);
    const positions = plan.positions(this.choice.byTime);
    const xScale = this.plotWidth / (view.xEnd - view.xBegin);
    /** @param {number} step @param {string} colour @param {number[]} dashes */
    const line = (step, colour, dashes) => {
      const x = this.left + ((positions[step] + positions[step + 1]) / 2 - view.xBegin) * xScale;
      context.strokeStyle = colour;
      context.lineWidth = scale;
      context.setLineDash(dashes);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.plotHeight);
      context.stroke();
      context.setLineDash([]);
    };
    if (plan.steps > 0) line(plan.peakStep, theme.peak, [4 * scale, 3 * scale]);
    if (marks.moment >= 0 && marks.moment < plan.steps) line(marks.moment, theme.accent, []);
    for (const tensor of [marks.hovered, marks.pinned]) {
      if (tensor < 0 || (this.choice.region >= 0 && plan.region[tensor] !== this.choice.region)) continue;
      context.strokeStyle = tensor === marks.pinned ? theme.accent : theme.text;
      context.lineWidth = (tensor === marks.pinned ? 3 : 1.5) * scale;
      context.strokeRect(...this.rectangleOf(tensor));
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} letter */
  drawAxes(context, letter) {
    const { view } = this;
    context.fillStyle = themeOf(this.choice.dark).text;
    context.font = Math.round(letter) + 'px system-ui, sans-serif';
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const tick of axisTicks(view.yBegin, view.yEnd, Math.floor(this.plotHeight / (letter * 4)), 2)) {
      const y = this.plotHeight * (1 - (tick - view.yBegin) / (view.yEnd - view.yBegin));
      const inside = Math.min(Math.max(y, letter * 0.6), this.plotHeight - letter * 0.1);
      context.fillText(formatBytes(tick), this.left - letter * 0.4, inside);
      context.fillRect(this.left - letter * 0.3, y, letter * 0.3, 1);
    }
  }

  /**
   * The tensor at a place of the canvas; the smallest where several meet.
   * @param {number} x CSS pixels from its left
   * @param {number} y from its top
   * @returns {number} -1: none
   */
  tensorAt(x, y) {
    const { plan, view, choice } = this;
    const scale = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    const px = x * scale - this.left;
    const py = y * scale;
    if (px < 0 || py > this.plotHeight) return -1;
    const pixelX = (view.xEnd - view.xBegin) / this.plotWidth;
    const pixelY = (view.yEnd - view.yBegin) / this.plotHeight;
    const atX = view.xBegin + px * pixelX;
    const atY = view.yBegin + (this.plotHeight - py) * pixelY;
    const positions = plan.positions(choice.byTime);
    for (let i = plan.count - 1; i >= 0; i -= 1) {
      const tensor = plan.drawingOrder[i];
      if (choice.region >= 0 && plan.region[tensor] !== choice.region) continue;
      const begin = positions[plan.begin[tensor]];
      const address = this.address(tensor);
      if (atX < begin || atX >= Math.max(positions[plan.end[tensor]], begin + pixelX)) continue;
      if (atY >= address && atY < Math.max(address + plan.bytes[tensor], address + pixelY)) return tensor;
    }
    return -1;
  }

  /** @param {number} x CSS pixels from the left @returns {number} the step there */
  stepAt(x) {
    const scale = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    const share = (x * scale - this.left) / this.plotWidth;
    return this.plan.stepAt(this.view.xBegin + share * (this.view.xEnd - this.view.xBegin), this.choice.byTime);
  }
}
