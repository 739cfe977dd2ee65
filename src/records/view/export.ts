import { countOf } from '../../report/amounts.ts';
import { harmless, visibleName } from '../../report/bounded.ts';
import type { DiffRow, EntryView, FeedRow, FileDiff, TurnDetail } from './view-data.ts';
import { knownWords, STANDING, verdictWords } from './view-words.ts';

/** A change, refusal or turn to share: facts and diffs, and no other contents of files. */
interface Report {
  readonly title: string;
  readonly facts: readonly string[];
  readonly files: readonly { readonly diff: FileDiff; readonly words: string }[];
}

type ExportForm = 'html' | 'markdown';

/** A change, refusal or turn as one self-contained document. Undefined for other entries. */
export function exported(view: EntryView | TurnDetail, form: ExportForm): string | undefined {
  const report = 'kind' in view ? entryReport(view) : turnReport(view);
  if (report === undefined) return undefined;
  return form === 'html' ? htmlOf(report) : markdownOf(report);
}

function entryReport(view: EntryView): Report | undefined {
  if (view.kind === 'plain') return undefined;
  const { row } = view;
  const title = [row.session, row.what, row.code, row.path].filter((each) => each !== undefined).join(' ');
  if (view.kind === 'change')
    return {
      title,
      facts: [
        when(row),
        STANDING[view.standing],
        view.command === undefined ? '' : `Command: ${view.command}`,
        ...view.notices,
        moreFiles(view.more),
      ],
      files: view.files.map((diff) => ({ diff, words: `Had it read the file? ${knownWords(diff.known)}` })),
    };
  const since = view.since === undefined ? [] : [view.since];
  return {
    title,
    facts: [
      when(row),
      `${view.why}${view.reason === undefined ? '' : ` (${view.reason})`}`,
      `${verdictWords(view)} ${view.because}`,
      view.seen,
      view.next === undefined ? '' : `Next step given: ${view.next}.`,
      view.after === undefined ? 'The session has not tried again.' : `${view.after.words}.`,
    ],
    files: since.map((diff) => ({ diff, words: 'What changed since the session saw the file.' })),
  };
}

function turnReport({ row, files, more }: TurnDetail): Report {
  const taken = row.stands || files.length === 0 ? '' : 'Taken back since.';
  return {
    title: row.words,
    facts: [when(row), `${countOf(row.files.length, 'file')} changed.`, taken, moreFiles(more)],
    files: files.map((diff) => ({ diff, words: '' })),
  };
}

function when(row: Pick<FeedRow, 'session' | 'atMs' | 'change'>): string {
  const at = new Date(row.atMs).toISOString().replace('T', ' ').slice(0, 16);
  return `Session ${row.session}, ${at} UTC${row.change === undefined ? '' : `, change ${row.change}`}.`;
}

function moreFiles(more: number): string {
  return more === 0 ? '' : `${countOf(more, 'more file')} not shown.`;
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

function markdownOf({ title, facts, files }: Report): string {
  const plain = (text: string): string =>
    harmless(text)
      .replace(/\s+/g, ' ')
      .replace(/[\\`*_[\]<>#|~&]/g, '\\$&');
  const parts = files.map(({ diff, words }) => {
    const text = linesOf(diff)
      .map((row) => (row === undefined ? '…' : `${row.sign}${harmless(row.text)}`))
      .join('\n');
    const [fence = '```'] = [...text.matchAll(/`{3,}/g)]
      .map(([run]) => `${run}\``)
      .sort()
      .reverse();
    const block = text === '' ? [] : [`${fence}diff\n${text}\n${fence}`];
    const head = `## ${plain(visibleName(diff.path))} ${plain(countsOf(diff))}`;
    return [head, plain(words), ...block, cutWords(diff)].filter((each) => each !== '').join('\n\n');
  });
  const list = facts.filter((each) => each !== '').map((fact) => `- ${plain(fact)}`);
  return `${[`# ${plain(title)}`, list.join('\n'), ...parts].join('\n\n')}\n`;
}

const STYLE = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font:600 .95rem ui-monospace,monospace;margin:2rem 0 .25rem;overflow-wrap:anywhere}
pre{font:12.5px/1.6 ui-monospace,monospace;border:1px solid light-dark(#dfe4eb,#2a313c);border-radius:8px;padding:.4rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
pre span{display:block;padding:0 .8rem}.a{background:light-dark(#e4f5e9,#14301f)}.r{background:light-dark(#fdebe9,#391c1c)}footer,.words{color:light-dark(#566072,#a1abbb)}`;

const CLASSES = { '+': ' class="a"', '-': ' class="r"', ' ': '' } as const;

function htmlOf({ title, facts, files }: Report): string {
  const text = (value: string): string =>
    harmless(value).replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
  const line = (row: DiffRow | undefined): string =>
    row === undefined ? '<span>…</span>' : `<span${CLASSES[row.sign]}>${row.sign}${text(row.text)}</span>`;
  const sections = files.map(({ diff, words }) => {
    const rows = linesOf(diff).map(line).join('');
    return `<h2>${text(visibleName(diff.path))} ${text(countsOf(diff))}</h2>
<p class="words">${text(`${words} ${cutWords(diff)}`.trim())}</p>${rows === '' ? '' : `\n<pre>${rows}</pre>`}`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${text(title)}</h1>
<ul>${facts.map((fact) => (fact === '' ? '' : `<li>${text(fact)}</li>`)).join('')}</ul>
${sections.join('\n')}
</main><footer><p>Recorded by Lookfirst</p></footer></body></html>
`;
}
