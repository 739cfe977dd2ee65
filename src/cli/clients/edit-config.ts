import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../model/record.ts';
import { ConfigProblem, type ConfigSyntax, type ConfigTable } from './config-value.ts';
import { JSON_SYNTAX } from './json-syntax.ts';
import { TOML_SYNTAX } from './toml-syntax.ts';

export const CONFIG_SYNTAXES: Readonly<Record<'json' | 'toml', ConfigSyntax>> = {
  json: JSON_SYNTAX,
  toml: TOML_SYNTAX,
};

/** The new text of a file (undefined: no file), or the reason why the file must stay unchanged. */
export type EditedConfig =
  | { readonly ok: true; readonly text: string | undefined }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly line?: number;
      /** True if the user could make the change by hand. */
      readonly byHand: boolean;
    };

/**
 * Changes the values of a file. The new text is parsed again: if its values are not exactly those
 * that `change` returned, the file must stay unchanged. `change` may throw a ConfigProblem.
 */
export function editConfig(
  syntax: ConfigSyntax,
  text: string | undefined,
  change: (have: ConfigTable) => ConfigTable,
): EditedConfig {
  try {
    const have = text === undefined ? {} : syntax.parse(text);
    const want = change(have);
    if (isDeepStrictEqual(have, want)) return { ok: true, text };
    const after = text === undefined ? syntax.write(want) : syntax.rewrite(text, want);
    if (isDeepStrictEqual(valuesOf(syntax, after), want)) return { ok: true, text: after };
    return { ok: false, byHand: true, reason: 'it cannot be edited without changing other settings' };
  } catch (error) {
    if (!(error instanceof ConfigProblem)) throw error;
    const { line, keys, byHand = true } = error.place;
    const at = line ?? (text === undefined || keys === undefined ? undefined : syntax.lineOf(text, keys));
    return { ok: false, byHand, reason: error.message, ...defined({ line: at }) };
  }
}

/** The values of a text; undefined if it cannot be parsed. */
export function valuesOf(syntax: ConfigSyntax, text: string): ConfigTable | undefined {
  try {
    return syntax.parse(text);
  } catch (error) {
    if (error instanceof ConfigProblem) return undefined;
    throw error;
  }
}
