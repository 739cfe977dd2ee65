import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RENDER_CONTEXT } from '../../test/support/render-context.ts';
import { written } from '../../test/support/written.ts';
import { RAW_STYLE } from '../dialect/filesystem/shapes.ts';
import { RECEIPT_STYLE } from '../dialect/lookfirst/read-text.ts';
import { type ReadStyle, styledText } from '../dialect/render.ts';
import { ClientCall } from '../model/call.ts';
import { Fault } from '../model/fault.ts';
import type { ReadResult } from '../model/results.ts';
import { splitLines, withoutEnding } from '../text/lines.ts';
import { callTool, paced, searching, showRead } from './perform-call.ts';

const TEXT = fc.string({
  unit: fc.constantFrom('a', 'é', '😀', '"', '\\', '\t', '\u0001', '\n', '\r\n', '\r'),
  maxLength: 80,
});

function notebook() {
  const notes: unknown[][] = [];
  let nowMs = 1000;
  return {
    notes,
    now: () => nowMs,
    wait: (ms: number) => {
      nowMs += ms;
    },
    progress: (...note: unknown[]) => void notes.push(note),
  };
}

describe('a call that fails', () => {
  const broken = () => {
    throw new Fault('IO_FAILED', 'the disk is gone');
  };
  const session = {
    inCall: (_times: unknown, work: () => unknown) => work(),
    kindAt: broken,
    status: broken,
    write: broken,
  };
  const failure = async (kind: string): Promise<unknown> => {
    try {
      await callTool({ kind, operation: { path: 'a' } } as never, { terms: {} }, {
        session: { ...session, policy: { bypass: [] } },
        watch: { times: new ClientCall() },
      } as never);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it.each([
    ['view', true],
    ['status', true],
    ['write', false],
  ])('(%s) is known to have changed nothing: %s', async (kind, unchanged) => {
    expect(await failure(kind)).toMatchObject({ code: 'IO_FAILED', unchanged });
  });
});

describe('progress notes', () => {
  it('are passed on immediately, then at most every 100 ms', () => {
    const { notes, now, wait, progress } = notebook();
    const note = paced(progress, now);
    for (let done = 1; done <= 25; done++) {
      note(done, 25, 'reading');
      wait(10);
    }
    expect(notes).toEqual([
      [1, 25, 'reading'],
      [11, 25, 'reading'],
      [21, 25, 'reading'],
    ]);
  });

  it('about a search grow with time, even if nothing is found', () => {
    const { notes, now, wait, progress } = notebook();
    const note = searching(progress, now);
    wait(100.4);
    note(0);
    wait(100);
    note(0);
    wait(100);
    note(7);
    expect(notes).toEqual([
      [0, undefined, 'searching'],
      [100, undefined, 'searching: 0 files so far'],
      [200, undefined, 'searching: 0 files so far'],
      [300, undefined, 'searching: 7 files so far'],
    ]);
  });
});

/** The read result that a session returns for this content. */
function readOf(content: string, raw: boolean): ReadResult {
  const lines = splitLines(content);
  return {
    path: 'a.txt',
    text: raw ? content : lines.map(withoutEnding).join('\n'),
    bytes: Buffer.from(content, 'utf8'),
    from: lines.length === 0 ? 0 : 7,
    to: lines.length === 0 ? 0 : 6 + lines.length,
    totalLines: 6 + lines.length,
    sizeBytes: content.length,
    complete: false,
    encoding: 'utf-8',
    clamped: [],
  };
}

function shown(result: ReadResult, style: ReadStyle): { text: string; how: 'bytes' | 'text' } {
  const answer = showRead(result, style, RENDER_CONTEXT);
  if (typeof answer === 'string') return { text: answer, how: 'text' };
  if (!('escaped' in answer)) throw new Error('blocks');
  return { text: JSON.parse(`"${written([answer.escaped])}"`), how: 'bytes' };
}

describe('showRead', () => {
  it('shows the same from bytes as from text', () => {
    fc.assert(
      fc.property(TEXT, fc.boolean(), (piece, much) => {
        const content = much ? piece.repeat(600) : piece;
        expect(shown(readOf(content, false), RECEIPT_STYLE).text).toBe(
          styledText(readOf(content, false), RECEIPT_STYLE, RENDER_CONTEXT),
        );
        expect(shown(readOf(content, true), RAW_STYLE).text).toBe(content);
      }),
    );
  });

  it.each([
    ['plain lines', 'one\ntwo\n', RECEIPT_STYLE, 'bytes'],
    ['a file as it is', 'one\r\ntwo', RAW_STYLE, 'bytes'],
    ['an empty file as it is', '', RAW_STYLE, 'bytes'],
    ['lines that end in returns', 'one\r\ntwo\r\n', RECEIPT_STYLE, 'text'],
    ['an empty file', '', RECEIPT_STYLE, 'text'],
  ] as const)('uses the bytes for %s', (_what, content, style, how) => {
    expect(shown(readOf(content, style.lines === 'raw'), style).how).toBe(how);
  });

  it('uses the text if there are no bytes, or different ones', () => {
    const { bytes: _, ...without } = readOf('one\n', false);
    expect(shown(without, RECEIPT_STYLE)).toMatchObject({
      how: 'text',
      text: expect.stringMatching(/^7\tone\n/),
    });
    expect(shown({ ...readOf('one\n', false), encoding: 'utf-16le' }, RECEIPT_STYLE).how).toBe('text');
  });

  it('lets the dialect render files that are not text', () => {
    const image = { ...readOf('', true), media: { mimeType: 'image/png', base64: 'AA' } };
    expect(showRead(image, RECEIPT_STYLE, RENDER_CONTEXT)).toHaveLength(2);
  });
});
