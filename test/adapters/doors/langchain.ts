import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { type BackendProtocolV2, createDeepAgent } from 'deepagents';
import { ClearToolUsesEdit, contextEditingMiddleware, createAgent } from 'langchain';
import { openSession, type Session } from 'lookfirst';
import { LookfirstBackend, lookfirstMiddleware, lookfirstTools } from 'lookfirst/langchain';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../support/tree.ts';
import { type Call, type Door, type Run, type Shown, workspace } from '../conformance.ts';
import { LOOKFIRST_CALLS } from './calls.ts';

/** A model that makes the calls of a script, and keeps the messages it received last. */
class ScriptedModel extends BaseChatModel {
  readonly #left: Run['steps'][number][];
  #calls = 0;
  got: readonly BaseMessage[] = [];

  constructor(steps: Run['steps']) {
    super({});
    this.#left = [...steps];
  }

  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.got = messages;
    let step = this.#left.shift();
    while (typeof step === 'function') {
      step();
      step = this.#left.shift();
    }
    const tool_calls = (step ?? []).map(({ tool: name, args }) => {
      this.#calls += 1;
      return { name, args: { ...args }, id: `c${this.#calls}`, type: 'tool_call' as const };
    });
    const message = new AIMessage({ content: tool_calls.length === 0 ? 'done' : '', tool_calls });
    return { generations: [{ text: '', message }] };
  }
}

function shownIn(messages: readonly BaseMessage[]): Shown[] {
  const results = messages.filter((message): message is ToolMessage => message.getType() === 'tool');
  return results.map(({ content, status }) => {
    const flagged = status === 'error';
    if (typeof content === 'string') return { text: content, flagged };
    const texts = content.map((block) => ('text' in block ? String(block.text) : ''));
    const media = content.flatMap((block) => ('mimeType' in block ? [String(block['mimeType'])] : []));
    return { text: texts.join(''), flagged, media };
  });
}

/** Clears all tool results except the last one as soon as the conversation has five messages. */
const clearing = () =>
  contextEditingMiddleware({
    edits: [new ClearToolUsesEdit({ trigger: { messages: 5 }, keep: { messages: 1 } })],
  });

const GO = { messages: [new HumanMessage('go')] };

export const LANGCHAIN: Door = {
  name: 'LangChain',
  calls: LOOKFIRST_CALLS,
  run: async ({ session, steps, signal }) => {
    const model = new ScriptedModel(steps);
    const agent = createAgent({ model, middleware: [lookfirstMiddleware(session)] });
    await agent.invoke(GO, { recursionLimit: 100, ...(signal === undefined ? {} : { signal }) });
    return shownIn(model.got);
  },
  tools: (session: Session) => lookfirstTools(session).map(({ name }) => name),
  compacts: async ({ session }) => {
    const { read, write } = LOOKFIRST_CALLS;
    const middleware = [clearing(), lookfirstMiddleware(session)];
    const steps = [[read('a.txt')], [read('b.txt')], [write('a.txt', 'two\n')]];
    const model = new ScriptedModel(steps);
    await createAgent({ model, middleware }).invoke(GO);
    return shownIn(model.got).at(-1);
  },
  flags: true,
  images: true,
};

const call = (tool: string, path: string, args: object = {}): Call => ({
  tool,
  args: { file_path: `/${path}`, ...args },
});

export const DEEPAGENTS: Door = {
  name: 'the backend of deepagents',
  calls: {
    read: (path) => call('read_file', path),
    write: (path, content) => call('write_file', path, { content }),
    edit: (path, from, to) => call('edit_file', path, { old_string: from, new_string: to }),
  },
  run: async ({ session, steps, signal }) => {
    const model = new ScriptedModel(steps);
    const agent = createDeepAgent({ model, backend: new LookfirstBackend(session) });
    await agent.invoke(GO, { recursionLimit: 100, ...(signal === undefined ? {} : { signal }) });
    return shownIn(model.got);
  },
  tools: () => ['ls', 'read_file', 'write_file', 'edit_file', 'glob', 'grep'],
  compacts: async ({ session }) => {
    const model = new ScriptedModel([
      [call('read_file', 'a.txt')],
      [call('read_file', 'b.txt')],
      [call('write_file', 'a.txt', { content: 'two\n' })],
    ]);
    // The model gets the tools of the backend. The middleware adds no tools and only observes the
    // messages.
    const middleware = [clearing(), lookfirstMiddleware(session, { only: [] })] as const;
    await createDeepAgent({ model, backend: new LookfirstBackend(session), middleware }).invoke(GO);
    return shownIn(model.got).at(-1);
  },
  flags: false,
  images: true,
  merges: 'refused',
};

