import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { byteSize } from '../../report/amounts.ts';
import { RowLink } from './feed.ts';
import { html } from './html.ts';
import { ask, countedText, countText, narrow, tab } from './state.ts';

/** The approximate number of bytes of text per token of a model. */
const BYTES_PER_TOKEN = 4;
const MAX_DAYS = 30;

type Chain =
  | { readonly ok: true; readonly entries: number }
  | { readonly ok: false; readonly seq: number; readonly problem: string };

const chain = signal<Chain | 'checking' | undefined>(undefined);

async function verify(): Promise<void> {
  chain.value = 'checking';
  chain.value = await ask<Chain>('verify');
}

export function NumbersPane(): VNode {
  useEffect(() => void countText(), []);
  const all = countedText.value;
  if (all === undefined) return html`<p class="hint" role="status">counting…</p>`;
  const { numbers, state } = all;
  const saved = Math.max(0, numbers.saved.rereadBytes - numbers.saved.diffBytes);
  return html`<div class="numbers">
    <section><h2>Refusals</h2><p class="big">${numbers.refusals}</p><p class="meta">the newest, at most 20,000</p>
      <table class="bars"><tbody>${numbers.byCode.map(
        ([code, times]) =>
          html`<tr><th scope="row"><button type="button" class="link" onClick=${() => {
            tab.value = 'activity';
            void narrow({ code, kinds: ['refusal'] });
          }}>${code}</button></th><td><i style=${{ width: `${(times / (numbers.byCode[0]?.[1] ?? 1)) * 100}%` }}></i></td><td class="n">${times}</td></tr>`,
      )}</tbody></table></section>
    <section><h2>By day</h2>${numbers.byDay.length === 0 ? html`<p class="hint">None.</p>` : html`<table class="bars"><tbody>${numbers.byDay.slice(-MAX_DAYS).map(([day, times]) => html`<tr><th scope="row">${day}</th><td><i style=${{ width: `${(times / Math.max(...numbers.byDay.map((each) => each[1]))) * 100}%` }}></i></td><td class="n">${times}</td></tr>`)}</tbody></table>`}</section>
    <section><h2>False alarms</h2><p class="big">${numbers.falseAlarms.length}<small> of ${numbers.refusals}</small></p><p class="meta">The bytes had not changed, or the session read the file and then wrote the very same.</p><ol class="plain">${numbers.falseAlarms.slice(0, 20).map((row) => html`<li><${RowLink} row=${row} /></li>`)}</ol></section>
    <section><h2>Saved by diffs</h2><p class="big">${byteSize(saved)}</p><p class="meta">about ${Math.round(saved / BYTES_PER_TOKEN).toLocaleString()} tokens: ${numbers.saved.times} times a session was shown what had changed (${byteSize(numbers.saved.diffBytes)}) and did not have to read the file again (${byteSize(numbers.saved.rereadBytes)}).</p></section>
    <section><h2>State</h2><p class="big">${byteSize(state.storeBytes + state.images.bytes)}</p><p class="meta">${state.entries.toLocaleString()} entries (${byteSize(state.storeBytes)}) and ${state.images.count.toLocaleString()} kept files (${byteSize(state.images.bytes)})</p></section>
    <section><h2>Journal</h2><${ChainWords} /><button type="button" disabled=${chain.value === 'checking'} onClick=${() => void verify()}>Verify the chain</button></section>
  </div>`;
}

function ChainWords(): VNode {
  const now = chain.value;
  if (now === undefined) return html`<p class="meta">Every entry carries the hash of the one before it.</p>`;
  if (now === 'checking') return html`<p class="meta" role="status">verifying…</p>`;
  return now.ok
    ? html`<p class="good" role="status">Intact: ${now.entries.toLocaleString()} entries in an unbroken chain.</p>`
    : html`<p class="bad" role="status">Broken at entry ${now.seq} (${now.problem}).</p>`;
}
