// The tables below the pictures.

import { Table } from './table.js';
import { formatBytes, formatChange, formatCount, formatRoofline, formatTime } from './format.js';
import { element } from './elements.js';
import { lifeText } from './details.js';

/** @typedef {import('./data.js').Plan} Plan */

/** @param {Plan} plan @param {(tensor: number) => void} pick */
export function tensorTable(plan, pick) {
  return new Table([
    { title: 'tensor', value: (/** @type {number} */ tensor) => plan.nameOf(tensor) },
    { title: 'bytes', value: (tensor) => plan.bytes[tensor], text: (tensor) => formatBytes(plan.bytes[tensor]) },
    { title: 'steps', value: (tensor) => plan.end[tensor] - plan.begin[tensor], text: (tensor) => formatCount(plan.end[tensor] - plan.begin[tensor]) },
    { title: 'bytes × steps', value: (tensor) => plan.bytes[tensor] * (plan.end[tensor] - plan.begin[tensor]),
      text: (tensor) => formatBytes(plan.bytes[tensor] * (plan.end[tensor] - plan.begin[tensor])) },
    { title: 'kind', value: (tensor) => plan.kindOf(tensor) },
    { title: 'type and shape', value: (tensor) => plan.strings[plan.type[tensor]] + plan.strings[plan.shape[tensor]] },
    { title: 'at the peak', value: (tensor) => (plan.begin[tensor] <= plan.peakStep && plan.peakStep < plan.end[tensor] ? 'yes' : 'no') },
    { title: 'made by', value: (tensor) => plan.operatorOf(tensor) },
    { title: 'module', value: (tensor) => plan.moduleOf(tensor) },
    { title: 'region', value: (tensor) => plan.regions[plan.region[tensor]].name },
    { title: 'life', value: (tensor) => plan.begin[tensor], text: (tensor) => lifeText(plan, tensor) },
  ], Array.from({ length: plan.count }, (_, tensor) => tensor), { sortBy: 1, pick });
}

/**
 * @typedef {object} OperatorRow
 * @property {number} step
 * @property {number} made
 * @property {number} workspace
 * @property {number} atPeak
 * @property {number} live
 */

/** @param {Plan} plan @param {(step: number) => void} go */
export function operatorTable(plan, go) {
  /** @type {OperatorRow[]} */
  const rows = Array.from({ length: plan.steps }, (_, step) => ({ step, made: 0, workspace: 0, atPeak: 0, live: plan.live[step] }));
  for (let tensor = 0; tensor < plan.count; tensor += 1) {
    const step = plan.producer[tensor];
    if (step < 0 || plan.region[tensor] !== plan.mainRegion) continue;
    rows[step].made += plan.bytes[tensor];
    if (plan.kindOf(tensor) === 'workspace') rows[step].workspace += plan.bytes[tensor];
    if (plan.begin[tensor] <= plan.peakStep && plan.peakStep < plan.end[tensor]) rows[step].atPeak += plan.bytes[tensor];
  }
  /** @type {import('./table.js').Column<OperatorRow>[]} */
  const work = !plan.hasWork ? [] : [
    { title: 'time', value: (row) => plan.took[row.step], text: (row) => formatTime(plan.took[row.step]) },
    { title: 'kernel', value: (row) => plan.kernelOf(row.step) },
    { title: 'read', value: (row) => plan.read[row.step], text: (row) => formatBytes(plan.read[row.step]) },
    { title: 'written', value: (row) => plan.written[row.step], text: (row) => formatBytes(plan.written[row.step]) },
  ];
  if (plan.hasWork && plan.facts.machine) {
    work.push({ title: 'of the roofline', value: (row) => plan.rooflineOf(row.step) || 0, text: (row) => formatRoofline(plan.rooflineOf(row.step)) });
  }
  return new Table([
    { title: 'operator', value: (/** @type {OperatorRow} */ row) => plan.strings[plan.stepName[row.step]] || 'step ' + row.step },
    { title: 'live while it runs', value: (row) => row.live, text: (row) => formatBytes(row.live) },
    { title: 'memory it makes', value: (row) => row.made, text: (row) => formatBytes(row.made) },
    { title: 'of that workspace', value: (row) => row.workspace, text: (row) => formatBytes(row.workspace) },
    { title: 'of that held at the peak', value: (row) => row.atPeak, text: (row) => formatBytes(row.atPeak) },
    ...work,
    { title: 'type', value: (row) => plan.strings[plan.stepType[row.step]] },
    { title: 'module', value: (row) => plan.strings[plan.stepModule[row.step]] },
    { title: 'step', value: (row) => row.step, text: (row) => formatCount(row.step) },
  ], rows, { sortBy: 1, pick: (row) => go(row.step) });
}

