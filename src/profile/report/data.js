// What the page shows: plans read from the JSON that stands in the page.

/**
 * @typedef {object} Region
 * @property {string} name
 * @property {string} kind
 * @property {number} bytes
 * @property {number} lowerBound
 * @property {boolean} fromDevice
 */

/**
 * @typedef {object} Technique
 * @property {string} name
 * @property {number} taken
 * @property {number} declined
 * @property {number} gained
 * @property {string} reason
 */

/**
 * @typedef {object} Port
 * @property {string} name
 * @property {boolean} input
 * @property {boolean} inPlace
 * @property {string} reason
 */

/**
 * A value that lies in the bytes of a tensor.
 * @typedef {object} Member
 * @property {string} name
 * @property {string} type
 * @property {string} shape
 * @property {number} offset in the tensor
 * @property {number} begin
 * @property {number} end
 */

/**
 * @typedef {object} Facts
 * @property {number} peak
 * @property {number} lower_bound
 * @property {number | null} order_lower_bound
 * @property {number | null} plain_peak
 * @property {number | null} limit
 * @property {number | null} device
 * @property {[number, number] | null} [machine] bytes and operations a second
 * @property {boolean} optimal_for_order
 */

/** Kinds of tensors, in the order of their numbers. */
export const KINDS = ['activation', 'weight', 'workspace', 'input', 'output', 'variable', 'cleared', 'copy',
  'unknown'];

/**
 * One plan or run. A tensor is a number below `count`, a step a number below `steps`.
 */
export class Plan {
  /** @param {any} json as the writer of the page has it */
  constructor(json) {
    const tensors = json.tensors;
    /** @type {string[]} */
    this.strings = json.strings;
    /** @type {string} */
    this.name = json.name;
    /** @type {string} "plan", "run" or "csv" */
    this.source = json.source;
    /** @type {string} */
    this.subject = json.subject;
    /** @type {Facts} */
    this.facts = json.facts;
    /** @type {Region[]} */
    this.regions = json.regions.map((/** @type {any[]} */ row) => ({
      name: row[0], kind: row[1], bytes: row[2], lowerBound: row[3], fromDevice: row[4],
    }));
    /** @type {number} the region that the waterline is of */
    this.mainRegion = json.main_region;
    this.stepName = Uint32Array.from(json.steps.name);
    this.stepType = Uint32Array.from(json.steps.type);
    this.stepModule = Uint32Array.from(json.steps.module);
    this.steps = this.stepName.length;
    const work = json.steps.work || { kernel: [], took: [], read: [], written: [], operations: [] };
    /** Whether it is known what steps did and how long that took. */
    this.hasWork = work.took.length === this.steps && this.steps > 0;
    this.stepKernel = Uint32Array.from(work.kernel);
    this.took = Float64Array.from(work.took);
    this.read = Float64Array.from(work.read);
    this.written = Float64Array.from(work.written);
    this.operations = Float64Array.from(work.operations);
    this.live = Float64Array.from(json.live);
    this.reserved = Float64Array.from(json.reserved);
    this.count = tensors.name.length;
    this.tensorName = Uint32Array.from(tensors.name);
    this.kind = Uint8Array.from(tensors.kind);
    this.type = Uint32Array.from(tensors.type);
    this.shape = Uint32Array.from(tensors.shape);
    this.bytes = Float64Array.from(tensors.bytes);
    this.offset = Float64Array.from(tensors.offset);
    this.region = Uint16Array.from(tensors.region);
    this.begin = Int32Array.from(tensors.begin);
    this.end = Int32Array.from(tensors.life, (life, i) => life + tensors.begin[i]);
    this.producer = Int32Array.from(tensors.producer);
    this.rule = Uint32Array.from(tensors.rule);
    this.readers = Int32Array.from(tensors.reader);
    this.firstReader = new Int32Array(this.count + 1);
    for (let i = 0; i < this.count; i += 1) this.firstReader[i + 1] = this.firstReader[i] + tensors.readers[i];
    this.memberJson = json.members;
    /** @type {Map<number, number[]>} tensor to rows of the members */
    this.memberRows = new Map();
    json.members.tensor.forEach((/** @type {number} */ tensor, /** @type {number} */ row) => {
      const rows = this.memberRows.get(tensor);
      if (rows) rows.push(row); else this.memberRows.set(tensor, [row]);
    });
    /** @type {Technique[]} */
    this.techniques = json.techniques.map((/** @type {any[]} */ row) => ({
      name: row[0], taken: row[1], declined: row[2], gained: row[3], reason: row[4],
    }));
    /** @type {Port[]} */
    this.ports = json.ports.map((/** @type {any[]} */ row) => ({
      name: row[0], input: row[1], inPlace: row[2], reason: row[3],
    }));
    /** @type {[string, string][]} */
    this.notes = json.notes;
    this.hasTimes = json.steps.time.length === this.steps + 1;
    this.times = Float64Array.from(this.hasTimes ? json.steps.time : [], (time) => time - json.steps.time[0]);
    this.indices = Float64Array.from({ length: this.steps + 1 }, (_, i) => i);
    this.peakStep = this.live.reduce((best, bytes, i) => (bytes > this.live[best] ? i : best), 0);
    this.drawingOrder = this.makeDrawingOrder();
    /** Where each region starts when all are shown, one above the other. */
    this.regionBase = new Float64Array(this.regions.length + 1);
    this.regions.forEach((region, i) => { this.regionBase[i + 1] = this.regionBase[i] + region.bytes; });
  }

