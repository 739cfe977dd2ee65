// Compares finding out what a model has seen, from its transcript, with parsing every line of the
// transcript.
//   node bench/history.mjs [LINES] [ROUNDS]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { interleaved } from './measure.mjs';
import { SHAPES, transcriptLines, writeTranscript } from './transcripts.mjs';

const BUILD = process.env['LOOKFIRST_BUILD'] ?? new URL('../build/', import.meta.url).href;

export async function rows({ lines = 100_000, rounds = 5 } = {}) {
  const [{ deriveSightingsFrom }, { HistoryIndex }, { openTranscript }] = await Promise.all(
    ['history/derive.js', 'history/history-index.js', 'store/transcript-file.js'].map(
      (file) => import(new URL(file, BUILD)),
    ),
  );
  const derive = (file) => deriveSightingsFrom(openTranscript(file).chunks);
  const parse = (file) => parseAll(openTranscript(file).chunks);
  const folder = mkdtempSync(join(tmpdir(), 'lookfirst-bench-'));
  const file = join(folder, 'transcript.jsonl');
  const measured = async (shape) => {
    await writeTranscript(file, SHAPES[shape], lines);
    const { sightings, skipped } = await derive(file);
    if (sightings.length === 0 || skipped.count > 0)
      throw new Error(
        `${shape}: expected sightings and no skipped line, found ${sightings.length} and ${skipped.count}`,
      );
    const [ours, theirs] = await interleaved([() => derive(file), () => parse(file)], { rounds, warmup: 1 });
    return ours / theirs;
  };
  try {
    const results = [];
    for (const shape of Object.keys(SHAPES)) {
      const what = `${lines.toLocaleString('en')} lines of Claude Code, ${shape}, shaped like real ones`;
      results.push({ name: `${what} / JSON.parse of every line`, ratio: await measured(shape), bar: 2 });
    }
    return [
      ...results,
      ...(await growing(HistoryIndex, lines)),
      ...(await scanned(HistoryIndex)),
      await memory(HistoryIndex),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Parses a transcript in the usual way: makes a string of each line, then an object. */
async function parseAll(chunks) {
  let rest = Buffer.alloc(0);
  let records = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line =
        rest.length === 0 ? chunk.toString('utf8', start, end) : held(rest, chunk.subarray(start, end));
      if (JSON.parse(line) !== undefined) records += 1;
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    rest = Buffer.concat([rest, chunk.subarray(start)]);
  }
  return records;
}

function parsedLines(bytes) {
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

function held(rest, more) {
  return Buffer.concat([rest, more]).toString('utf8');
}

/** Measures how long an index takes to read twenty new lines of a long transcript. */
async function growing(HistoryIndex, lines) {
  const source = transcriptLines(SHAPES.main);
  const take = (count) =>
    Buffer.from(Array.from({ length: count }, () => `${source.next().value}\n`).join(''));
  const index = new HistoryIndex({ format: 'claude-code' });
  for (let fed = 0; fed < lines; fed += 1000) index.feed(take(1000));
  let news = [];
  const tasks = [() => index.feed(Buffer.from(news.join(''))), () => parsedLines(Buffer.from(news.join('')))];
  const before = (task) => {
    if (task === 0)
      news = take(20)
        .toString('utf8')
        .split(/(?<=\n)/);
  };
  const [live, parsed] = await interleaved(tasks, { rounds: 200, before });
  const what = `20 new lines after ${lines.toLocaleString('en')}`;
  return [{ name: `${what} / parsing them`, ratio: live / parsed, bar: 2 }];
}

/**
 * Compares `hasFileBeenRead` with the simplest code that gives the same answer. That code goes
 * through the events, and for every call searches for its result.
 */
async function scanned(HistoryIndex) {
  const count = 15_000;
  const at = (id) => `/repo/file-${id}.ts`;
  const calls = Array.from({ length: count }, (_, id) => {
    return { type: 'TOOL_CALL', data: { id: `${id}`, name: 'file_read', arguments: { path: at(id) } } };
  });
  const results = calls.map(({ data }) => {
    return {
      type: 'TOOL_RESULT',
      data: { id: data.id, isError: false, content: [{ type: 'text', text: 'x\n' }] },
    };
  });
  const events = [...calls, ...results];
  const build = () => {
    const index = new HistoryIndex({ format: 'thread-events', paths: 'exact' });
    index.add(events);
    return index;
  };
  const index = build();
  const tasks = [
    () => build().hasFileBeenRead('/none'),
    () => index.hasFileBeenRead('/none'),
    () => scan(events, '/none'),
  ];
  const [built, asked, scanning] = await interleaved(tasks, { rounds: 5, warmup: 1 });
  const what = `one question over ${(2 * count).toLocaleString('en')} events, results last`;
  return [
    { name: `${what}, index built for it / the document's scan`, ratio: built / scanning, bar: 1 },
    { name: `${what}, existing index / the document's scan`, ratio: asked / scanning },
  ];
}

function scan(events, filePath) {
  for (let i = 0; i < events.length; i++) {
    const event = events[i];
    if (event.type !== 'TOOL_CALL' || event.data.name !== 'file_read') continue;
    for (let j = i + 1; j < events.length; j++) {
      const result = events[j];
      if (result.type !== 'TOOL_RESULT' || result.data.id !== event.data.id) continue;
      if (!result.data.isError && event.data.arguments.path === filePath) return true;
      break;
    }
  }
  return false;
}

/**
 * Measures the memory that an index keeps after a thousand tool results, for small results and for
 * results a hundred times larger.
 */
async function memory(HistoryIndex) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  // V8 frees the memory of collected buffers a moment later, so wait before the second collection.
  const gc = async () => {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
    collect();
  };
  const used = async (bytes) => {
    await gc();
    const before = process.memoryUsage();
    const index = new HistoryIndex({ format: 'thread-events', cwd: '/repo' });
    for (let id = 0; id < 1000; id += 1) {
      const text = `${id}${'x'.repeat(bytes)}\n`;
      const events = [
        { type: 'TOOL_CALL', data: { id: `${id}`, name: 'file_read', arguments: { path: `${id}.ts` } } },
        { type: 'TOOL_RESULT', data: { id: `${id}`, content: [{ type: 'text', text }] } },
      ];
      index.feed(Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join('')));
    }
    await gc();
    const after = process.memoryUsage();
    const found = index.sightings().length;
    if (found !== 1000) throw new Error(`expected 1000 sightings, found ${found}`);
    return after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  };
  await used(1000);
  const small = await used(1000);
  return {
    name: 'memory after 1,000 results of 100 kB / of 1 kB',
    ratio: (await used(100_000)) / small,
    bar: 1.3,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [lines, rounds] = process.argv.slice(2).map(Number);
  for (const { name, ratio, bar } of await rows({ lines, rounds }))
    process.stdout.write(`${name}: ${ratio.toFixed(3)}${bar === undefined ? '' : ` (bar ${bar})`}\n`);
}
