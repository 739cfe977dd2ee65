import * as languages from '@speed-highlight/core/languages';
import { type ShjLanguageData, tokenizeWith } from '@speed-highlight/core/tokenize';
import type { Token } from './colours.ts';

// The cast is safe: only `exactOptionalPropertyTypes` tells the two types apart.
const LANGUAGES = languages as unknown as Readonly<Record<string, ShjLanguageData>>;

/** Languages whose name is not the ending of their files. */
const NAMES: Readonly<Record<string, keyof typeof languages>> = {
  bashrc: 'bash',
  cc: 'c',
  cjs: 'js',
  cpp: 'c',
  cs: 'java',
  cts: 'ts',
  dockerfile: 'docker',
  h: 'c',
  hpp: 'c',
  htm: 'html',
  jsonc: 'json',
  jsx: 'js',
  kt: 'java',
  makefile: 'make',
  mjs: 'js',
  mts: 'ts',
  pyi: 'py',
  scss: 'css',
  sh: 'bash',
  svelte: 'html',
  svg: 'xml',
  tsx: 'ts',
  vue: 'html',
  yml: 'yaml',
  zsh: 'bash',
};

/**
 * The tokens of a text in the language of a path. Undefined if the language is not known, or if the
 * tokens are not exactly the text.
 */
export function tokenize(text: string, path: string): readonly Token[] | undefined {
  const ending = path.slice(Math.max(path.lastIndexOf('.'), path.lastIndexOf('/')) + 1).toLowerCase();
  const name = NAMES[ending] ?? ending;
  const language = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  if (language === undefined || name === 'plain') return undefined;
  const tokens: Token[] = [];
  tokenizeWith(text, language, (part, type) => void tokens.push({ text: part, type }), {
    languages: LANGUAGES,
  });
  return tokens.map((token) => token.text).join('') === text ? tokens : undefined;
}
