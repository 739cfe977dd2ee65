import { describe, expect, it } from 'vitest';
import type { ClientName } from './client.ts';
import type { ConfigTable } from './config-value.ts';
import { CONFIG_SYNTAXES, type EditedConfig, editConfig } from './edit-config.ts';
import { type ClientHooks, HOOK_SETTINGS, type HookPiece } from './hook-settings.ts';
import { withoutPieces, withPieces } from './pieces.ts';

function addPieces(
  text: string | undefined,
  pieces: readonly HookPiece[],
  header?: ConfigTable,
): EditedConfig {
  return editConfig(CONFIG_SYNTAXES.json, text, (have) => withPieces(have, pieces, header));
}

/** Removes the pieces from a file that held `former` before `init`. */
function removePieces(text: string | undefined, pieces: readonly HookPiece[], former = '{}'): EditedConfig {
  return editConfig(CONFIG_SYNTAXES.json, text, (have) =>
    withoutPieces(have, pieces, CONFIG_SYNTAXES.json.parse(former)),
  );
}

const FILES = {
  script: '/state/bin/lookfirst-hook',
  plugin: '/state/bin/lookfirst-opencode.js',
  shell: '/state/bin/lookfirst-shell',
};
const CLIENTS = Object.entries(HOOK_SETTINGS) as [ClientName, ClientHooks][];

const EXISTING = [
  [
    'a file with other hooks',
    '{\n  // mine\n  "hooks": {\n    "PreToolUse": [\n      { "matcher": "Bash", "hooks": [] }\n    ]\n  }\n}\n',
  ],
  ['lists on one line', '{"plugin": [ "a", "b" ], "hooks": {"BeforeTool": [{"x": 1}]}, "z": [1,2]}'],
  [
    'tabs and CRLF',
    '{\r\n\t"model": "x",\r\n\t"permissions": {\r\n\t\t"deny": [\r\n\t\t\t"WebFetch"\r\n\t\t]\r\n\t}\r\n}\r\n',
  ],
  ['trailing commas', '{\n  "hooks": {\n    "PostToolUse": [\n      {"a": 1},\n    ],\n  },\n}\n'],
] as const;

describe.each(CLIENTS)('%s', (_name, settings) => {
  const layered = settings.shell === undefined ? [] : [settings.shell(FILES)];
  const pieces = [...settings.pieces(FILES), ...layered, ...(settings.only ?? [])];

  it('creates a file that JSON.parse accepts, with every piece', () => {
    const made = addPieces(undefined, pieces, settings.header);
    if (!made.ok || made.text === undefined) throw new Error('not made');
    const document = JSON.parse(made.text);
    for (const { at, item, kind } of pieces) {
      const value = at.reduce((outer, key) => outer[key], document);
      if (kind === 'member') expect(value).toBe(item);
      else expect(value).toContainEqual(item);
    }
  });

  it.each(EXISTING)('%s: adds every piece, and remove restores the former bytes', (_what, text) => {
    const added = addPieces(text, pieces, settings.header);
    if (!added.ok || added.text === undefined) throw new Error('not added');
    expect(added.text).not.toBe(text);
    for (const line of text.split(/\r?\n/).filter((each) => /\w/.test(each) && text.includes('\n')))
      expect(added.text).toContain(line);
    expect(removePieces(added.text, pieces, text)).toEqual({ ok: true, text });
  });

  it.each(EXISTING)('%s: adding twice gives the same result as adding once', (_what, text) => {
    const once = addPieces(text, pieces, settings.header);
    if (!once.ok) throw new Error('not added');
    expect(addPieces(once.text, pieces, settings.header)).toEqual(once);
  });
});

it.each(['{\n  // note\n}\n', '{ /* note */ }', '{ // note\n}', '// note\n'])(
  'keeps the comments of a file without members: %j',
  (text) => {
    const pieces = [{ at: ['plugin'], item: 'file:///state/bin/lookfirst-opencode.js' }];
    const added = addPieces(text, pieces);
    if (!added.ok || added.text === undefined) throw new Error('not added');
    expect(added.text).toContain('note');
    expect(CONFIG_SYNTAXES.json.parse(added.text)).toEqual({
      plugin: ['file:///state/bin/lookfirst-opencode.js'],
    });
    expect(removePieces(added.text, pieces)).toMatchObject({ text: expect.stringContaining('note') });
  },
);

it('does not change a file that is not JSON, and says where the error is', () => {
  expect(addPieces('{\n  "a": }', [])).toEqual({
    ok: false,
    reason: expect.stringContaining('JSON'),
    line: 2,
    byHand: true,
  });
});

it('refuses a file in which a value is in the place of a list', () => {
  const pieces = [{ at: ['hooks', 'PreToolUse'], item: { x: 1 } }];
  expect(addPieces('{"hooks": {"PreToolUse": "text"}}', pieces)).toMatchObject({ ok: false });
});

it('keeps a member that the user has set, and removes only ours', () => {
  const piece = { at: ['env', 'PREFIX'], kind: 'member', item: '/state/bin/lookfirst-shell' } as const;
  const text = '{"env": {"PREFIX": "mine"}}';
  expect(addPieces(text, [piece])).toEqual({ ok: true, text });
  expect(removePieces(text, [piece], text)).toEqual({ ok: true, text });
  const added = addPieces('{"env": {"A": "b"}}', [piece]);
  expect(added).toMatchObject({ ok: true, text: expect.stringContaining('lookfirst-shell') });
  if (added.ok) expect(removePieces(added.text, [piece])).toEqual({ ok: true, text: '{"env": {"A": "b"}}' });
});
