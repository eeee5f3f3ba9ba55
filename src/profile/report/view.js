// The part of the axes that is shown, common to all pictures of the page.

/**
 * @param {number} begin
 * @param {number} end
 * @param {number} most
 * @param {number} least span
 * @returns {[number, number]} moved into 0 to most
 */
function clampRange(begin, end, most, least) {
  const span = Math.min(Math.max(end - begin, least), most);
  const centre = (begin + end) / 2;
  const start = Math.min(Math.max(centre - span / 2, 0), most - span);
  return [start, start + span];
}

export class View {
  constructor() {
    this.xMost = 1;
    this.yMost = 1;
    this.xLeast = 1;
    this.xBegin = 0;
    this.xEnd = 1;
    this.yBegin = 0;
    this.yEnd = 1;
  }

  reset() {
    this.xBegin = 0;
    this.xEnd = this.xMost;
    this.yBegin = 0;
    this.yEnd = this.yMost;
  }

  /**
   * @param {number} xMost
   * @param {number} yMost
   * @param {number} xLeast the shortest span to zoom to
   */
  setExtent(xMost, yMost, xLeast) {
    this.xMost = Math.max(xMost, 1e-9);
    this.yMost = Math.max(yMost, 1);
    this.xLeast = xLeast;
    this.reset();
  }

  /** @param {number} begin @param {number} end */
  showX(begin, end) { [this.xBegin, this.xEnd] = clampRange(begin, end, this.xMost, this.xLeast); }

  /** @param {number} begin @param {number} end */
  showY(begin, end) { [this.yBegin, this.yEnd] = clampRange(begin, end, this.yMost, 64); }

  /** @param {number} factor @param {number} share place that stays, 0 to 1 of the width */
  zoomX(factor, share) {
    const span = this.xEnd - this.xBegin;
    const at = this.xBegin + span * share;
    this.showX(at - span * factor * share, at + span * factor * (1 - share));
  }

  /** @param {number} factor @param {number} share of the height, from below */
  zoomY(factor, share) {
    const span = this.yEnd - this.yBegin;
    const at = this.yBegin + span * share;
    this.showY(at - span * factor * share, at + span * factor * (1 - share));
  }

  /** @param {number} dx shares of the width @param {number} dy of the height */
  pan(dx, dy) {
    const x = (this.xEnd - this.xBegin) * dx;
    const y = (this.yEnd - this.yBegin) * dy;
    this.showX(this.xBegin + x, this.xEnd + x);
    this.showY(this.yBegin + y, this.yEnd + y);
  }
}
