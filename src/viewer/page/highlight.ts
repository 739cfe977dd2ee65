import * as languages from '@speed-highlight/core/languages';
import { type ShjLanguageData, tokenizeWith } from '@speed-highlight/core/tokenize';

/** A part of a text, and the kind of syntax that it is. */
export interface Token {
  readonly text: string;
  readonly type?: string | undefined;
}

// The cast is safe: only `exactOptionalPropertyTypes` tells the two types apart.
const LANGUAGES = languages as unknown as Readonly<Record<string, ShjLanguageData>>;

/** Endings of files, for languages that have more than their name. */
const ENDINGS: Readonly<Record<string, string>> = {
  bash: 'sh zsh bashrc',
  c: 'h cc cpp hpp',
  css: 'scss',
  docker: 'dockerfile',
  html: 'htm vue svelte',
  java: 'cs kt',
  js: 'cjs mjs jsx',
  json: 'jsonc',
  make: 'makefile',
  py: 'pyi',
  ts: 'cts mts tsx',
  xml: 'svg',
  yaml: 'yml',
};

/**
 * The tokens of a text in the language of a path. Undefined if the language is not known, or if the
 * tokens are not exactly the text.
 */
export function tokenize(text: string, path: string): readonly Token[] | undefined {
  const ending = path.slice(Math.max(path.lastIndexOf('.'), path.lastIndexOf('/')) + 1).toLowerCase();
  const [name = ending] = Object.keys(ENDINGS).filter((each) => ENDINGS[each]?.split(' ').includes(ending));
  const language = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  if (language === undefined || name === 'plain') return undefined;
  const tokens: Token[] = [];
  tokenizeWith(text, language, (part, type) => void tokens.push({ text: part, type }), {
    languages: LANGUAGES,
  });
  return tokens.map((token) => token.text).join('') === text ? tokens : undefined;
}
