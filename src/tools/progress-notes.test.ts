import { describe, expect, it } from 'vitest';
import { paced, searching } from './progress-notes.ts';

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

describe('notes', () => {
  it('are passed on at once, then not more often than every 100 ms', () => {
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

  it('on a search grow with the time, also while nothing is found', () => {
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
