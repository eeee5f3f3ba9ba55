// Who uses the same bytes at other times, and what kept others from doing so.

import { formatBytes, formatCount } from './format.js';

/** @typedef {import('./data.js').Plan} Plan */

/**
 * @typedef {object} Sharing
 * @property {number[]} before tensors that used some of the bytes before, latest first
 * @property {number[]} after likewise after, earliest first
 * @property {number} conflicts tensors that live while it lives
 * @property {string[]} reasons why not more of its bytes' time is shared
 */

/**
 * @param {Plan} plan
 * @param {number} tensor
 * @returns {Sharing}
 */
export function sharingOf(plan, tensor) {
  /** @type {Sharing} */
  const sharing = { before: [], after: [], conflicts: 0, reasons: [] };
  const begin = plan.offset[tensor];
  const end = begin + plan.bytes[tensor];
  for (let i = 0; i < plan.count; i += 1) {
    if (i === tensor || plan.region[i] !== plan.region[tensor]) continue;
    if (plan.conflict(i, tensor)) {
      sharing.conflicts += 1;
    } else if (plan.offset[i] < end && begin < plan.offset[i] + plan.bytes[i]) {
      (plan.end[i] <= plan.begin[tensor] ? sharing.before : sharing.after).push(i);
    }
  }
  sharing.before.sort((a, b) => plan.end[b] - plan.end[a]);
  sharing.after.sort((a, b) => plan.begin[a] - plan.begin[b]);
  const rule = plan.strings[plan.rule[tensor]];
  if (rule) sharing.reasons.push(rule);
  if (plan.region[tensor] !== plan.mainRegion) return sharing;
  let busiest = plan.begin[tensor];
  for (let step = plan.begin[tensor]; step < plan.end[tensor]; step += 1) {
    if (plan.live[step] > plan.live[busiest]) busiest = step;
  }
  const room = plan.facts.peak - plan.live[busiest];
  const length = plan.end[tensor] - plan.begin[tensor];
  sharing.reasons.push(
    'It must hold its bytes for ' + formatCount(length) + ' of ' + formatCount(plan.steps) + ' steps, while ' +
    formatCount(sharing.conflicts) + ' others live. At the busiest of these, step ' + formatCount(busiest) + ', ' +
    formatBytes(plan.live[busiest]) + ' are live' +
    (room <= 0 ? ': all of the waterline, so nothing was left to share.'
      : ' and ' + formatBytes(room) + ' of the waterline are free.'));
  return sharing;
}
