// Parts of the document. Texts of the data are only ever set as text, never as markup.

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} [children]
 * @returns {HTMLElement}
 */
export function element(tag, attributes, children) {
  const made = document.createElement(tag);
  Object.entries(attributes || {}).forEach(([name, value]) => made.setAttribute(name, value));
  (children || []).forEach((child) => made.append(child));
  return made;
}

/**
 * @param {string} text
 * @param {() => void} act
 * @param {Record<string, string>} [attributes]
 * @returns {HTMLElement}
 */
export function button(text, act, attributes) {
  const made = element('button', { type: 'button', ...(attributes || {}) }, [text]);
  made.addEventListener('click', act);
  return made;
}

/** @param {string} id @returns {HTMLElement} */
export function part(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error('the page has no part ' + id);
  return found;
}

/** @param {string} id @returns {HTMLCanvasElement} */
export function canvasPart(id) { return /** @type {HTMLCanvasElement} */ (part(id)); }

/** @param {string} id @returns {HTMLInputElement} */
export function inputPart(id) { return /** @type {HTMLInputElement} */ (part(id)); }

/** @param {HTMLElement} parent @param {(Node | string)[]} children */
export function replaceChildren(parent, children) { parent.replaceChildren(...children); }

/**
 * One of several parts is shown: buttons as tabs, also by arrow keys.
 * @param {HTMLElement} list where the tabs go
 * @param {HTMLElement} panel what they control
 * @param {{name: string, show: () => void}[]} tabs
 * @param {number} [first] the one that is shown at first
 * @returns {(index: number) => void} shows one
 */
export function makeTabs(list, panel, tabs, first) {
  list.setAttribute('role', 'tablist');
  panel.setAttribute('role', 'tabpanel');
  /** @type {HTMLElement[]} */
  const buttons = [];
  /** @param {number} index */
  const show = (index) => {
    buttons.forEach((tab, i) => {
      tab.setAttribute('aria-selected', String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
    });
    tabs[index].show();
  };
  tabs.forEach((tab, i) => buttons.push(button(tab.name, () => show(i), { role: 'tab' })));
  list.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const now = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (step === 0 || now < 0) return;
    const next = (now + step + buttons.length) % buttons.length;
    show(next);
    buttons[next].focus();
    event.preventDefault();
  });
  replaceChildren(list, buttons);
  show(first || 0);
  return show;
}

/**
 * @param {string} text
 * @returns {Promise<void>}
 */
export async function copyText(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch (refused) {
      // The older way below needs no permission.
    }
  }
  const area = /** @type {HTMLTextAreaElement} */ (element('textarea', { class: 'off-screen' }));
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
