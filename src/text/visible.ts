import { clampLine } from './clamp.ts';

const MAX_LINE_CHARS = 160;
/** Characters that look like a space or like nothing. */
const INVISIBLE = /[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff]/g;

/** A bounded line with its white space visible: `→` a tab, `·` a leading or trailing space, `<U+00A0>` and the like by name. */
export function visibleLine(line: string): string {
  return clampLine(line, MAX_LINE_CHARS)
    .text.replaceAll('\t', '→')
    .replace(/^[ →]+|[ →]+$/g, (edge) => edge.replaceAll(' ', '·'))
    .replaceAll(INVISIBLE, (character) => `<U+${hex(character)}>`);
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
}
