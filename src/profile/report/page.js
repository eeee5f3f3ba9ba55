// The page: what is chosen, and every part redrawn when that changes.

import { GROUPINGS, momentPanel } from './moment.js';
import { MemoryMap, noMarks } from './memory_map.js';
import { briefDetails, detailsPanel } from './details.js';
import { button, canvasPart, element, inputPart, makeTabs, part, replaceChildren } from './elements.js';
import { changeTable, noteList, operatorTable, portTable, techniqueTable, tensorTable } from './tables.js';
import { headline, plansTable } from './headline.js';
import { View } from './view.js';
import { Waterline } from './waterline.js';
import { addGestures } from './gestures.js';
import { findTensors } from './search.js';
import { formatBytes, formatCount } from './format.js';
import { legendOf, themeOf } from './colours.js';

/** @typedef {import('./data.js').Report} Report */

export class Page {
  /** @param {Report} report */
  constructor(report) {
    this.plans = report.plans;
    this.active = 0;
    this.view = new View();
    /** @type {import('./memory_map.js').Choice} */
    this.choice = {
      dark: window.matchMedia('(prefers-color-scheme: dark)').matches,
      byTime: false, region: this.plans[0].mainRegion, colourBy: 'kind',
    };
    this.marks = this.plans.map((plan) => ({ ...noMarks(), moment: plan.steps > 0 ? plan.peakStep : -1 }));
    this.groupBy = GROUPINGS[0];
    this.sideBySide = this.plans.length > 1;
    this.sideIsDetails = false;
    /** @type {MemoryMap[]} */
    this.maps = [];
    this.waterline = new Waterline(canvasPart('waterline'), this.plans, this.view, this.choice);
    this.frameAsked = false;
    document.title = report.title;
    part('title').textContent = report.title;
    part('made-by').textContent = report.madeBy;
    this.addControls();
    this.addWaterlineGestures();
    this.setTheme(this.choice.dark);
    this.choosePlan(0);
    window.addEventListener('resize', () => this.redraw());
    window.addEventListener('beforeprint', () => { this.screenTheme = this.choice.dark; this.setTheme(false); this.draw(); });
    window.addEventListener('afterprint', () => { this.setTheme(Boolean(this.screenTheme)); this.redraw(); });
  }

  get plan() { return this.plans[this.active]; }

  get mark() { return this.marks[this.active]; }

  /** Draws the pictures with the next frame. */
  redraw() {
    if (this.frameAsked) return;
    this.frameAsked = true;
    window.requestAnimationFrame(() => {
      this.frameAsked = false;
      this.draw();
    });
  }

  draw() {
    this.waterline.draw(this.active, this.mark.moment);
    this.maps.forEach((map) => map.draw());
  }

  /** @param {boolean} dark */
  setTheme(dark) {
    this.choice.dark = dark;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    part('theme').textContent = dark ? 'light' : 'dark';
    replaceChildren(part('legend'), legendOf(themeOf(dark)).map((row) => {
      const swatch = element('span', { class: 'swatch' });
      swatch.style.background = row.colour;
      return element('li', {}, [swatch, row.name]);
    }));
    this.showHeadline();
    this.redraw();
  }

