import { countOf } from '../../report/amounts.ts';
import { harmless, visibleName } from '../../report/bounded.ts';
import { exactTime } from '../../report/times.ts';
import type { DetailView, DiffRow, Fact, FeedRow, FileDiff } from './view-data.ts';

type ExportForm = 'html' | 'markdown';

/** The entries that can be shared: facts and diffs, and no other contents of files. */
const SHARED: ReadonlySet<FeedRow['kind']> = new Set(['change', 'refusal', 'turn']);

/** A change, refusal or turn as one self-contained document. Undefined for other entries. */
export function exported(view: DetailView, form: ExportForm): string | undefined {
  if (!SHARED.has(view.row.kind)) return undefined;
  return form === 'html' ? htmlOf(view) : markdownOf(view);
}

function titleOf({ kind, session, what, path, code }: FeedRow): string {
  if (kind === 'turn') return what;
  const parts = [session, what, path, code === undefined ? undefined : `[${code}]`];
  return parts.filter((each) => each !== undefined).join(' ');
}

function when({ session, atMs, change }: FeedRow): string {
  return `Session ${session}, ${exactTime(atMs)}${change === undefined ? '' : `, change ${change}`}.`;
}

function factsOf({ row, facts }: DetailView): readonly string[] {
  return [when(row), ...facts.map(factWords)];
}

function factWords({ name, words, rows = [] }: Fact): string {
  const named = name === undefined ? words : `${name}${/[.?]$/.test(name) ? '' : ':'} ${words}`;
  const proofs = rows.map((row) => `${words === '' ? `${row.what}. ` : ''}${when(row)}`);
  return [named.trim(), ...proofs].join(' ');
}

function aboutWords({ about }: DetailView['files'][number]): string {
  return about === undefined ? '' : factWords(about);
}

function countsOf({ added, removed, note = '' }: FileDiff): string {
  return `+${added} −${removed} ${note}`.trim();
}

/** The lines of a diff, with `undefined` between groups that are not neighbours. */
function linesOf({ groups }: FileDiff): readonly (DiffRow | undefined)[] {
  return groups.flatMap((rows, i): (DiffRow | undefined)[] => (i === 0 ? [...rows] : [undefined, ...rows]));
}

function cutWords({ cut }: FileDiff): string {
  return cut === 0 ? '' : `${countOf(cut, 'more line')} not shown.`;
}

function markdownOf(view: DetailView): string {
  const plain = (text: string): string =>
    harmless(text)
      .replace(/\s+/g, ' ')
      .replace(/[\\`*_[\]<>#|~&]/g, '\\$&');
  const parts = view.files.map((diff) => {
    const text = linesOf(diff)
      .map((row) => (row === undefined ? '…' : `${row.sign}${harmless(row.text)}`))
      .join('\n');
    const [fence = '```'] = [...text.matchAll(/`{3,}/g)]
      .map(([run]) => `${run}\``)
      .sort()
      .reverse();
    const block = text === '' ? [] : [`${fence}diff\n${text}\n${fence}`];
    const head = `## ${plain(visibleName(diff.path))} ${plain(countsOf(diff))}`;
    return [head, plain(aboutWords(diff)), ...block, cutWords(diff)]
      .filter((each) => each !== '')
      .join('\n\n');
  });
  const list = factsOf(view).map((fact) => `- ${plain(fact)}`);
  return `${[`# ${plain(titleOf(view.row))}`, list.join('\n'), ...parts].join('\n\n')}\n`;
}

const STYLE = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font:600 .95rem ui-monospace,monospace;margin:2rem 0 .25rem;overflow-wrap:anywhere}
pre{font:12.5px/1.6 ui-monospace,monospace;border:1px solid light-dark(#dfe4eb,#2a313c);border-radius:8px;padding:.4rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
pre span{display:block;padding:0 .8rem}.a{background:light-dark(#e4f5e9,#14301f)}.r{background:light-dark(#fdebe9,#391c1c)}footer,.words{color:light-dark(#566072,#a1abbb)}`;

const CLASSES = { '+': ' class="a"', '-': ' class="r"', ' ': '' } as const;

function htmlOf(view: DetailView): string {
  const title = titleOf(view.row);
  const text = (value: string): string =>
    harmless(value).replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
  const line = (row: DiffRow | undefined): string =>
    row === undefined ? '<span>…</span>' : `<span${CLASSES[row.sign]}>${row.sign}${text(row.text)}</span>`;
  const sections = view.files.map((diff) => {
    const rows = linesOf(diff).map(line).join('');
    return `<h2>${text(visibleName(diff.path))} ${text(countsOf(diff))}</h2>
<p class="words">${text(`${aboutWords(diff)} ${cutWords(diff)}`.trim())}</p>${rows === '' ? '' : `\n<pre>${rows}</pre>`}`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${text(title)}</h1>
<ul>${factsOf(view)
    .map((fact) => `<li>${text(fact)}</li>`)
    .join('')}</ul>
${sections.join('\n')}
</main><footer><p>Recorded by Lookfirst</p></footer></body></html>
`;
}
