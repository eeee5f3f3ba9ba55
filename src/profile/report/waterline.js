// The waterline: live and reserved bytes over the run, of every plan on the same axes.

import { axisTicks, formatBytes, formatCount, formatTime } from './format.js';
import { LEFT, contextOf, fitCanvas, letterHeight } from './memory_map.js';
import { cssColour, themeOf } from './colours.js';

/** @typedef {import('./data.js').Plan} Plan */
/** @typedef {import('./view.js').View} View */

export class Waterline {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Plan[]} plans
   * @param {View} view
   * @param {import('./memory_map.js').Choice} choice
   */
  constructor(canvas, plans, view, choice) {
    this.canvas = canvas;
    this.plans = plans;
    this.view = view;
    this.choice = choice;
    this.left = 0;
    this.plotWidth = 1;
    this.plotHeight = 1;
    const most = Math.max(...plans.map((plan) => (
      plan.reserved.reduce((high, bytes) => Math.max(high, bytes), Math.max(plan.facts.peak, plan.facts.lower_bound)))));
    const limits = plans.map((plan) => plan.facts.limit || 0).filter((limit) => limit < 3 * most);
    this.yMost = Math.max(1, most, ...limits) * 1.12;
  }

  /** @param {number} bytes @returns {number} device pixels from the top */
  yOf(bytes) { return this.plotHeight * (1 - bytes / this.yMost); }

  /** @param {number} x on the axis @returns {number} device pixels from the left */
  xOf(x) { return this.left + this.plotWidth * (x - this.view.xBegin) / (this.view.xEnd - this.view.xBegin); }

  /**
   * The most of each pixel column.
   * @param {Plan} plan
   * @param {Float64Array} series by step
   * @returns {Float64Array} -1 where the plan has nothing
   */
  columns(plan, series) {
    const columns = new Float64Array(this.plotWidth).fill(-1);
    const positions = plan.positions(this.choice.byTime);
    const scale = this.plotWidth / (this.view.xEnd - this.view.xBegin);
    for (let step = 0; step < series.length; step += 1) {
      const begin = (positions[step] - this.view.xBegin) * scale;
      const end = (positions[step + 1] - this.view.xBegin) * scale;
      if (end < 0 || begin >= this.plotWidth) continue;
      const last = Math.min(this.plotWidth - 1, Math.max(Math.floor(begin), Math.ceil(end) - 1));
      for (let column = Math.max(0, Math.floor(begin)); column <= last; column += 1) {
        if (series[step] > columns[column]) columns[column] = series[step];
      }
    }
    return columns;
  }

  /** @param {number} active the plan that is shown in full @param {number} moment step, -1: none */
  draw(active, moment) {
    const scale = fitCanvas(this.canvas);
    const letter = letterHeight() * scale;
    this.left = Math.round(letter * LEFT);
    this.plotWidth = Math.max(1, this.canvas.width - this.left);
    this.plotHeight = Math.max(1, this.canvas.height - Math.round(letter * 1.6));
    const theme = themeOf(this.choice.dark);
    const context = contextOf(this.canvas);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.drawAxes(context, letter, theme);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.plotWidth, this.plotHeight);
    context.clip();
    const plan = this.plans[active];
    this.drawSeries(context, this.columns(plan, plan.live), cssColour(theme.kinds[0]), true, scale);
    if (plan.reserved.length > 0) {
      context.setLineDash([2 * scale, 2 * scale]);
      this.drawSeries(context, this.columns(plan, plan.reserved), theme.faint, false, scale);
      context.setLineDash([]);
    }
    this.plans.forEach((other, i) => {
      if (this.plans.length > 1) {
        this.drawSeries(context, this.columns(other, other.live), theme.plans[i % theme.plans.length], false, scale);
      }
    });
    this.drawLevels(context, plan, theme, letter, scale);
    this.drawMoments(context, plan, moment, theme, letter, scale);
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Float64Array} columns
   * @param {string} colour
   * @param {boolean} filled
   * @param {number} scale
   */
  drawSeries(context, columns, colour, filled, scale) {
    context.beginPath();
    let open = false;
    columns.forEach((bytes, i) => {
      const x = this.left + i;
      if (bytes < 0) {
        if (open && filled) context.lineTo(x, this.plotHeight);
        open = false;
        return;
      }
      if (!open) context.moveTo(x, filled ? this.plotHeight : this.yOf(bytes));
      open = true;
      context.lineTo(x, this.yOf(bytes));
      context.lineTo(x + 1, this.yOf(bytes));
    });
    if (filled) {
      if (open) context.lineTo(this.left + this.plotWidth, this.plotHeight);
      context.fillStyle = colour;
      context.globalAlpha = 0.55;
      context.fill();
      context.globalAlpha = 1;
    } else {
      context.strokeStyle = colour;
      context.lineWidth = 1.5 * scale;
      context.stroke();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Plan} plan
   * @param {import('./colours.js').Theme} theme
   * @param {number} letter
   * @param {number} scale
   */
  drawLevels(context, plan, theme, letter, scale) {
    context.font = Math.round(letter) + 'px system-ui, sans-serif';
    context.lineWidth = 1.5 * scale;
    /** @param {number} bytes @param {string} colour @param {string} text @param {boolean} left side of the text */
    const level = (bytes, colour, text, left) => {
      const y = this.yOf(bytes);
      context.strokeStyle = colour;
      context.fillStyle = colour;
      context.setLineDash([6 * scale, 4 * scale]);
      context.beginPath();
      context.moveTo(this.left, y);
      context.lineTo(this.left + this.plotWidth, y);
      context.stroke();
      context.setLineDash([]);
      context.textAlign = left ? 'left' : 'right';
      context.textBaseline = 'bottom';
      context.fillText(text, left ? this.left + letter / 2 : this.left + this.plotWidth - letter / 2, y - 1);
    };
    if (plan.facts.lower_bound > 0) {
      level(plan.facts.lower_bound, theme.text, 'lower bound ' + formatBytes(plan.facts.lower_bound), false);
    }
    if (plan.reserved.length === 0 && plan.facts.peak > plan.facts.lower_bound * 1.005) {
      level(plan.facts.peak, theme.faint, 'reserved ' + formatBytes(plan.facts.peak), true);
    }
    const limit = plan.facts.limit;
    if (limit !== null && limit <= this.yMost) level(limit, theme.limit, 'limit ' + formatBytes(limit), true);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Plan} plan
   * @param {number} moment
   * @param {import('./colours.js').Theme} theme
   * @param {number} letter
   * @param {number} scale
   */
  drawMoments(context, plan, moment, theme, letter, scale) {
    if (plan.steps === 0) return;
    const positions = plan.positions(this.choice.byTime);
    /** @param {number} step */
    const centre = (step) => this.xOf((positions[step] + positions[step + 1]) / 2);
    if (moment >= 0 && moment < plan.steps) {
      context.strokeStyle = theme.accent;
      context.lineWidth = scale;
      context.beginPath();
      context.moveTo(centre(moment), 0);
      context.lineTo(centre(moment), this.plotHeight);
      context.stroke();
    }
    const x = centre(plan.peakStep);
    const y = this.yOf(plan.live[plan.peakStep]);
    context.fillStyle = theme.peak;
    context.beginPath();
    context.arc(x, y, 4 * scale, 0, 2 * Math.PI);
    context.fill();
    const right = x < this.left + this.plotWidth * 0.6;
    context.textAlign = right ? 'left' : 'right';
    context.textBaseline = 'top';
    context.fillText('peak at step ' + formatCount(plan.peakStep), x + (right ? 1 : -1) * letter * 0.6, y + 2 * scale);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} letter
   * @param {import('./colours.js').Theme} theme
   */
  drawAxes(context, letter, theme) {
    context.font = Math.round(letter) + 'px system-ui, sans-serif';
    context.fillStyle = theme.text;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const tick of axisTicks(0, this.yMost, Math.floor(this.plotHeight / (letter * 1.8)), 2)) {
      const y = Math.min(Math.max(this.yOf(tick), letter * 0.6), this.plotHeight - 1);
      context.fillText(formatBytes(tick), this.left - letter * 0.4, y);
      context.fillRect(this.left - letter * 0.3, y, letter * 0.3, 1);
    }
    context.textAlign = 'center';
    context.textBaseline = 'top';
    for (const tick of axisTicks(this.view.xBegin, this.view.xEnd, Math.floor(this.plotWidth / (letter * 9)), 10)) {
      const text = this.choice.byTime ? formatTime(tick) : formatCount(Math.round(tick));
      const x = Math.min(Math.max(this.xOf(tick), this.left + letter), this.left + this.plotWidth - letter * 2);
      context.fillText(text, x, this.plotHeight + letter * 0.3);
      context.fillRect(this.xOf(tick), this.plotHeight, 1, letter * 0.3);
    }
  }

  /** @param {number} x CSS pixels from the left @param {Plan} plan @returns {number} the step there */
  stepAt(x, plan) {
    const scale = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    const share = (x * scale - this.left) / this.plotWidth;
    return plan.stepAt(this.view.xBegin + share * (this.view.xEnd - this.view.xBegin), this.choice.byTime);
  }
}
