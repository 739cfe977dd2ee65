import { answerFor, outputIn } from '../dialect/calls/hosts/answers.ts';
import { patchIntents } from '../dialect/calls/patch.ts';
import { inFolder } from '../dialect/calls/shell/commands.ts';
import { leavesProcesses } from '../dialect/calls/shell/leftovers.ts';
import { hasUnknownNames, namesOf, searchFolders } from '../dialect/calls/shell/names.ts';
import { moveOperands, printedTexts, type ShellWrite, writesOf } from '../dialect/calls/shell/writes.ts';
import { diffedLines, foundLines, titlesIn } from '../dialect/calls/shown/output-lines.ts';
import type { RunTouch } from '../dialect/calls/touch.ts';
import type { LayerExpectation } from '../model/entry.ts';
import type { ForeignIntent } from '../model/intent.ts';
import type { HookEvent, HookReply } from './event.ts';
import { guardRefusal, operatorRefusal, tamperRefusal } from './operator.ts';
import {
  callId,
  denied,
  deniedByUser,
  locatedIntent,
  noticeText,
  outsideRefusal,
  passing,
  type Scene,
  shellPathOf,
  unjudged,
} from './scene.ts';

type CommandEvent = Extract<HookEvent, { kind: 'before' | 'after' | 'failed' }>;

/**
 * Handles a shell command that the host is about to run. Writes that the command line shows for
 * certain are judged like those of the host's own tools. Other files that the command may change
 * are saved before it runs.
 */
export async function beforeCommand(scene: Scene, event: CommandEvent, run: RunTouch): Promise<HookReply> {
  const forbidden = operatorRefusal(run.command) ?? (await tamperRefusal(scene, run.command));
  const refused = forbidden === undefined ? undefined : await deniedByUser(scene, forbidden);
  if (refused !== undefined) return refused;
  const writes: string[] = [];
  for (const write of writesOf(run.command, scene.userHome)) {
    const how = write.how === 'edit' || write.how === 'append' ? 'edit' : 'replace';
    const intents = await intentsOf(scene, run, write);
    const denial = await denialOf(scene, intents, how);
    if (denial !== undefined) return denial;
    writes.push(...intents.map((intent) => (intent.kind === 'move' ? intent.destination : intent.path)));
  }
  // If the call is recorded as unjudged, this event arrived after the command had ended. If the
  // gate registered the command now, it would record later changes by other programs as the
  // command's work.
  if (event.call !== undefined && (await scene.session.isUnjudged(event.call))) return { verdict: 'pass' };
  const layer = layerExpectation(scene, run);
  const moves = moveOperands(run.command, scene.userHome).map((path) => commandPath(scene, run, path));
  await scene.session.announceCommand(run.command, { call: callId(event), writes, moves, layer });
  return { verdict: 'pass' };
}

async function denialOf(
  scene: Scene,
  intents: readonly ForeignIntent[],
  how: 'edit' | 'replace',
): Promise<HookReply | undefined> {
  const ours = await guardRefusal(scene, intents);
  if (ours !== undefined) return deniedByUser(scene, ours);
  for (const intent of intents) {
    const outside = scene.policy.hooks.outside === 'refuse' ? await outsideRefusal(scene, intent) : undefined;
    const refused = outside && denied(scene, outside);
    if (refused !== undefined) return refused;
    // Skip a folder, such as the target of `cp -r`: the command line does not name the files in it
    // that the command replaces.
    if (intent.kind === 'touch' && (await scene.session.kindAt(intent.path)) === 'directory') continue;
    const vetted = await scene.session.vetCommandWrite(intent, how);
    const denial = vetted.ok ? undefined : denied(scene, vetted.refusal);
    if (denial !== undefined) return denial;
  }
  return undefined;
}

/**
 * Predicts whether the command runs on an overlay layer, which hides its writes from other programs
 * until it ends. A background command never does, nor does a command that leaves processes running:
 * they would end with the layer.
 */
function layerExpectation({ shell }: Scene, { background, command }: RunTouch): LayerExpectation {
  if (background === true) return 'background';
  if (leavesProcesses(command)) return 'never';
  return shell === 'layered' ? 'expected' : 'possible';
}

/** Converts a write of a shell command to changes that the gate can judge. */
async function intentsOf(scene: Scene, run: RunTouch, write: ShellWrite): Promise<readonly ForeignIntent[]> {
  const at = (path: string): string => commandPath(scene, run, path);
  switch (write.how) {
    case 'append':
      return [{ kind: 'insert', path: at(write.path), content: write.content ?? '' }];
    case 'overwrite':
      return [overwrite(at(write.path), write.content)];
    case 'edit':
      return [{ kind: 'touch', path: at(write.path), lines: [] }];
    case 'copy':
    case 'move': {
      const target = await targetOf(scene, at(write.path), write.source);
      return [{ kind: 'touch', path: target }];
    }
    case 'patch':
      return patchIntents(write.patch).map((intent) =>
        locatedIntent((path) => at(inFolder(write.folder, path) ?? path), intent),
      );
    default:
      return write satisfies never;
  }
}

