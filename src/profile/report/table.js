// A table that can be sorted, filtered and copied as CSV. Shows some rows at a time, whatever there are.

import { button, copyText, element, replaceChildren } from './elements.js';
import { csvCell, formatCount } from './format.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: Row) => string | number} value what is sorted by and copied
 * @property {(row: Row) => string} [text] what is shown; without it the value
 */

const FIRST_ROWS = 25;
const MORE_ROWS = 200;

/** @template Row */
export class Table {
  /**
   * @param {Column<Row>[]} columns
   * @param {Row[]} rows
   * @param {{sortBy?: number, pick?: (row: Row) => void, empty?: string}} options
   */
  constructor(columns, rows, options) {
    this.columns = columns;
    this.rows = rows;
    this.pick = options.pick;
    this.empty = options.empty || 'Nothing.';
    this.sortBy = options.sortBy === undefined ? -1 : options.sortBy;
    this.descending = true;
    this.shown = FIRST_ROWS;
    /** @type {Row[]} */
    this.matching = rows;
    this.filter = /** @type {HTMLInputElement} */ (element('input', {
      type: 'search', placeholder: 'filter', 'aria-label': 'filter the rows',
    }));
    this.status = element('span', { class: 'faint', role: 'status' });
    this.head = element('thead');
    this.body = element('tbody');
    this.more = button('show more', () => { this.shown += MORE_ROWS; this.fill(); }, { class: 'more' });
    const copy = button('copy as CSV', () => this.copy());
    this.root = element('div', { class: 'table' }, [
      element('div', { class: 'bar' }, [this.filter, copy, this.status]),
      element('div', { class: 'scroll' }, [element('table', {}, [this.head, this.body])]),
      this.more,
    ]);
    this.filter.addEventListener('input', () => { this.shown = FIRST_ROWS; this.update(); });
    this.update();
  }

  /** @param {Row} row @param {Column<Row>} column @returns {string} */
  textOf(row, column) { return column.text ? column.text(row) : String(column.value(row)); }

  csv() {
    const lines = [this.columns.map((column) => csvCell(column.title)).join(',')];
    for (const row of this.matching) lines.push(this.columns.map((column) => csvCell(column.value(row))).join(','));
    return lines.join('\r\n') + '\r\n';
  }

  async copy() {
    await copyText(this.csv());
    this.status.textContent = formatCount(this.matching.length) + ' rows copied';
  }

  /** @param {number} column */
  sort(column) {
    this.descending = column === this.sortBy ? !this.descending : true;
    this.sortBy = column;
    this.update();
  }

  update() {
    const wanted = this.filter.value.toLowerCase();
    this.matching = wanted === '' ? this.rows.slice() : this.rows.filter((row) => this.columns.some(
      (column) => this.textOf(row, column).toLowerCase().includes(wanted)));
    if (this.sortBy >= 0) {
      const value = this.columns[this.sortBy].value;
      const sign = this.descending ? -1 : 1;
      this.matching.sort((a, b) => {
        const x = value(a);
        const y = value(b);
        return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
      });
    }
    this.fill();
  }

  fill() {
    replaceChildren(this.head, [element('tr', {}, this.columns.map((column, i) => {
      const sorted = i === this.sortBy;
      const mark = sorted ? (this.descending ? ' ▼' : ' ▲') : '';
      return element('th', { scope: 'col', 'aria-sort': sorted ? (this.descending ? 'descending' : 'ascending') : 'none' },
        [button(column.title + mark, () => this.sort(i))]);
    }))]);
    replaceChildren(this.body, this.matching.slice(0, this.shown).map((row) => this.rowElement(row)));
    if (this.matching.length === 0) {
      this.body.append(element('tr', {}, [element('td', { colspan: String(this.columns.length) }, [this.empty])]));
    }
    this.more.hidden = this.matching.length <= this.shown;
    this.status.textContent = formatCount(Math.min(this.shown, this.matching.length)) + ' of ' +
      formatCount(this.matching.length) + ' rows';
  }

  /** @param {Row} row @returns {HTMLElement} */
  rowElement(row) {
    return element('tr', {}, this.columns.map((column, i) => {
      const text = this.textOf(row, column);
      const pick = this.pick;
      const content = i === 0 && pick ? button(text, () => pick(row), { class: 'link' }) : text;
      return element('td', { class: typeof column.value(row) === 'number' ? 'number' : '' }, [content]);
    }));
  }
}
