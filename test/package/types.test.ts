import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../support/tree.ts';

const project = join(import.meta.dirname, '../..');

/** A program that passes `undefined` for every option, as wrappers do. */
const CONSUMER = `
import { currentSession, openJournal, openSession, Sessions, toolset, explain, straightenQuotes, type CallOptions, type FileIntent, type Outcome, type ReadResult, type Session, type SessionOptions, type ToolsetOptions } from 'lookfirst';
import { serveStdio, type StdioServerOptions } from 'lookfirst/mcp';

declare const signal: AbortSignal | undefined;
declare const text: string | undefined;
declare const flag: boolean | undefined;
declare const count: number | undefined;

const call: CallOptions = { signal, cwd: text };
const opening: SessionOptions = {
  roots: ['/repo'], readOnlyRoots: undefined, session: text, store: text, home: text, cwd: text, preset: undefined,
  policy: undefined, policyFile: text, require: undefined, now: undefined,
};
const tools: ToolsetOptions = {
  dialect: undefined, readOnly: flag, only: undefined, commands: flag, rename: undefined, virtualRoot: text,
};
const served: StdioServerOptions = {
  roots: ['/repo'], dialect: undefined, session: text, readOnly: flag, commands: flag, log: undefined,
  input: undefined, output: undefined,
};
const changes: readonly FileIntent[] = [
  { kind: 'write', path: 'a', content: 'x', expectedRevision: text, makeParents: flag, overwrite: flag, mode: count },
  { kind: 'edit', path: 'a', edits: [{ oldString: 'a', newString: 'b', replaceAll: flag, lines: undefined }], moveTo: text },
  { kind: 'insert', path: 'a', content: 'x', afterLine: count, expectedRevision: text },
  { kind: 'delete', path: 'a', recursive: flag },
  { kind: 'move', source: 'a', destination: 'b', makeParents: flag, overwrite: flag },
];

export async function use(): Promise<void> {
  const session: Session = await openSession(opening);
  const read: Outcome<ReadResult> = await session.read('a', { ...call, offset: count, limit: count, last: count, maxBytes: count, raw: flag, credit: flag, onProgress: undefined });
  if (!read.ok) console.log(explain(read.refusal, { nowMs: 0, tools: undefined, wording: undefined }));
  await session.write('a', 'x', { ...call, expectedRevision: text, makeParents: flag });
  await session.edit('a', [], { ...call, expectedRevision: text, withDiff: flag });
  await session.insert('a', 'x', { ...call, afterLine: count, expectedRevision: text });
  await session.append('a', 'x', call);
  await session.apply(changes, { ...call, dryRun: flag });
  await session.patch({ format: 'v4a', text: '' }, { ...call, dryRun: flag });
  await session.delete('a', { ...call, recursive: flag });
  await session.move('a', 'b', { ...call, makeParents: flag, overwrite: flag });
  await session.copy('a', 'b', { ...call, makeParents: flag, overwrite: flag });
  await session.mkdir('a', call);
  await session.list(text, { ...call, depth: count, limit: count, after: text, as: undefined, links: undefined, onProgress: undefined });
  await session.find('*', { ...call, path: text, limit: count, onProgress: undefined });
  await session.search('x', { ...call, path: text, glob: text, exclude: text, mode: undefined, context: count, ignoreCase: flag, literal: flag, wholeWord: flag, limit: count });
  await session.status(text, call);
  await session.undo({ change: text, path: text, session: text, sinceMs: count, preview: flag, merge: flag }, call);
  await session.run('true', { ...call, profile: undefined, network: undefined, timeoutMs: count, writes: undefined, output: undefined });
  await session.vet({ kind: 'apply', changes, dryRun: flag }, call);
  await session.announce(changes, { ...call, hold: undefined, tool: text, call: text, tell: undefined });
  await session.witness({ kind: 'read', path: 'a', ranges: undefined, redacted: flag, clamped: flag, content: text }, call);
  await session.beginTurn({ turn: 't', prompt: text, promptNumber: count }, { signal });
  await session.resumeFrom([], { format: undefined, cwd: text, signal });
  const stale = await session.checkStaleness('a', call);
  if (stale.ok && stale.seen !== undefined) console.log(stale.seen.sha256, stale.seen.at, stale.now?.mtimeMs);
  const child: Session = await session.child(text, { signal });
  await child.importSightings(await session.exportSightings({ signal }), { signal });
  for (const tool of toolset(currentSession, tools).tools) {
    const answer = await tool.call({}, { signal, onProgress: undefined });
    for (const { mimeType, base64 } of answer.media ?? []) console.log(mimeType, base64, answer.text, answer.outcome.ok);
    console.log(tool.inputSchema.type, tool.strictSchema.type);
  }
  const journal = await openJournal({ home: text, store: text });
  for await (const entry of journal.entries({ session: text, kinds: undefined, limit: count })) console.log(entry.seq);
  const sessions = await Sessions.open({ roots: ['/repo'], cwd: text });
  await sessions.run('id', () => straightenQuotes('x'));
  await serveStdio(served);
}
`;

it('every option accepts undefined under exactOptionalPropertyTypes, and the types compile without skipLibCheck', () => {
  const { root } = scratch();
  mkdirSync(join(root, 'node_modules/@types'), { recursive: true });
  symlinkSync(project, join(root, 'node_modules/lookfirst'));
  symlinkSync(join(project, 'node_modules/@types/node'), join(root, 'node_modules/@types/node'));
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    module: 'nodenext',
    target: 'es2023',
    noEmit: true,
    types: ['node'],
  };
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(join(root, 'consumer.ts'), CONSUMER);
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  const tsc = join(project, 'node_modules/typescript/bin/tsc');
  const run = spawnSync(process.execPath, [tsc, '-p', root], { cwd: root, encoding: 'utf8' });
  expect(run.stdout + run.stderr).toBe('');
});
