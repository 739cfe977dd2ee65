import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSession, type Session } from 'lookfirst';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../support/tree.ts';

/** A call of a scripted model. */
export interface Call {
  readonly tool: string;
  readonly args: object;
}

/** The answer that the model received for one call. */
export interface Shown {
  readonly text: string;
  /** Marked as an error, as the framework marks errors. */
  readonly flagged: boolean;
  /** Media types of the files beside the text. */
  readonly media?: readonly string[];
}

export interface Run {
  readonly session: Session;
  readonly root: string;
  /** Each step is one answer of the model; its calls are made in parallel. A function runs before the next step. */
  readonly steps: readonly (readonly Call[] | (() => void))[];
  readonly signal?: AbortSignal;
}

/** One way into a framework. */
export interface Door {
  readonly name: string;
  /** The calls of its tools. */
  readonly calls: {
    read(path: string): Call;
    write(path: string, content: string): Call;
    edit(path: string, from: string, to: string): Call;
    undo?: Call;
  };
  /** Runs an agent of this framework with a scripted model. Returns what the model received for each call, in order. */
  run(run: Run): Promise<readonly Shown[]>;
  /** Names of the tools that are offered to the model. */
  tools(session: Session): readonly string[] | Promise<readonly string[]>;
  /** Runs an agent whose context loses the read of `a.txt` before it writes `two` to the file. */
  compacts?(run: Omit<Run, 'steps'>): Promise<Shown | undefined>;
  /** True if refusals carry an error flag: some frameworks have none for some tools. */
  readonly flags: boolean;
  /** True if images are shown as images. False for frameworks whose file tools show text only. */
  readonly images: boolean;
  /** `refused` if the framework writes the answer's text, so that a merged change cannot be shown to the model. */
  readonly merges?: 'shown' | 'refused';
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);
const TWENTY = Array.from({ length: 20 }, (_, index) => index);

/** A workspace with a session, removed after the test. */
export async function workspace() {
  const { root, home } = scratch();
  const session = await openSession({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => session.close());
  const put = (name: string, content: string | Uint8Array) => writeFileSync(join(root, name), content);
  const text = (name: string) => readFileSync(join(root, name), 'utf8');
  return { root, session, put, text };
}

/** The promises to agent authors, checked for every door. */
export function conformance(door: Door): void {
  const { calls } = door;
  describe(`Lookfirst in ${door.name}`, () => {
    it('refuses a blind write and a blind edit, flags them, and names a tool that exists', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      put('b.txt', 'one\n');
      // One run, because starting some of the agents takes a second.
      const steps = [[calls.write('a.txt', 'two\n')], [calls.edit('b.txt', 'one', 'two')]];
      const blind = await door.run({ session, root, steps });
      expect(blind).toHaveLength(2);
      const tools = await door.tools(session);
      for (const refused of blind) {
        expect(refused.text).toMatch(/\[NOT_READ\]/);
        expect(refused.flagged).toBe(door.flags);
        expect(tools).toContain(/Next: ([\w.]+)/.exec(refused.text)?.[1]);
      }
      expect([text('a.txt'), text('b.txt')]).toEqual(['one\n', 'one\n']);
    });

    it('creates a file, reads it and changes it', async () => {
      const { root, session, text } = await workspace();
      const steps = [
        [calls.write('a.txt', 'one\n')],
        [calls.read('a.txt')],
        [calls.edit('a.txt', 'one', 'two')],
      ];
      const shown = await door.run({ session, root, steps });
      expect(shown.map(({ flagged }) => flagged)).toEqual([false, false, false]);
      expect(shown[1]?.text).toContain('one');
      expect(text('a.txt')).toBe('two\n');
    });

    it('keeps a change that another program made since the read', async () => {
      const { root, session, put, text } = await workspace();
      const lines = (first: string, last: string) =>
        [first, ...TWENTY.map((n) => `line ${n}`), last, ''].join('\n');
      put('a.txt', lines('head', 'tail'));
      const steps = [
        [calls.read('a.txt')],
        () => put('a.txt', lines('HEAD', 'tail')),
        [calls.edit('a.txt', 'tail', 'TAIL')],
      ];
      const shown = await door.run({ session, root, steps });
      expect(shown[1]?.text).toContain('+HEAD');
      expect(text('a.txt')).toBe(lines('HEAD', door.merges === 'refused' ? 'tail' : 'TAIL'));
    });

    it('leaves the file unchanged when the run is aborted', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      const controller = new AbortController();
      const steps = [
        [calls.read('a.txt')],
        () => controller.abort(new Error('stop')),
        [calls.write('a.txt', 'two\n')],
      ];
      await door.run({ session, root, steps, signal: controller.signal }).catch(() => undefined);
      expect(text('a.txt')).toBe('one\n');
      // Control: without the abort, the same steps change the file.
      await door.run({ session, root, steps: [[calls.read('a.txt')], [calls.write('a.txt', 'two\n')]] });
      expect(text('a.txt')).toBe('two\n');
    });

    it('applies all of 20 parallel edits of one file', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', TWENTY.map((n) => `<${n}>\n`).join(''));
      const edits = TWENTY.map((n) => calls.edit('a.txt', `<${n}>`, `<${n} done>`));
      const shown = await door.run({ session, root, steps: [[calls.read('a.txt')], edits] });
      expect(shown.filter(({ flagged }) => flagged)).toEqual([]);
      expect(text('a.txt')).toBe(TWENTY.map((n) => `<${n} done>\n`).join(''));
    });

    it.skipIf(door.compacts === undefined)('forgets a read that was removed from the context', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      const written = await door.compacts?.({ session, root });
      expect(written?.text).toMatch(/\[(NOT_READ|PARTIALLY_READ)\]/);
      expect(text('a.txt')).toBe('one\n');
    });

    it.skipIf(!door.images)('shows images as images', async () => {
      const { root, session, put } = await workspace();
      put('a.png', PNG);
      const [image] = await door.run({ session, root, steps: [[calls.read('a.png')]] });
      expect(image).toMatchObject({ flagged: false, media: ['image/png'] });
    });

    it('undoes a change', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      let changed = '';
      const steps = [
        [calls.read('a.txt')],
        [calls.edit('a.txt', 'one', 'two')],
        () => {
          changed = text('a.txt');
        },
        ...(calls.undo === undefined ? [] : [[calls.undo]]),
      ];
      await door.run({ session, root, steps });
      expect(changed).toBe('two\n');
      if (calls.undo === undefined) await session.undo({});
      expect(text('a.txt')).toBe('one\n');
    });
  });
}