export function argumentSuite(): void {
  describe('wrong arguments in LangChain', () => {
    it.each([
      ['a missing one', { offset: 1 }],
      ['one of a wrong type', { path: ['a.txt', 1] }],
      ['an unknown one', { path: 'a.txt', colour: 'red' }],
    ])('are refused in words: %s', async (_what, args) => {
      const { root, session, put } = await workspace();
      put('a.txt', 'one\n');
      const steps = [[{ tool: 'read_file', args }], [LOOKFIRST_CALLS.read('a.txt')]];
      const shown = await LANGCHAIN.run({ root, session, steps });
      expect(shown[0]).toMatchObject({ flagged: true, text: expect.stringContaining('[INVALID_ARGUMENT]') });
      expect(shown[0]?.text).not.toMatch(/node_modules|\n +at /);
      expect(shown[0]?.text.length).toBeLessThan(400);
      expect(shown[1]?.text).toContain('one');
    });
  });
}

export function backendSuite(): void {
  describe('the backend of deepagents', () => {
    it('lists, finds and searches below its own root', async () => {
      const { session, root, put } = await workspace();
      mkdirSync(join(root, 'src'));
      put('src/a.ts', 'a.b\naxb\n');
      const backend: BackendProtocolV2 = new LookfirstBackend(session);
      expect(await backend.ls('/')).toMatchObject({ files: [{ path: '/src/', is_dir: true }] });
      expect(await backend.glob('**/*.ts')).toMatchObject({ files: [{ path: '/src/a.ts' }] });
      const hit = { path: '/src/a.ts', line: 1, text: 'a.b' };
      for (const maxCount of [null, 1000, 1_000_000])
        expect(await backend.grep('a.b', '/src', null, maxCount)).toMatchObject({
          matches: [hit],
          truncated: false,
        });
      expect(await backend.read('/../../etc/passwd')).toMatchObject({
        error: expect.stringMatching(/OUTSIDE_WORKSPACE|NOT_FOUND/),
      });
    });

    it('lists every entry of a large folder', async () => {
      const { session, put } = await workspace();
      for (let index = 0; index < 1001; index += 1) put(`${index}.txt`, '');
      expect((await new LookfirstBackend(session).ls('/')).files).toHaveLength(1001);
    });

    it('shows paths relative to the root even if the session starts in a subfolder', async () => {
      const { root, home } = scratch();
      mkdirSync(join(root, 'sub'));
      for (const name of ['top.txt', 'sub/low.txt']) writeFileSync(join(root, name), 'needle\n');
      const session = await openSession({ roots: [root], home, store: 'memory:', cwd: 'sub' });
      onTestFinished(() => session.close());
      const backend = new LookfirstBackend(session);
      const paths = (found: readonly { readonly path: string }[] = []) =>
        found.map(({ path }) => path).sort();
      expect(paths((await backend.grep('needle')).matches)).toEqual(['/sub/low.txt', '/top.txt']);
      expect(paths((await backend.glob('**/*.txt')).files)).toEqual(['/sub/low.txt', '/top.txt']);
    });

    it('counts only the lines that deepagents shows as read', async () => {
      const { session, put } = await workspace();
      const line = `${'x'.repeat(99)}\n`;
      put('large.txt', line.repeat(2000));
      const backend = new LookfirstBackend(session);
      expect(await backend.readRaw('/large.txt')).toMatchObject({ data: { content: line.repeat(2000) } });
      expect(await backend.write('/large.txt', '')).toMatchObject({
        error: expect.stringContaining('NOT_READ'),
      });
      const page = await backend.read('/large.txt', 0, 2000);
      expect(page.endLine).toBeLessThan(700);
      const refused = await backend.write('/large.txt', '');
      expect(refused.error).toContain('PARTIALLY_READ');
      // The suggested next call counts lines from 0, as the tool does.
      expect(refused.error).toContain(`"offset":${page.endLine}`);
      expect(page.nextOffset).toBe(page.endLine);
    });
  });
}