  /** Large before small, so that small ones stay visible; those of about one size by address, since that draws faster. */
  makeDrawingOrder() {
    const size = Float64Array.from({ length: this.count }, (_, i) => (
      Math.floor(Math.log2(1 + this.bytes[i] * (this.end[i] - this.begin[i])) / 4)));
    return Uint32Array.from({ length: this.count }, (_, i) => i)
      .sort((a, b) => size[b] - size[a] || this.offset[b] - this.offset[a] || this.begin[a] - this.begin[b]);
  }

  /** @param {number} tensor */
  nameOf(tensor) { return this.strings[this.tensorName[tensor]]; }

  /** @param {number} tensor */
  kindOf(tensor) { return KINDS[this.kind[tensor]] || 'unknown'; }

  /** @param {number} step */
  stepText(step) {
    if (step < 0 || step >= this.steps) return '';
    const type = this.strings[this.stepType[step]];
    return this.strings[this.stepName[step]] + (type ? ' (' + type + ')' : '');
  }

  /** @param {number} step */
  kernelOf(step) { return this.hasWork ? this.strings[this.stepKernel[step]] : ''; }

  /**
   * The least time in which the machine can move a step's bytes and do its operations, as a part of the time that it took.
   * @param {number} step
   * @returns {number} NaN: not known
   */
  rooflineOf(step) {
    const machine = this.facts.machine;
    if (!this.hasWork || !machine || !(this.took[step] > 0)) return NaN;
    const least = Math.max((this.read[step] + this.written[step]) / machine[0], this.operations[step] / machine[1]);
    return least > 0 ? least * 1e6 / this.took[step] : NaN;
  }

  /** @param {number} tensor */
  moduleOf(tensor) {
    const step = this.producer[tensor];
    return step < 0 ? '' : this.strings[this.stepModule[step]];
  }

  /** @param {number} tensor */
  operatorOf(tensor) {
    const step = this.producer[tensor];
    return step < 0 ? '(before the run)' : this.strings[this.stepName[step]];
  }

  /** @param {number} tensor @returns {number[]} steps */
  readersOf(tensor) {
    return Array.from(this.readers.subarray(this.firstReader[tensor], this.firstReader[tensor + 1]));
  }

  /** @param {number} tensor @returns {Member[]} values in its bytes, itself not among them */
  membersOf(tensor) {
    const json = this.memberJson;
    return (this.memberRows.get(tensor) || []).map((row) => ({
      name: this.strings[json.name[row]], type: this.strings[json.type[row]], shape: this.strings[json.shape[row]],
      offset: json.offset[row], begin: json.begin[row], end: json.begin[row] + json.life[row],
    }));
  }

  /**
   * Where steps lie on the x axis; one more than there are steps.
   * @param {boolean} byTime
   */
  positions(byTime) { return byTime && this.hasTimes ? this.times : this.indices; }

  /**
   * The step that holds a place on the x axis.
   * @param {number} x
   * @param {boolean} byTime
   */
  stepAt(x, byTime) {
    const positions = this.positions(byTime);
    let low = 0;
    let high = this.steps - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (positions[middle] <= x) low = middle; else high = middle - 1;
    }
    return low;
  }

  /**
   * Tensors of a region that live at a step, largest first.
   * @param {number} step
   * @param {number} region -1: of all
   */
  ownersAt(step, region) {
    /** @type {number[]} */
    const owners = [];
    for (let i = 0; i < this.count; i += 1) {
      if (this.begin[i] <= step && step < this.end[i] && (region < 0 || this.region[i] === region)) owners.push(i);
    }
    return owners.sort((a, b) => this.bytes[b] - this.bytes[a]);
  }

  /** @param {number} a @param {number} b tensors that both live at some step */
  conflict(a, b) {
    return this.region[a] === this.region[b] && this.begin[a] < this.end[b] && this.begin[b] < this.end[a];
  }
}

/**
 * @typedef {object} Report
 * @property {string} title
 * @property {string} madeBy
 * @property {Plan[]} plans
 */

/**
 * @param {string} text
 * @returns {Report}
 */
export function readReport(text) {
  const json = JSON.parse(text);
  if (json.format !== 'plimsoll-report' || json.version !== 1) throw new Error('not a report of version 1');
  return { title: json.title, madeBy: json.made_by, plans: json.plans.map((/** @type {any} */ plan) => new Plan(plan)) };
}
