// Numbers and cells as text.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/**
 * "512 B", "1.5 KiB", "97.7 MiB": four significant figures at most.
 * @param {number} bytes
 * @returns {string}
 */
export function formatBytes(bytes) {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1024 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit += 1;
  }
  const text = unit === 0 ? String(value) : String(Number(value.toPrecision(4)));
  return (bytes < 0 ? '-' : '') + text + ' ' + UNITS[unit];
}

/**
 * @param {number} bytes
 * @returns {string} "+1.5 KiB", "-3 B", "0 B"
 */
export function formatChange(bytes) {
  return (bytes > 0 ? '+' : '') + formatBytes(bytes);
}

/**
 * @param {number} count
 * @returns {string} with a comma between thousands
 */
export function formatCount(count) {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/**
 * @param {number} microseconds
 * @returns {string}
 */
export function formatTime(microseconds) {
  if (microseconds >= 1e6) return Number((microseconds / 1e6).toPrecision(4)) + ' s';
  if (microseconds >= 1e3) return Number((microseconds / 1e3).toPrecision(4)) + ' ms';
  return Number(microseconds.toPrecision(4)) + ' µs';
}

/**
 * @param {number} part
 * @param {number} whole
 * @returns {string} "12.3 %"
 */
export function formatShare(part, whole) {
  return whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '0.0 %';
}

/**
 * @param {number} share of a roofline; NaN: not known
 * @returns {string} "63 %"
 */
export function formatRoofline(share) {
  return Number.isNaN(share) ? '-' : (100 * share).toFixed(0) + ' %';
}

/**
 * A cell as RFC 4180 has it. Text that a spreadsheet would take for a formula gets a quote before it.
 * @param {string | number} value
 * @returns {string}
 */
export function csvCell(value) {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

/**
 * Round numbers between two ends, for an axis.
 * @param {number} begin
 * @param {number} end
 * @param {number} most how many at most
 * @param {number} base 2 for bytes, 10 for others
 * @returns {number[]}
 */
export function axisTicks(begin, end, most, base) {
  const span = end - begin;
  if (!(span > 0) || most < 1) return [];
  let step = base === 2 ? Math.pow(2, Math.ceil(Math.log2(span / most)))
    : Math.pow(10, Math.floor(Math.log10(span / most)));
  if (base === 10) {
    const factor = [1, 2, 5, 10].find((candidate) => span / (step * candidate) <= most);
    step *= factor === undefined ? 10 : factor;
  }
  const ticks = [];
  for (let tick = Math.ceil(begin / step) * step; tick <= end; tick += step) ticks.push(tick);
  return ticks;
}
