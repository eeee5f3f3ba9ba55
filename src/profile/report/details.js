// All that is known of one tensor.

import { button, element } from './elements.js';
import { formatBytes, formatCount, formatRoofline, formatTime } from './format.js';
import { sharingOf } from './sharing.js';

/** @typedef {import('./data.js').Plan} Plan */

/** @param {string} name @param {(Node | string)[]} value @returns {HTMLElement[]} */
function fact(name, value) { return [element('dt', {}, [name]), element('dd', {}, value)]; }

/**
 * @param {Plan} plan
 * @param {number} tensor
 * @returns {string} steps from its first to its last
 */
export function lifeText(plan, tensor) {
  const begin = plan.begin[tensor];
  const last = plan.end[tensor] - 1;
  return 'steps ' + formatCount(begin) + ' to ' + formatCount(Math.max(begin, last)) + ' of ' + formatCount(plan.steps);
}

/**
 * @param {Plan} plan
 * @param {number} step
 * @returns {string} what the step did: kernel, time, bytes, share of the roofline; empty where that is not known
 */
export function workText(plan, step) {
  if (!plan.hasWork || step < 0) return '';
  const roofline = plan.rooflineOf(step);
  return [plan.kernelOf(step), formatTime(plan.took[step]),
    formatBytes(plan.read[step]) + ' read, ' + formatBytes(plan.written[step]) + ' written',
    Number.isNaN(roofline) ? '' : formatRoofline(roofline) + ' of the roofline'].filter((text) => text !== '').join(', ');
}

/**
 * A few lines for the pointer.
 * @param {Plan} plan
 * @param {number} tensor
 * @returns {HTMLElement[]}
 */
export function briefDetails(plan, tensor) {
  const readers = plan.readersOf(tensor);
  const sharing = sharingOf(plan, tensor);
  const members = plan.membersOf(tensor);
  const others = sharing.before.length + sharing.after.length;
  /** @type {string[]} */
  const lines = [
    plan.strings[plan.type[tensor]] + plan.strings[plan.shape[tensor]] + '  ' + formatBytes(plan.bytes[tensor]) + '  ' + plan.kindOf(tensor),
    'lives ' + lifeText(plan, tensor),
  ];
  if (plan.producer[tensor] >= 0) lines.push('made by ' + plan.stepText(plan.producer[tensor]));
  const work = workText(plan, plan.producer[tensor]);
  if (work !== '') lines.push(work);
  if (readers.length > 0) {
    lines.push('read by ' + plan.stepText(readers[0]) + (readers.length > 1 ? ' and ' + formatCount(readers.length - 1) + ' more' : ''));
  }
  if (members.length > 0) {
    lines.push('same bytes as ' + members[0].name + (members.length > 1 ? ' and ' + formatCount(members.length - 1) + ' more' : ''));
  }
  lines.push(others > 0 ? 'its bytes serve ' + formatCount(others) + ' others at other times' : 'nobody else uses its bytes');
  lines.push(...sharing.reasons.slice(0, 1));
  return [element('b', {}, [plan.nameOf(tensor)])].concat(lines.map((line) => element('div', {}, [line])));
}

const MOST_LISTED = 12;

/**
 * @param {Plan} plan
 * @param {number} tensor
 * @param {{pick: (tensor: number) => void, go: (step: number) => void, unpin: () => void, zoom: (tensor: number) => void}} act
 * @returns {HTMLElement[]}
 */
export function detailsPanel(plan, tensor, act) {
  const sharing = sharingOf(plan, tensor);
  /** @param {number[]} steps */
  const stepButtons = (steps) => steps.slice(0, MOST_LISTED).map((step) => button(
    formatCount(step) + '  ' + plan.stepText(step), () => act.go(step), { class: 'link row' }));
  /** @param {number[]} tensors */
  const tensorButtons = (tensors) => tensors.slice(0, MOST_LISTED).map((other) => button(
    plan.nameOf(other) + '  ' + formatBytes(plan.bytes[other]) + ', ' + lifeText(plan, other), () => act.pick(other),
    { class: 'link row' }));
  /** @param {unknown[]} all @returns {string[]} */
  const rest = (all) => (all.length > MOST_LISTED ? ['and ' + formatCount(all.length - MOST_LISTED) + ' more'] : []);
  const readers = plan.readersOf(tensor);
  const members = plan.membersOf(tensor);
  const begin = plan.offset[tensor];
  const module = plan.moduleOf(tensor);
  const facts = [
    ...fact('kind', [plan.kindOf(tensor)]),
    ...fact('type and shape', [(plan.strings[plan.type[tensor]] + plan.strings[plan.shape[tensor]]) || 'not known']),
    ...fact('bytes', [formatBytes(plan.bytes[tensor]) + ' (' + formatCount(plan.bytes[tensor]) + ')']),
    ...fact('address', [formatCount(begin) + ' to ' + formatCount(begin + plan.bytes[tensor]) + ' in ' + plan.regions[plan.region[tensor]].name]),
    ...fact('life', [lifeText(plan, tensor)]),
    ...(module ? fact('module', [module]) : []),
    ...fact('made by', plan.producer[tensor] < 0 ? ['nobody in the run'] : stepButtons([plan.producer[tensor]])),
    ...(workText(plan, plan.producer[tensor]) === '' ? [] : fact('which took', [workText(plan, plan.producer[tensor])])),
    ...fact('read by', readers.length === 0 ? ['nobody'] : [...stepButtons(readers), ...rest(readers)]),
    ...(members.length === 0 ? [] : fact('in the same bytes', [
      ...members.slice(0, MOST_LISTED).map((member) => element('div', {}, [
        member.name + '  ' + member.type + member.shape + ', steps ' + formatCount(member.begin) + ' to ' +
        formatCount(Math.max(member.begin, member.end - 1))])), ...rest(members)])),
    ...fact('bytes used before by', sharing.before.length === 0 ? ['nobody'] : [...tensorButtons(sharing.before), ...rest(sharing.before)]),
    ...fact('bytes used after by', sharing.after.length === 0 ? ['nobody'] : [...tensorButtons(sharing.after), ...rest(sharing.after)]),
    ...fact('why not more', sharing.reasons.length === 0 ? ['nothing stood against it'] : sharing.reasons.map((text) => element('div', {}, [text]))),
  ];
  return [
    element('h2', {}, [plan.nameOf(tensor)]),
    element('div', { class: 'bar' }, [
      button('zoom to it', () => act.zoom(tensor)),
      button('unpin', () => act.unpin()),
      element('span', { class: 'faint' }, [formatCount(sharing.conflicts) + ' tensors live while it lives; others are dimmed']),
    ]),
    element('dl', {}, facts),
  ];
}
