// Colours of the pictures, for both themes.

import { KINDS } from './data.js';

/** @typedef {[number, number, number]} Rgb */

/**
 * @typedef {object} Theme
 * @property {Rgb} background
 * @property {Rgb} hole never or not now used, inside what is reserved
 * @property {string} text
 * @property {string} faint axes and grids
 * @property {string} accent what is chosen
 * @property {string} peak
 * @property {string} limit
 * @property {string[]} plans lines of several plans
 * @property {Rgb[]} kinds by KINDS
 */

/** @type {Record<string, Theme>} */
const THEMES = {
  light: {
    background: [255, 255, 255],
    hole: [234, 236, 240],
    text: '#1b1f27',
    faint: '#8b93a1',
    accent: '#0b57d0',
    peak: '#b3261e',
    limit: '#8a4b00',
    plans: ['#0b57d0', '#b35900', '#00705a', '#8430ce'],
    kinds: [[92, 148, 222], [150, 158, 172], [226, 158, 62], [70, 170, 140], [38, 128, 104], [158, 116, 206],
      [214, 106, 122], [196, 180, 74], [92, 148, 222]],
  },
  dark: {
    background: [19, 22, 28],
    hole: [38, 43, 52],
    text: '#e8eaef',
    faint: '#7c8595',
    accent: '#8ab4f8',
    peak: '#ff8a80',
    limit: '#ffb870',
    plans: ['#8ab4f8', '#ffb870', '#6fd8be', '#d0a2ff'],
    kinds: [[74, 124, 192], [108, 116, 132], [196, 134, 50], [56, 146, 120], [36, 112, 92], [138, 98, 184],
      [186, 88, 104], [168, 152, 60], [74, 124, 192]],
  },
};

/** @param {boolean} dark @returns {Theme} */
export function themeOf(dark) { return dark ? THEMES.dark : THEMES.light; }

/** @param {Rgb} colour @returns {string} */
export function cssColour(colour) { return 'rgb(' + colour.join(',') + ')'; }

/** @param {Rgb} from @param {Rgb} to @param {number} share of `to` @returns {Rgb} */
export function mixColours(from, to, share) {
  /** @param {number} i */
  const mixed = (i) => Math.round(from[i] + (to[i] - from[i]) * share);
  return [mixed(0), mixed(1), mixed(2)];
}

/** @param {Rgb} colour @returns {number} a pixel of canvas memory (RGBA, lowest byte first) */
export function pixelOf(colour) {
  return ((255 << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0]) >>> 0;
}

const SHADES = 4;

/**
 * Pixels by colour class and shade, so that neighbours of one kind can be told apart.
 */
export class Palette {
  /** @param {Theme} theme @param {Rgb[]} colours */
  constructor(theme, colours) {
    const size = colours.length * SHADES;
    this.normal = new Uint32Array(size);
    this.dimmed = new Uint32Array(size);
    this.edge = new Uint32Array(size);
    colours.forEach((colour, i) => {
      for (let shade = 0; shade < SHADES; shade += 1) {
        const shaded = mixColours(colour, theme.background, shade * 0.11);
        this.normal[i * SHADES + shade] = pixelOf(shaded);
        this.dimmed[i * SHADES + shade] = pixelOf(mixColours(shaded, theme.hole, 0.82));
        this.edge[i * SHADES + shade] = pixelOf(mixColours(shaded, theme.background, 0.45));
      }
    });
  }

  /** @param {number} colour @param {number} tensor @returns {number} index into the tables */
  at(colour, tensor) { return colour * SHADES + (Math.imul(tensor, 0x9e3779b1) >>> 30); }
}

const WHEEL_SIZE = 16;

/** @param {boolean} dark @returns {Rgb[]} well separated hues, for modules and operators */
export function colourWheel(dark) {
  return Array.from({ length: WHEEL_SIZE }, (_, i) => {
    const hue = (i * 0.618034) % 1;
    /** @param {number} third */
    const channel = (third) => {
      const wave = Math.cos(2 * Math.PI * (hue - third)) * 0.5 + 0.5;
      return Math.round((dark ? 60 : 90) + wave * (dark ? 130 : 140));
    };
    return /** @type {Rgb} */ ([channel(0), channel(1 / 3), channel(2 / 3)]);
  });
}

/** @param {number} string number of a text @returns {number} its place on the colour wheel */
export function wheelPlace(string) { return (Math.imul(string, 0x9e3779b1) >>> 16) % WHEEL_SIZE; }

/** @param {Theme} theme @returns {{name: string, colour: string}[]} what the map's colours mean */
export function legendOf(theme) {
  const rows = KINDS.map((name, i) => ({ name, colour: cssColour(theme.kinds[i]) })).filter((row) => row.name !== 'unknown');
  rows.push({ name: 'free', colour: cssColour(theme.hole) });
  return rows;
}
