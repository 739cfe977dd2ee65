// Makes docs/refusal.svg, the moving picture at the top of the README, from real calls to the real gate.
//   npm run picture
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSession, toolset } from '../dist/index.js';

const [WIDTH, LINE, MARGIN, BAR] = [820, 20, 18, 34];
/** Seconds before each kind of line appears. */
const PAUSE = { agent: 1.1, gate: 0.45, user: 1.2, note: 0.9 };
const HOLD_SECONDS = 5;
const COLOURS = {
  agent: '#9cdcfe',
  gate: '#e5e7eb',
  refused: '#f5b14c',
  user: '#c4a7e7',
  note: '#7ee787',
  removed: '#ff7b72',
};

/** Plays the scene through the tools that an agent has, and returns the lines of the picture. */
async function play(folder) {
  const root = join(folder, 'shop');
  mkdirSync(root);
  const file = join(root, 'prices.ts');
  const put = (text) => writeFileSync(file, text);
  put("export const currency = 'EUR';\nexport const vat = 0.19;\nexport const shipping = 4.9;\n");
  const session = await openSession({ roots: [root], home: join(folder, 'state'), session: 'agent' });
  const { tools } = toolset(session);
  const lines = [];
  const call = async (name, args, shown) => {
    lines.push({ kind: 'agent', text: `agent  ${name} ${shown}` });
    const { text, ok } = await tools.find((tool) => tool.name === name).call(args);
    return { ok, lines: text.split('\n').filter((line) => line.trim() !== '') };
  };
  const answer = (texts, colour) => {
    for (const text of texts) lines.push({ kind: 'gate', colour, text: `       ${text}` });
  };

  const blind = await call(
    'write_file',
    { path: 'prices.ts', content: 'export const vat = 0.2;\n' },
    'prices.ts',
  );
  answer([blind.lines[0]], COLOURS.refused);
  const read = await call('read_file', { path: 'prices.ts' }, 'prices.ts');
  answer([read.lines.at(-1)]);
  put(readFileSync(file, 'utf8').replace('4.9', '5.9'));
  lines.push({ kind: 'user', text: 'you    save prices.ts in your editor: shipping = 5.9' });
  const old = "export const currency = 'EUR';\nexport const vat = 0.2;\nexport const shipping = 4.9;\n";
  const stale = await call('write_file', { path: 'prices.ts', content: old }, 'prices.ts');
  answer([stale.lines[0]], COLOURS.refused);
  for (const text of stale.lines.filter((line) => /^[-+]e/.test(line)))
    answer([text], text.startsWith('-') ? COLOURS.removed : COLOURS.note);
  const edit = { path: 'prices.ts', old_string: 'vat = 0.19', new_string: 'vat = 0.2' };
  const merged = await call('edit_file', edit, '"vat = 0.19" → "vat = 0.2"');
  answer([merged.lines[0]]);
  const now = readFileSync(file, 'utf8');
  if (!now.includes('0.2;') || !now.includes('5.9')) throw new Error(`both changes should be there:\n${now}`);
  lines.push({
    kind: 'note',
    text: '✓      your 5.9 and its 0.2 are both in the file; every step can be undone',
  });
  await session.close();
  return lines;
}

/** The picture: a terminal in which the lines appear one after another, again and again. */
function drawn(lines) {
  let at = 0.3;
  const moments = lines.map(({ kind }) => {
    at += PAUSE[kind];
    return at;
  });
  const total = at + HOLD_SECONDS;
  const percent = (seconds) => `${((100 * seconds) / total).toFixed(2)}%`;
  const frames = moments.map(
    (moment, i) =>
      `@keyframes l${i}{0%,${percent(moment - 0.01)}{opacity:0}${percent(moment)},100%{opacity:1}}.l${i}{animation:l${i} ${total.toFixed(1)}s infinite}`,
  );
  const texts = lines.map(({ kind, colour, text }, i) => {
    const y = BAR + MARGIN + 12 + i * LINE;
    return `<text class="l${i}" x="${MARGIN}" y="${y}" fill="${colour ?? COLOURS[kind]}" xml:space="preserve">${escaped(text)}</text>`;
  });
  const height = BAR + 2 * MARGIN + lines.length * LINE;
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, i) => `<circle cx="${MARGIN + 4 + 18 * i}" cy="17" r="5.5" fill="${fill}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="An agent's blind write is refused; after a read its edit is merged with the user's change">
<style>text{font:13.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}${frames.join('')}@media (prefers-reduced-motion:reduce){text{animation:none!important}}</style>
<rect width="${WIDTH}" height="${height}" rx="9" fill="#15181e"/><rect width="${WIDTH}" height="${BAR}" rx="9" fill="#22262e"/>
${dots.join('')}
${texts.join('\n')}
</svg>
`;
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

const folder = mkdtempSync(join(tmpdir(), 'lookfirst-refusal-'));
try {
  writeFileSync('docs/refusal.svg', drawn(await play(folder)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
