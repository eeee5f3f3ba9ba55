// The first answer: the peak, at which operator, who owns it, how far above the lower bound.

import { button, element } from './elements.js';
import { cssColour, themeOf } from './colours.js';
import { formatBytes, formatChange, formatCount, formatShare } from './format.js';

/** @typedef {import('./data.js').Plan} Plan */

/** @param {string} title @param {string} figure @param {string} note @param {string} [kind] @returns {HTMLElement} */
function card(title, figure, note, kind) {
  return element('div', { class: 'card ' + (kind || '') }, [
    element('div', { class: 'faint' }, [title]),
    element('div', { class: 'figure' }, [figure]),
    element('div', {}, [note]),
  ]);
}

/** @param {Plan} plan @returns {HTMLElement} */
function boundCard(plan) {
  const { peak, lower_bound: bound } = plan.facts;
  if (!(bound > 0)) return card('lower bound', 'not known', 'only a plan tells it');
  const above = formatShare(peak - bound, bound);
  const note = plan.facts.optimal_for_order ? 'proven: nothing lower in this order of operators'
    : 'the peak is ' + formatBytes(peak - bound) + ' above it';
  return card('above the lower bound', above, note + '; bound ' + formatBytes(bound), peak > bound * 1.05 ? 'warn' : 'good');
}

/** @param {Plan} plan @returns {HTMLElement[]} */
function limitCard(plan) {
  const limit = plan.facts.limit;
  if (limit === null) return [];
  const taken = plan.facts.device === null ? plan.facts.peak : plan.facts.device;
  const fits = taken <= limit;
  return [card('limit', formatBytes(limit), fits ? formatBytes(limit - taken) + ' to spare'
    : formatBytes(taken - limit) + ' too much', fits ? 'good' : 'bad')];
}

const OWNERS_SHOWN = 6;

/**
 * The bytes at the peak as one bar, the largest owners by name.
 * @param {Plan} plan
 * @param {boolean} dark
 * @param {(tensor: number) => void} pick
 * @returns {HTMLElement}
 */
function ownersBar(plan, dark, pick) {
  const owners = plan.ownersAt(plan.peakStep, plan.mainRegion);
  const total = owners.reduce((sum, tensor) => sum + plan.bytes[tensor], 0);
  const theme = themeOf(dark);
  const bar = element('div', { class: 'owners-bar', role: 'presentation' });
  const names = element('ol', { class: 'owners' });
  owners.slice(0, OWNERS_SHOWN).forEach((tensor) => {
    const colour = cssColour(theme.kinds[plan.kind[tensor]]);
    const piece = element('span', { title: plan.nameOf(tensor) + ' ' + formatBytes(plan.bytes[tensor]) });
    piece.style.flexGrow = String(plan.bytes[tensor]);
    piece.style.background = colour;
    bar.append(piece);
    const swatch = element('span', { class: 'swatch' });
    swatch.style.background = colour;
    names.append(element('li', {}, [swatch, formatBytes(plan.bytes[tensor]) + ', ' + formatShare(plan.bytes[tensor], total),
      button(plan.nameOf(tensor), () => pick(tensor), { class: 'link' })]));
  });
  const rest = owners.slice(OWNERS_SHOWN);
  if (rest.length > 0) {
    const bytes = rest.reduce((sum, tensor) => sum + plan.bytes[tensor], 0);
    const piece = element('span', { class: 'rest', title: 'all others ' + formatBytes(bytes) });
    piece.style.flexGrow = String(bytes);
    bar.append(piece);
    names.append(element('li', { class: 'faint' }, [formatBytes(bytes) + ', ' + formatShare(bytes, total) + '  ' + formatCount(rest.length) + ' others']));
  }
  return element('div', { class: 'card wide' }, [
    element('div', { class: 'faint' }, ['who owns the peak']), bar, names]);
}

/**
 * @param {Plan} plan
 * @param {boolean} dark
 * @param {(tensor: number) => void} pick
 * @param {(step: number) => void} go
 * @returns {HTMLElement[]}
 */
export function headline(plan, dark, pick, go) {
  const { peak, plain_peak: plain, device } = plan.facts;
  const module = plan.steps > 0 ? plan.strings[plan.stepModule[plan.peakStep]] : '';
  const place = element('div', { class: 'card place' }, [
    element('div', { class: 'faint' }, ['at operator']),
    element('div', { class: 'figure' }, [button(plan.steps > 0 ? plan.strings[plan.stepName[plan.peakStep]] || 'step ' + plan.peakStep : 'none',
      () => go(plan.peakStep), { class: 'link' })]),
    element('div', {}, [plan.steps > 0 ? [plan.strings[plan.stepType[plan.peakStep]], module,
      'step ' + formatCount(plan.peakStep) + ' of ' + formatCount(plan.steps)].filter((text) => text !== '').join(', ') : '']),
  ]);
  const saved = plain === null || plain <= 0 ? plan.source !== 'plan' ? 'bytes handed out at one moment' : 'of the feature map'
    : 'without reuse in place, in the file\'s order: ' + formatBytes(plain) + ' (' + formatChange(peak - plain) + ')';
  return [
    card('peak', formatBytes(peak), saved + (device === null ? '' : '; ' + formatBytes(device) + ' from the device in all')),
    place, boundCard(plan), ...limitCard(plan), ownersBar(plan, dark, pick),
  ];
}

/**
 * Several plans, a line each, compared with the first.
 * @param {Plan[]} plans
 * @param {number} active
 * @param {boolean} dark
 * @param {(index: number) => void} choose
 * @returns {HTMLElement}
 */
export function plansTable(plans, active, dark, choose) {
  const colours = themeOf(dark).plans;
  const first = plans[0].facts.peak;
  const lowest = Math.min(...plans.map((plan) => plan.facts.peak));
  /** @param {(Node | string)[]} content @param {string} [kind] */
  const cell = (content, kind) => element('td', { class: kind || '' }, content);
  const rows = plans.map((plan, i) => {
    const swatch = element('span', { class: 'swatch' });
    swatch.style.background = colours[i % colours.length];
    const { peak, lower_bound: bound, device } = plan.facts;
    return element('tr', { class: i === active ? 'active' : '' }, [
      cell([swatch, button(plan.name, () => choose(i), { class: 'link', 'aria-pressed': String(i === active) })]),
      cell([formatBytes(peak) + (peak === lowest ? ' (lowest)' : '')], 'number'),
      cell([i === 0 ? '' : formatChange(peak - first) + ' (' + (peak > first ? '+' : '') + formatShare(peak - first, first) + ')'], 'number'),
      cell([bound > 0 ? formatBytes(bound) : 'not known'], 'number'),
      cell([device === null ? 'not known' : formatBytes(device)], 'number'),
      cell([plan.stepText(plan.peakStep)]),
      cell([formatCount(plan.count)], 'number'),
    ]);
  });
  const titles = ['plan or run', 'peak', 'against the first', 'lower bound', 'from the device', 'peak at', 'tensors'];
  return element('table', { class: 'plans' }, [
    element('thead', {}, [element('tr', {}, titles.map((title) => element('th', { scope: 'col' }, [title])))]),
    element('tbody', {}, rows),
  ]);
}
