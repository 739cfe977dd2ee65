import { type Signal, signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { UndoneFile } from '../../model/results.ts';
import type { UndoView } from '../../records/view/view-data.ts';
import { countOf } from '../../report/amounts.ts';
import { diffTable } from './diff.ts';
import { html, lineCounts, pathSpan, safe } from './html.ts';
import { ask, show } from './state.ts';

/** An undo that is being previewed or done. */
interface OpenUndo {
  readonly title: string;
  readonly path: 'undo' | 'rewind';
  readonly body: object;
  readonly preview?: UndoView;
  readonly error?: string;
  readonly busy: boolean;
}

const undoing: Signal<OpenUndo | undefined> = signal(undefined);
export const toldText: Signal<string | undefined> = signal(undefined);
const TOLD_MS = 8000;

/** Shows the preview of an undo and asks the user to confirm it. */
export async function offerUndo(title: string, path: OpenUndo['path'], body: object): Promise<void> {
  const asked = { title, path, body, busy: true };
  undoing.value = asked;
  const next = await attempt(path, { ...body, preview: true });
  // Ignore the preview if the user has closed the dialog or opened another one meanwhile.
  if (undoing.value === asked) undoing.value = { ...asked, busy: false, ...next };
}

async function attempt(path: string, body: object): Promise<{ preview: UndoView } | { error: string }> {
  try {
    return { preview: await ask<UndoView>(path, body) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

async function confirmUndo(now: OpenUndo): Promise<void> {
  const begun = { ...now, busy: true };
  undoing.value = begun;
  const done = await attempt(now.path, now.body);
  const isOpen = undoing.value === begun;
  if ('error' in done || !done.preview.ok) {
    if (isOpen) undoing.value = { ...now, busy: false, ...done };
    else if ('error' in done) tell(`Not undone: ${done.error}`);
    else if (!done.preview.ok) tell(`Not undone: ${done.preview.path} ${done.preview.code}`);
    return;
  }
  const { change, files } = done.preview;
  if (isOpen) undoing.value = undefined;
  tell(
    `Undone: ${files.map(({ path }) => path).join(', ')}${change === undefined ? '' : ` (${change}; this can be undone too)`}`,
  );
  await show();
}

/** Shows a message for a few seconds. */
export function tell(text: string): void {
  toldText.value = text;
  setTimeout(() => {
    if (toldText.value === text) toldText.value = undefined;
  }, TOLD_MS);
}

export function UndoDialog(): VNode | null {
  const now = undoing.value;
  const box = useRef<HTMLDialogElement>(null);
  const isOpen = now !== undefined;
  useEffect(() => {
    if (isOpen) box.current?.showModal();
  }, [isOpen]);
  if (now === undefined) return null;
  const close = (): void => {
    undoing.value = undefined;
  };
  return html`<dialog ref=${box} aria-labelledby="undo-title" onClose=${close}>
    <h2 id="undo-title">${safe(now.title)}</h2>
    <div class="body" tabindex="0" role="region" aria-label="What it would do">${now.error === undefined ? previewOf(now) : html`<p class="bad">${safe(now.error)}</p>`}</div>
    <footer class="bar">${actionsOf(now, close)}</footer>
  </dialog>`;
}

function previewOf({ preview }: OpenUndo): VNode {
  if (preview === undefined) return html`<p class="dim" role="status">preparing the preview…</p>`;
  if (!preview.ok)
    return html`<p class="banner conflict"><b>This can't be undone.</b> ${pathSpan(preview.path)}: ${safe(preview.reason)}. <span class="tag bad">${preview.code}</span></p>
      ${preview.diffs.length === 0 ? null : html`<h3>What changed since</h3>`}${preview.diffs.map((file) => diffTable(file))}`;
  const { files, diffs, stays } = preview;
  if (files.length === 0) return html`<p>There is nothing to undo.</p>`;
  return html`<p>This would change ${countOf(files.length, 'file')}. It can be undone too.</p>
    ${stays.length === 0 ? null : html`<ul class="banner stays">${stays.map((each) => html`<li>${safe(each)}</li>`)}</ul>`}
    ${files.map(({ path, did }) => {
      const file = diffs.find((each) => each.path === path);
      return html`<section class="file"><h3 class="bar">${pathSpan(path)}<span class="dim">${DID[did]}</span>${file && lineCounts(file)}</h3>${file && diffTable(file)}</section>`;
    })}`;
}

/** The effect of an undo on one file. */
const DID: Readonly<Record<UndoneFile['did'], string>> = {
  restored: 'restored',
  removed: 'removed',
  recreated: 'created again',
  'moved-back': 'moved back',
  merged: 'restored, later edits stay',
  kept: 'stays, because it is in use',
};

function actionsOf(now: OpenUndo, close: () => void): VNode {
  const { preview } = now;
  const isReady = preview?.ok === true && preview.files.length > 0;
  return html`<button type="button" onClick=${close}>${now.busy || isReady ? 'Cancel' : 'Close'}</button>
    ${isReady ? html`<button type="button" class="primary" disabled=${now.busy} onClick=${() => void confirmUndo(now)}>${now.path === 'rewind' ? 'Rewind' : 'Undo'}</button>` : null}`;
}