  addControls() {
    part('theme').addEventListener('click', () => this.setTheme(!this.choice.dark));
    const help = /** @type {HTMLDialogElement} */ (part('help'));
    part('show-help').addEventListener('click', () => help.showModal());
    part('close-help').addEventListener('click', () => help.close());
    part('reset').addEventListener('click', () => { this.view.reset(); this.redraw(); });
    part('to-peak').addEventListener('click', () => this.goTo(this.plan.peakStep));
    const axis = inputPart('axis');
    axis.addEventListener('change', () => { this.choice.byTime = axis.value === 'time'; this.fitView(); });
    const region = inputPart('region');
    region.addEventListener('change', () => { this.choice.region = Number(region.value); this.fitView(); this.showSide(); });
    const colour = inputPart('colour');
    colour.addEventListener('change', () => {
      this.choice.colourBy = colour.value;
      part('legend').hidden = colour.value !== 'kind';
      this.redraw();
    });
    const together = inputPart('side-by-side');
    together.checked = this.sideBySide;
    together.addEventListener('change', () => { this.sideBySide = together.checked; this.makeMaps(); });
    part('side-by-side-label').hidden = this.plans.length < 2;
    const search = inputPart('search');
    search.addEventListener('input', () => this.search(search.value));
    search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.goToNextFound(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') { search.value = ''; this.search(''); }
    });
    document.addEventListener('keydown', (event) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (typing || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
      if (event.key === '/') { search.focus(); event.preventDefault(); }
      if (event.key === '?') help.showModal();
      if (event.key === 'Escape') this.pin(-1);
    });
  }

  addWaterlineGestures() {
    const canvas = canvasPart('waterline');
    addGestures(canvas, this.view, () => this.plotOf(canvas, this.waterline), {
      changed: () => this.redraw(),
      hover: (x, y) => {
        const step = this.waterline.stepAt(x, this.plan);
        this.showTip(canvas, x, y, this.plan.steps === 0 ? [] : [
          element('b', {}, [formatBytes(this.plan.live[step]) + ' live']),
          element('div', {}, [this.plan.stepText(step)]), element('div', {}, ['step ' + formatCount(step)])]);
      },
      leave: () => this.showTip(canvas, 0, 0, []),
      click: (x) => this.chooseMoment(this.waterline.stepAt(x, this.plan)),
      key: (key) => this.momentKey(key),
    });
  }

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{left: number, plotWidth: number, plotHeight: number}} picture
   */
  plotOf(canvas, picture) {
    const scale = canvas.width / Math.max(1, canvas.clientWidth);
    return { left: picture.left / scale, width: picture.plotWidth / scale, height: picture.plotHeight / scale };
  }

  /** @param {string} key @returns {boolean} */
  momentKey(key) {
    const step = key === '.' ? 1 : key === ',' ? -1 : 0;
    if (step === 0) return false;
    this.chooseMoment(Math.min(this.plan.steps - 1, Math.max(0, this.mark.moment + step)));
    return true;
  }

  /** @param {number} index */
  choosePlan(index) {
    this.active = index;
    const plan = this.plan;
    this.choice.region = plan.mainRegion;
    const time = /** @type {HTMLOptionElement} */ (part('axis-time'));
    time.disabled = !this.plans.every((each) => each.hasTimes);
    time.title = time.disabled ? 'a plan has no times: they come from a recorded run' : '';
    replaceChildren(part('region'), plan.regions.map((region, i) => element('option', { value: String(i) },
      [region.name + ' ' + formatBytes(region.bytes)])).concat([element('option', { value: '-1' }, ['all regions'])]));
    inputPart('region').value = String(this.choice.region);
    part('subject').textContent = plan.subject;
    this.fitView();
    this.showHeadline();
    this.showSide();
    this.showTables();
    this.makeMaps();
  }

  /** Shows all of the axes, which all plans share. */
  fitView() {
    const { byTime, region } = this.choice;
    const ends = this.plans.map((plan) => plan.positions(byTime)[plan.steps]);
    const heights = this.plans.map((plan) => (region < 0 ? plan.regionBase[plan.regions.length]
      : (plan.regions[Math.min(region, plan.regions.length - 1)] || { bytes: 1 }).bytes));
    this.view.setExtent(Math.max(...ends), Math.max(...heights) * 1.02, byTime ? Math.max(...ends) * 1e-6 : 2);
    this.redraw();
  }

  makeMaps() {
    const shown = this.sideBySide ? this.plans.map((_, i) => i) : [this.active];
    this.maps = [];
    const colours = themeOf(this.choice.dark).plans;
    replaceChildren(part('maps'), shown.map((index) => {
      const canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {
        tabindex: '0', role: 'img', class: shown.length > 1 ? 'map shared' : 'map',
        'aria-label': 'Memory map of ' + this.plans[index].name + ': one rectangle per tensor. Its tensors are in the tables too.',
      }));
      const map = new MemoryMap(canvas, this.plans[index], this.view, this.choice, this.marks[index]);
      this.maps.push(map);
      this.addMapGestures(canvas, map, index);
      if (shown.length === 1) return canvas;
      const swatch = element('span', { class: 'swatch' });
      swatch.style.background = colours[index % colours.length];
      return element('figure', {}, [element('figcaption', {}, [swatch, this.plans[index].name]), canvas]);
    }));
    this.redraw();
  }

  /** @param {HTMLCanvasElement} canvas @param {MemoryMap} map @param {number} index of its plan */
  addMapGestures(canvas, map, index) {
    addGestures(canvas, this.view, () => this.plotOf(canvas, map), {
      changed: () => this.redraw(),
      hover: (x, y) => this.hover(canvas, map, x, y),
      leave: () => { map.marks.hovered = -1; this.showTip(canvas, 0, 0, []); this.redraw(); },
      click: (x, y) => {
        this.activate(index);
        const tensor = map.tensorAt(x, y);
        if (tensor < 0) this.mark.moment = map.stepAt(x);
        this.pin(tensor === this.mark.pinned ? -1 : tensor);
      },
      doubleClick: (x, y) => { const tensor = map.tensorAt(x, y); if (tensor >= 0) this.zoomTo(tensor); },
      key: (key) => {
        if (key === 'n' || key === 'p') {
          this.activate(index);
          this.pinNext(key === 'n' ? 1 : -1);
          return true;
        }
        return this.momentKey(key);
      },
    });
  }

  /** @param {number} index */
  activate(index) {
    if (index === this.active) return;
    this.active = index;
    this.showHeadline();
    this.showTables();
  }

  /** @param {number} by walks the tensors that live at the moment, by size */
  pinNext(by) {
    const owners = this.plan.ownersAt(Math.max(0, this.mark.moment), this.choice.region);
    if (owners.length === 0) return;
    const now = owners.indexOf(this.mark.pinned);
    this.pin(owners[now < 0 ? 0 : (now + by + owners.length) % owners.length]);
  }

  /** @param {HTMLCanvasElement} canvas @param {MemoryMap} map @param {number} x @param {number} y */
  hover(canvas, map, x, y) {
    const tensor = map.tensorAt(x, y);
    if (tensor !== map.marks.hovered) {
      map.marks.hovered = tensor;
      this.redraw();
      this.tip = tensor < 0 ? [] : briefDetails(map.plan, tensor);
    }
    this.showTip(canvas, x, y, this.tip || []);
  }

  /** @param {HTMLElement} over @param {number} x @param {number} y @param {HTMLElement[]} content */
  showTip(over, x, y, content) {
    const tip = part('tip');
    tip.hidden = content.length === 0;
    if (tip.hidden) return;
    replaceChildren(tip, content);
    const box = over.getBoundingClientRect();
    const left = Math.min(box.left + x + 16, window.innerWidth - tip.offsetWidth - 8);
    const below = box.top + y + 16;
    const top = below + tip.offsetHeight > window.innerHeight ? box.top + y - tip.offsetHeight - 12 : below;
    tip.style.left = Math.max(4, left) + 'px';
    tip.style.top = Math.max(4, top) + 'px';
  }

  /** @param {number} tensor -1: none */
  pin(tensor) {
    this.mark.pinned = tensor;
    this.sideIsDetails = tensor >= 0;
    if (tensor >= 0 && this.choice.region >= 0 && this.plan.region[tensor] !== this.choice.region) {
      this.choice.region = this.plan.region[tensor];
      inputPart('region').value = String(this.choice.region);
      this.fitView();
    }
    this.showSide();
    this.redraw();
  }

  /** @param {number} step */
  chooseMoment(step) {
    this.mark.moment = step;
    this.mark.pinned = -1;
    this.sideIsDetails = false;
    this.showSide();
    this.redraw();
  }

  /** @param {number} step shows it in the middle and who owns it */
  goTo(step) {
    const positions = this.plan.positions(this.choice.byTime);
    const { xBegin, xEnd } = this.view;
    if (positions[step] < xBegin || positions[step] > xEnd) {
      this.view.showX(positions[step] - (xEnd - xBegin) / 2, positions[step] + (xEnd - xBegin) / 2);
    }
    this.chooseMoment(step);
  }

  /** @param {number} tensor */
  zoomTo(tensor) {
    const plan = this.plan;
    const positions = plan.positions(this.choice.byTime);
    const begin = positions[plan.begin[tensor]];
    const end = positions[plan.end[tensor]];
    this.pin(tensor);
    this.view.showX(begin - (end - begin) * 0.25, end + (end - begin) * 0.25);
    const address = (this.choice.region < 0 ? plan.regionBase[plan.region[tensor]] : 0) + plan.offset[tensor];
    this.view.showY(address - plan.bytes[tensor] * 1.5, address + plan.bytes[tensor] * 2.5);
    this.redraw();
  }

  /** @param {string} text */
  search(text) {
    let count = 0;
    this.plans.forEach((plan, i) => {
      this.marks[i].found = text === '' ? null : findTensors(plan, text);
      if (i === this.active && this.marks[i].found !== null) {
        count = /** @type {Uint8Array} */ (this.marks[i].found).reduce((sum, one) => sum + one, 0);
      }
    });
    part('found').textContent = text === '' ? '' : formatCount(count) + ' found';
    this.redraw();
  }

  /** @param {number} by */
  goToNextFound(by) {
    const found = this.mark.found;
    if (found === null || !found.some((one) => one === 1)) return;
    const count = this.plan.count;
    let tensor = this.mark.pinned < 0 ? (by > 0 ? -1 : count) : this.mark.pinned;
    do tensor = (tensor + by + count) % count; while (!found[tensor]);
    this.zoomTo(tensor);
  }

  showHeadline() {
    const act = [(/** @type {number} */ tensor) => this.pin(tensor), (/** @type {number} */ step) => this.goTo(step)];
    replaceChildren(part('headline'), headline(this.plan, this.choice.dark, act[0], act[1]));
    replaceChildren(part('plans'), this.plans.length < 2 ? []
      : [plansTable(this.plans, this.active, this.choice.dark, (index) => this.choosePlan(index))]);
  }

  showSide() {
    const side = part('side-panel');
    const showDetails = this.sideIsDetails && this.mark.pinned >= 0;
    const tabs = GROUPINGS.map((by) => ({ name: 'by ' + by, show: () => this.showMoment(side, by) }));
    if (this.mark.pinned >= 0) tabs.push({ name: 'pinned', show: () => this.showDetails(side) });
    makeTabs(part('side-tabs'), side, tabs, showDetails ? tabs.length - 1 : GROUPINGS.indexOf(this.groupBy));
  }

  /** @param {HTMLElement} side @param {string} by */
  showMoment(side, by) {
    this.groupBy = by;
    this.sideIsDetails = false;
    replaceChildren(side, this.mark.moment < 0 ? ['Nothing runs.']
      : momentPanel(this.plan, this.mark.moment, this.choice.region, by, (tensor) => this.pin(tensor)));
  }

  /** @param {HTMLElement} side */
  showDetails(side) {
    this.sideIsDetails = true;
    replaceChildren(side, detailsPanel(this.plan, this.mark.pinned, {
      pick: (tensor) => this.pin(tensor), go: (step) => this.goTo(step), unpin: () => this.pin(-1), zoom: (tensor) => this.zoomTo(tensor),
    }));
  }

  showTables() {
    const plan = this.plan;
    const panel = part('table-panel');
    /** @param {{root: HTMLElement}} table */
    const show = (table) => replaceChildren(panel, [table.root]);
    const tabs = [
      { name: 'top tensors', show: () => show(tensorTable(plan, (tensor) => this.pin(tensor))) },
      { name: 'top operators', show: () => show(operatorTable(plan, (step) => this.goTo(step))) },
      { name: 'reuse by technique', show: () => show(techniqueTable(plan)) },
      { name: 'zero copies refused', show: () => show(portTable(plan)) },
      { name: 'regions and notes', show: () => show(noteList(plan)) },
    ];
    if (this.plans.length > 1) {
      const other = this.active === 0 ? 1 : 0;
      const [before, after] = this.active === 0 ? [plan, this.plans[other]] : [this.plans[0], plan];
      tabs.unshift({ name: 'what changed at the peak', show: () => show(changeTable(before, after, (name) => {
        inputPart('search').value = name;
        this.search(name);
      })) });
    }
    makeTabs(part('table-tabs'), panel, tabs);
  }
}

/**
 * Says that the data could not be shown, in place of an empty page.
 * @param {unknown} problem
 */
export function showProblem(problem) {
  replaceChildren(part('headline'), [element('div', { class: 'card bad' }, [
    'This report cannot be shown: ' + String(problem), button('reload', () => window.location.reload())])]);
}
