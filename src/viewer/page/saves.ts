import type { VNode } from 'preact';
import type { FeedRow, SavedBy, Saves } from '../../records/view/view-data.ts';
import { refusedWord } from '../../records/view/view-words.ts';
import { countOf } from '../../report/amounts.ts';
import { html, pathSpan, who } from './html.ts';
import { rowLink } from './list.ts';
import { narrowTo, pageAddress, saves } from './state.ts';

const MAX_SHOWN = 8;

/** The refusals of the last 30 days that saved bytes, per day, session, file and reason. */
export function SavesPane(): VNode {
  const all = saves.value;
  if (all === undefined) return html`<p class="dim pad" role="status">counting…</p>`;
  const { falseAlarms, destroyed } = all;
  return html`<div class="numbers">
    <section><h2>The last 30 days</h2><p class="big">${headline(all)}</p>${daysOf(all.byDay)}</section>
    ${tableOf('By session', all.bySession)}${tableOf('By file', all.byFile)}
    <section><h2>By reason</h2>${barsOf(
      ['refused'],
      all.byCode.map(([code, times]) => {
        const go = (): void => void narrowTo({ code, kinds: ['refusal'] });
        return [
          html`<button type="button" class="link" title=${code} onClick=${go}>${refusedWord(code)}</button>`,
          times,
        ];
      }),
    )}</section>
    <section><h2>Destroyed by commands, kept</h2><p class="dim">Bytes that a command removed and that nothing else held. An undo brings them back.</p>${listOf(destroyed)}</section>
    <section><h2>False alarms</h2><p class="dim">The bytes had not changed, or the session read the file and then wrote the same content.</p>${listOf(falseAlarms)}</section>
  </div>`;
}

function headline({ refusals, overwrites, lines }: Saves): string {
  if (refusals === 0) return 'Nothing had to be prevented.';
  if (overwrites === 0) return `${countOf(refusals, 'call')} refused.`;
  const kept = lines === 0 ? '' : `, ${countOf(lines, 'line')} kept`;
  const others = refusals - overwrites;
  const more = others === 0 ? '' : ` ${countOf(others, 'other call')} refused.`;
  return `${countOf(overwrites, 'overwrite')} refused${kept}.${more}`;
}

/** One column per day. */
function daysOf(days: Saves['byDay']): VNode {
  const most = Math.max(1, ...days.map(([, count]) => count));
  const label = `Refusals per day, from ${days[0]?.[0]} to ${days.at(-1)?.[0]}: ${days.map(([, count]) => count).join(', ')}`;
  return html`<div class="days" role="img" aria-label=${label}>${days.map(([day, count]) => html`<i class=${count === 0 ? 'none' : ''} style=${{ height: `${(count / most) * 100}%` }} title=${`${day}: ${countOf(count, 'refusal')}`}></i>`)}</div>
    <p class="bar small dim" aria-hidden="true">30 days ago<span class="push">today</span></p>`;
}

function tableOf(title: string, rows: readonly SavedBy[]): VNode {
  const link = ({ name, root }: SavedBy): VNode => {
    const showRefusals = (): void => void narrowTo({ session: name, kinds: ['refusal'] });
    if (root === undefined)
      return html`<button type="button" class="link" onClick=${showRefusals}>${who(name)}</button>`;
    return html`<a href=${pageAddress({ kind: 'file', root, path: name })}>${pathSpan(name)}</a>`;
  };
  const cells = rows.slice(0, MAX_SHOWN).map((row) => [link(row), row.refusals, row.lines] as const);
  return html`<section><h2>${title}</h2>${barsOf(['refused', 'lines kept'], cells)}</section>`;
}

/** A table whose first column has the names of its rows. */
function barsOf(heads: readonly string[], rows: readonly (readonly [VNode, ...number[]])[]): VNode {
  if (rows.length === 0) return html`<p>None.</p>`;
  return html`<table class="bars"><thead><tr><td></td>${heads.map((head) => html`<th scope="col" class="no">${head}</th>`)}</tr></thead>
    <tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td class="no">${cell.toLocaleString()}</td>`)}</tr>`)}</tbody></table>`;
}

function listOf(rows: readonly FeedRow[]): VNode {
  if (rows.length === 0) return html`<p>None.</p>`;
  const more = rows.length - MAX_SHOWN;
  return html`<ol>${rows.slice(0, MAX_SHOWN).map((row) => html`<li>${rowLink(row)}</li>`)}</ol>${more > 0 ? html`<p class="dim">and ${more} more</p>` : null}`;
}
