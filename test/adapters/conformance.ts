import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSession, type Session } from 'lookfirst';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../support/tree.ts';

/** A tool call that the scripted model makes. */
export interface Call {
  readonly tool: string;
  readonly args: object;
}

/** The answer that the model received for one call. */
export interface Shown {
  readonly text: string;
  /** True if the framework marked the answer as an error. */
  readonly flagged: boolean;
  /** Media types of the images and other files in the answer, beside its text. */
  readonly media?: readonly string[];
}

export interface Run {
  readonly session: Session;
  readonly root: string;
  /**
   * A list of calls is one answer of the model; the calls run in parallel. A function runs between
   * two answers.
   */
  readonly steps: readonly (readonly Call[] | (() => void))[];
  readonly signal?: AbortSignal;
}

/** One way to use Lookfirst in a framework, such as its adapter's tools or hooks. */
export interface Door {
  readonly name: string;
  /**
   * The calls with which the model reads, writes, edits and undoes, by the names of this door's
   * tools.
   */
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
  /**
   * Runs an agent whose context loses its read of `a.txt`. Then the agent writes `two` to the file.
   * Returns the answer to that write.
   */
  compacts?(run: Omit<Run, 'steps'>): Promise<Shown | undefined>;
  /** True if refusals carry an error flag. Some frameworks have no such flag for some tools. */
  readonly flags: boolean;
  /** True if images are shown as images. False for frameworks whose file tools show text only. */
  readonly images: boolean;
  /**
   * `shown` (the default): after a merge, the model sees the merged text. `refused`: the framework
   * writes the answers itself and cannot show that text, so changes are refused instead of merged.
   */
  readonly merges?: 'shown' | 'refused';
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);
const TWENTY = Array.from({ length: 20 }, (_, index) => index);

/** A workspace with a session, removed after the test. */
export async function workspace(): Promise<Place> {
  return openPlace((clean) => {
    onTestFinished(async () => void (await clean()));
  });
}

interface Place {
  readonly root: string;
  readonly session: Session;
  put(name: string, content: string | Uint8Array): void;
  text(name: string): string;
}

async function openPlace(atEnd: (clean: () => unknown) => void): Promise<Place> {
  const { root, home } = scratch(tmpdir(), atEnd);
  const session = await openSession({ roots: [root], home, store: 'memory:' });
  atEnd(() => session.close());
  const put = (name: string, content: string | Uint8Array) => writeFileSync(join(root, name), content);
  const text = (name: string) => readFileSync(join(root, name), 'utf8');
  return { root, session, put, text };
}

const BLOCK = (first: string, last: string) =>
  [first, ...TWENTY.map((n) => `line ${n}`), last, ''].join('\n');

/** The model's calls for each behaviour that is tested. Each behaviour has its own files. */
function stepsOf({ calls, images }: Door, { put }: Place) {
  return {
    blind: [[calls.write('written.txt', 'two\n')], [calls.edit('edited.txt', 'one', 'two')]],
    creation: [
      [calls.write('new.txt', 'one\n')],
      [calls.read('new.txt')],
      [calls.edit('new.txt', 'one', 'two')],
    ],
    overwriting: [[calls.read('a.txt')], [calls.write('a.txt', 'two\n')]],
    outside: [
      [calls.read('outside.txt')],
      () => put('outside.txt', BLOCK('HEAD', 'tail')),
      [calls.edit('outside.txt', 'tail', 'TAIL')],
    ],
    parallel: [[calls.read('many.txt')], TWENTY.map((n) => calls.edit('many.txt', `<${n}>`, `<${n} done>`))],
    image: images ? [[calls.read('a.png')]] : [],
    undo: [[calls.read('undone.txt')], [calls.edit('undone.txt', 'one', 'two')]],
  } satisfies Record<string, Run['steps']>;
}

/**
 * The result of one run of an agent that makes the calls of `stepsOf`. All behaviours are tested in
 * one run, because starting some agents takes a second.
 */