/**
 * The change that a shell command makes when it overwrites a file. `content` is undefined if the
 * command line does not show the new text.
 */
function overwrite(path: string, content: string | undefined): ForeignIntent {
  return content === undefined ? { kind: 'touch', path } : { kind: 'write', path, content };
}

/** The file that a copy or move writes. If the target is a folder, the file keeps its base name there. */
async function targetOf(scene: Scene, path: string, source: string): Promise<string> {
  const isFolder = path.endsWith('/') || (await scene.session.kindAt(path)) === 'directory';
  const name = source.replace(/\/+$/, '').split('/').at(-1) ?? source;
  return isFolder ? `${path.replace(/\/+$/, '')}/${name}` : path;
}

/**
 * Converts a path in a command to one that the session accepts. A relative path starts at the folder
 * in which the command starts.
 */
function commandPath(scene: Scene, { folder }: RunTouch, path: string): string {
  return shellPathOf(scene, folder === undefined || path.startsWith('/') ? path : `${folder}/${path}`);
}

/** Handles the end of a command: records its changes, and the lines of files that its output shows. */
export async function afterCommand(
  scene: Scene,
  event: Extract<HookEvent, { kind: 'after' | 'failed' }>,
  run: RunTouch,
): Promise<HookReply> {
  const { session } = scene;
  const change = await session.announcedAs(callId(event));
  // For a background command, the event reports only its start. The program `lookfirst-shell`,
  // which runs the command, records the command's changes when the command ends.
  if (change !== undefined && event.kind === 'after' && run.background === true && scene.shell === 'layered')
    return { verdict: 'pass' };
  if (change === undefined && !(await session.isSettled(callId(event)))) {
    // No before-event was recorded for this command. If it succeeded, record it as unjudged. If it
    // failed, do not: the host may be reporting a call that was denied. In both cases, no line of
    // the output counts as seen.
    return event.kind === 'after' ? unjudged(scene, event) : { verdict: 'pass' };
  }
  const settled = change === undefined ? undefined : await session.settle(change, 'done');
  // Compare the output with the files only after their changes are recorded, because the output
  // shows the files as the command left them.
  await noteOutput(scene, run, outputOf(scene, event));
  await noteWritten(scene, run);
  const notices = settled?.ok === true ? settled.notices : [];
  return passing(noticeText(scene, event, { notices, path: '' }));
}

function outputOf(scene: Scene, event: Extract<HookEvent, { kind: 'after' | 'failed' }>): string {
  if (event.kind === 'failed') return event.error;
  return outputIn(answerFor(scene.host.name, event.response));
}

const MAX_OUTPUT_CHARS = 4 << 20;

/**
 * Compares the output with every file that the command or its output names. Output lines that are in such a file count
 * as seen, even if the command failed: the model was shown them.
 */
async function noteOutput(scene: Scene, run: RunTouch, output: string): Promise<void> {
  if (output === '' || output.length > MAX_OUTPUT_CHARS) return;
  const foreign = scene.session.foreign();
  const { command } = run;
  const names = new Set(namesOf(command, scene.userHome));
  if (hasUnknownNames(command)) for (const title of titlesIn(output)) names.add(title);
  for (const name of names) await foreign.witnessOutput(commandPath(scene, run, name), output);
  for (const folder of searchFolders(command, scene.userHome))
    for (const [path, lines] of foundLines(output))
      await foreign.witnessOutput(commandPath(scene, run, inFolder(folder, path) ?? path), lines);
  if (/\bgit\b/.test(command))
    for (const [path, lines] of diffedLines(output))
      await foreign.witnessOutput(commandPath(scene, run, path), lines);
}

/**
 * Records files that the command wrote with `echo`, `printf` or a here-document as seen, because
 * the model has written their text itself. A file whose bytes differ from that text does not count
 * as seen.
 */
async function noteWritten(scene: Scene, run: RunTouch): Promise<void> {
  const foreign = scene.session.foreign();
  const written = writesOf(run.command, scene.userHome).flatMap((write) =>
    write.how === 'overwrite' && write.content !== undefined
      ? [{ path: write.path, content: write.content }]
      : [],
  );
  for (const { path, content } of [...written, ...printedTexts(run.command, scene.userHome)])
    await foreign.witnessWritten(commandPath(scene, run, path), content);
}
