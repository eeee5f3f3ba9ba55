// Who owns the memory at one moment: by tensor, by operator, by module path.

import { formatBytes, formatCount, formatShare, formatTime } from './format.js';
import { Table } from './table.js';
import { element } from './elements.js';
import { workText } from './details.js';

/** @typedef {import('./data.js').Plan} Plan */

/**
 * @typedef {object} OwnerGroup
 * @property {string} name
 * @property {number} bytes
 * @property {number} count
 * @property {number} largest tensor
 */

/**
 * Owners with the same key, largest sum first.
 * @param {Plan} plan
 * @param {number[]} owners
 * @param {(tensor: number) => string} key
 * @returns {OwnerGroup[]}
 */
export function groupOwners(plan, owners, key) {
  /** @type {Map<string, OwnerGroup>} */
  const groups = new Map();
  for (const tensor of owners) {
    const name = key(tensor) || '(none)';
    const group = groups.get(name);
    if (group === undefined) {
      groups.set(name, { name, bytes: plan.bytes[tensor], count: 1, largest: tensor });
    } else {
      group.bytes += plan.bytes[tensor];
      group.count += 1;
    }
  }
  return Array.from(groups.values()).sort((a, b) => b.bytes - a.bytes);
}

/** Ways to group owners. */
export const GROUPINGS = ['tensor', 'operator', 'module'];

/**
 * @param {Plan} plan
 * @param {string} by one of GROUPINGS
 * @returns {(tensor: number) => string}
 */
export function groupKey(plan, by) {
  if (by === 'operator') return (tensor) => plan.operatorOf(tensor);
  return (tensor) => plan.moduleOf(tensor);
}

/**
 * @param {Plan} plan
 * @param {number} step
 * @param {number} region
 * @param {string} by
 * @param {(tensor: number) => void} pick
 * @returns {HTMLElement[]}
 */
export function momentPanel(plan, step, region, by, pick) {
  const owners = plan.ownersAt(step, region);
  const total = owners.reduce((sum, tensor) => sum + plan.bytes[tensor], 0);
  const rows = by === 'tensor'
    ? owners.map((tensor) => ({ name: plan.nameOf(tensor), bytes: plan.bytes[tensor], count: 1, largest: tensor }))
    : groupOwners(plan, owners, groupKey(plan, by));
  /** @type {import('./table.js').Column<OwnerGroup>[]} */
  const columns = [
    { title: by, value: (row) => row.name },
    { title: 'bytes', value: (row) => row.bytes, text: (row) => formatBytes(row.bytes) },
    { title: 'share', value: (row) => row.bytes / Math.max(1, total), text: (row) => formatShare(row.bytes, total) },
  ];
  if (by !== 'tensor') columns.push({ title: 'tensors', value: (row) => row.count, text: (row) => formatCount(row.count) });
  const table = new Table(columns, rows, { sortBy: 1, pick: (row) => pick(row.largest), empty: 'Nothing lives here.' });
  const when = plan.hasTimes ? ', ' + formatTime(plan.times[step]) : '';
  return [
    element('h2', {}, [step === plan.peakStep ? 'At the peak' : 'At step ' + formatCount(step)]),
    element('p', {}, [
      element('b', {}, [formatBytes(total)]), ' in ' + formatCount(owners.length) + ' tensors while ',
      element('b', {}, [plan.stepText(step) || 'nothing']), ' runs, step ' + formatCount(step) + ' of ' + formatCount(plan.steps) + when,
    ]),
    ...(workText(plan, step) === '' ? [] : [element('p', { class: 'faint' }, [workText(plan, step)])]),
    table.root,
  ];
}
