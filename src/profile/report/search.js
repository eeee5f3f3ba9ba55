// Search by name.

/** @typedef {import('./data.js').Plan} Plan */

/**
 * Tensors whose name, or that of a value in the same bytes, or whose operator or module holds the text, whatever the case.
 * @param {Plan} plan
 * @param {string} text
 * @returns {Uint8Array} 1 for those found, by tensor
 */
export function findTensors(plan, text) {
  const wanted = text.toLowerCase();
  const holds = Uint8Array.from(plan.strings, (string) => (string.toLowerCase().includes(wanted) ? 1 : 0));
  const found = Uint8Array.from(plan.tensorName, (name) => holds[name]);
  for (let tensor = 0; tensor < plan.count; tensor += 1) {
    const step = plan.producer[tensor];
    if (step >= 0 && (holds[plan.stepName[step]] || holds[plan.stepModule[step]])) found[tensor] = 1;
  }
  plan.memberRows.forEach((rows, tensor) => {
    if (rows.some((row) => holds[plan.memberJson.name[row]])) found[tensor] = 1;
  });
  return found;
}