interface Course extends Place {
  readonly tools: readonly string[];
  readonly shown: Readonly<Record<keyof ReturnType<typeof stepsOf>, readonly Shown[]>>;
  /** The text of `undone.txt` before the undo. */
  readonly changed: string;
}

async function takeCourse(door: Door, place: Place): Promise<Course> {
  const { root, session, put, text } = place;
  for (const name of ['written', 'edited', 'a', 'undone']) put(`${name}.txt`, 'one\n');
  put('outside.txt', BLOCK('head', 'tail'));
  put('many.txt', TWENTY.map((n) => `<${n}>\n`).join(''));
  put('a.png', PNG);
  let changed = '';
  const parts = stepsOf(door, place);
  const noteChange = () => {
    changed = text('undone.txt');
  };
  const { undo } = door.calls;
  const steps = [...Object.values(parts).flat(), noteChange, ...(undo === undefined ? [] : [[undo]])];
  const left = [...(await door.run({ session, root, steps }))];
  if (undo === undefined) await session.undo({});
  const callsIn = (own: Run['steps']) => own.flatMap((step) => (typeof step === 'function' ? [] : step));
  const shown: Partial<Course['shown']> = Object.fromEntries(
    Object.entries(parts).map(([part, own]) => [part, left.splice(0, callsIn(own).length)]),
  );
  return {
    ...place,
    tools: await door.tools(session),
    // The cast is safe: `shown` was made from `parts`, which has every name.
    shown: shown as Course['shown'],
    changed,
  };
}

/** Defines the tests that every way to use Lookfirst in a framework must pass. */
export function conformance(door: Door): void {
  const { calls } = door;
  describe(`Lookfirst in ${door.name}`, () => {
    let course: Course;
    beforeAll(async () => {
      const cleans: (() => unknown)[] = [];
      course = await takeCourse(door, await openPlace((clean) => cleans.unshift(clean)));
      return async () => {
        for (const clean of cleans) await clean();
      };
    });

    it('refuses a blind write and a blind edit, flags them, and names a tool that exists', () => {
      const { shown, tools, text } = course;
      expect(shown.blind).toHaveLength(2);
      for (const refused of shown.blind) {
        expect(refused.text).toMatch(/\[NOT_READ\]/);
        expect(refused.flagged).toBe(door.flags);
        expect(tools).toContain(/Next: ([\w.]+)/.exec(refused.text)?.[1]);
      }
      expect([text('written.txt'), text('edited.txt')]).toEqual(['one\n', 'one\n']);
    });

    it('creates a file, reads it and changes it', () => {
      const { shown, text } = course;
      expect(shown.creation.map(({ flagged }) => flagged)).toEqual([false, false, false]);
      expect(shown.creation[1]?.text).toContain('one');
      expect(text('new.txt')).toBe('two\n');
    });

    it('keeps a change that another program made since the read', () => {
      const { shown, text } = course;
      expect(shown.outside[1]?.text).toContain('+HEAD');
      expect(text('outside.txt')).toBe(BLOCK('HEAD', door.merges === 'refused' ? 'tail' : 'TAIL'));
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
      expect(course.text('a.txt')).toBe('two\n');
    });

    it('applies all of 20 parallel edits of one file', () => {
      const { shown, text } = course;
      expect(shown.parallel).toHaveLength(21);
      expect(shown.parallel.filter(({ flagged }) => flagged)).toEqual([]);
      expect(text('many.txt')).toBe(TWENTY.map((n) => `<${n} done>\n`).join(''));
    });

    it.skipIf(door.compacts === undefined)('forgets a read that was removed from the context', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      const written = await door.compacts?.({ session, root });
      expect(written?.text).toMatch(/\[(NOT_READ|PARTIALLY_READ)\]/);
      expect(text('a.txt')).toBe('one\n');
    });

    it.skipIf(!door.images)('shows images as images', () => {
      expect(course.shown.image).toMatchObject([{ flagged: false, media: ['image/png'] }]);
    });

    it('undoes a change', () => {
      expect(course.changed).toBe('two\n');
      expect(course.text('undone.txt')).toBe('one\n');
    });
  });
}
