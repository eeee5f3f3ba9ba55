// Runs last: the data of the page becomes what is shown.

import { Page, showProblem } from './page.js';
import { part } from './elements.js';
import { readReport } from './data.js';

try {
  const page = new Page(readReport(part('plimsoll-data').textContent || ''));
  Object.defineProperty(window, 'plimsollPage', { value: page });
} catch (problem) {
  showProblem(problem);
  throw problem;
}