/** @param {Plan} plan */
export function techniqueTable(plan) {
  let placed = 0;
  let tensors = 0;
  for (let tensor = 0; tensor < plan.count; tensor += 1) {
    if (plan.region[tensor] !== plan.mainRegion) continue;
    placed += plan.bytes[tensor];
    tensors += 1;
  }
  const { peak, plain_peak: plain } = plan.facts;
  const rows = plan.techniques.concat(plan.source !== 'plan' ? [] : [{
    name: 'packing', gained: placed - peak, taken: tensors, declined: 0, reason: 'against every tensor having its bytes to itself',
  }], plain === null ? [] : [{
    name: 'order, passes and reuse in place together', gained: plain - peak, taken: 1, declined: 0,
    reason: "against plain lives in the file's order, without any placement",
  }]);
  return new Table([
    { title: 'technique', value: (/** @type {import('./data.js').Technique} */ row) => row.name },
    { title: 'peak gained', value: (row) => row.gained, text: (row) => formatBytes(row.gained) },
    { title: 'places taken', value: (row) => row.taken, text: (row) => formatCount(row.taken) },
    { title: 'places declined', value: (row) => row.declined, text: (row) => formatCount(row.declined) },
    { title: 'why', value: (row) => row.reason },
  ], rows, { sortBy: 1, empty: 'No technique was tried, or the file does not tell.' });
}

/** @param {Plan} plan */
export function portTable(plan) {
  const refused = plan.ports.filter((port) => !port.inPlace);
  return new Table([
    { title: 'input or output', value: (/** @type {import('./data.js').Port} */ port) => port.name },
    { title: 'is', value: (port) => (port.input ? 'input' : 'output') },
    { title: 'why it is copied', value: (port) => port.reason },
  ], refused, { empty: plan.ports.length === 0 ? 'The file does not tell.'
    : 'None: all ' + formatCount(plan.ports.length) + ' inputs and outputs are used where the caller has them.' });
}

/** @param {Plan} plan @returns {{root: HTMLElement}} */
export function noteList(plan) {
  const items = [['what is shown', plan.subject]].concat(plan.notes)
    .map(([who, text]) => element('li', {}, [element('b', {}, [who]), ': ' + text]));
  const regions = plan.regions.map((region) => element('li', {}, [
    element('b', {}, [region.name]), ': ' + formatBytes(region.bytes) +
    (region.lowerBound > 0 ? ', lower bound ' + formatBytes(region.lowerBound) : '') +
    (region.fromDevice ? '' : ', not taken from the device')]));
  return { root: element('div', { class: 'notes' }, [
    element('h3', {}, ['Regions']), element('ul', {}, regions), element('h3', {}, ['Notes']), element('ul', {}, items)]) };
}

/**
 * What two plans hold at their peaks, by name.
 * @param {Plan} before
 * @param {Plan} after
 * @param {(name: string) => void} pick
 */
export function changeTable(before, after, pick) {
  /** @type {Map<string, {name: string, before: number, after: number}>} */
  const rows = new Map();
  /** @param {Plan} plan @param {'before' | 'after'} side */
  const add = (plan, side) => {
    for (const tensor of plan.ownersAt(plan.peakStep, plan.mainRegion)) {
      const name = plan.nameOf(tensor);
      const row = rows.get(name) || { name, before: 0, after: 0 };
      row[side] += plan.bytes[tensor];
      rows.set(name, row);
    }
  };
  add(before, 'before');
  add(after, 'after');
  return new Table([
    { title: 'tensor', value: (row) => row.name },
    { title: 'change', value: (row) => row.after - row.before, text: (row) => formatChange(row.after - row.before) },
    { title: 'at the peak of ' + before.name, value: (row) => row.before, text: (row) => formatBytes(row.before) },
    { title: 'at the peak of ' + after.name, value: (row) => row.after, text: (row) => formatBytes(row.after) },
    { title: 'size of the change', value: (row) => Math.abs(row.after - row.before), text: (row) => formatBytes(Math.abs(row.after - row.before)) },
  ], Array.from(rows.values()), { sortBy: 4, pick: (row) => pick(row.name) });
}
