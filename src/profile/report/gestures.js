// Wheel, drag, click and keys on a picture.

/** @typedef {import('./view.js').View} View */

/**
 * @typedef {object} Actions
 * @property {() => void} changed the view is another
 * @property {(x: number, y: number) => void} hover CSS pixels in the canvas
 * @property {() => void} leave
 * @property {(x: number, y: number) => void} click
 * @property {(x: number, y: number) => void} [doubleClick]
 * @property {(key: string) => boolean} [key] whether it was one of the picture's own
 */

const DRAG_STARTS = 4;

/**
 * @param {HTMLCanvasElement} canvas
 * @param {View} view
 * @param {() => {left: number, width: number, height: number}} plot where the axes are, in CSS pixels
 * @param {Actions} actions
 */
export function addGestures(canvas, view, plot, actions) {
  /** @type {{x: number, y: number, moved: boolean} | null} */
  let drag = null;
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const { left, width, height } = plot();
    const factor = Math.exp(Math.max(-1, Math.min(1, (event.deltaY || event.deltaX) / 300)));
    if (event.shiftKey) {
      view.zoomY(factor, Math.min(1, Math.max(0, 1 - event.offsetY / height)));
    } else {
      view.zoomX(factor, Math.min(1, Math.max(0, (event.offsetX - left) / width)));
    }
    actions.changed();
  }, { passive: false });
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    drag = { x: event.offsetX, y: event.offsetY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag === null) {
      actions.hover(event.offsetX, event.offsetY);
      return;
    }
    const dx = event.offsetX - drag.x;
    const dy = event.offsetY - drag.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < DRAG_STARTS) return;
    const { width, height } = plot();
    view.pan(-dx / width, dy / height);
    drag = { x: event.offsetX, y: event.offsetY, moved: true };
    actions.leave();
    actions.changed();
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag !== null && !drag.moved) actions.click(event.offsetX, event.offsetY);
    drag = null;
  });
  canvas.addEventListener('pointercancel', () => { drag = null; });
  canvas.addEventListener('pointerleave', () => actions.leave());
  canvas.addEventListener('dblclick', (event) => {
    if (actions.doubleClick) actions.doubleClick(event.offsetX, event.offsetY);
  });
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(actions.key && actions.key(event.key)) && !moveByKey(view, event.key)) return;
    event.preventDefault();
    actions.changed();
  });
}

/**
 * @param {View} view
 * @param {string} key
 * @returns {boolean} whether it moved the view
 */
export function moveByKey(view, key) {
  /** @type {Record<string, () => void>} */
  const moves = {
    ArrowLeft: () => view.pan(-0.1, 0),
    ArrowRight: () => view.pan(0.1, 0),
    ArrowUp: () => view.pan(0, 0.1),
    ArrowDown: () => view.pan(0, -0.1),
    '+': () => view.zoomX(0.7, 0.5),
    '=': () => view.zoomX(0.7, 0.5),
    '-': () => view.zoomX(1 / 0.7, 0.5),
    PageUp: () => view.zoomY(0.7, 0.5),
    PageDown: () => view.zoomY(1 / 0.7, 0.5),
    0: () => view.reset(),
    Home: () => view.reset(),
  };
  if (!Object.prototype.hasOwnProperty.call(moves, key)) return false;
  moves[key]();
  return true;
}
