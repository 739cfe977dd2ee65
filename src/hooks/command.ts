import { answerFor, outputIn } from '../dialect/calls/hosts/answers.ts';
import { hasReadTool } from '../dialect/calls/hosts/hosts.ts';
import { parsedLine, type ShellLine, shellLine, TOO_DEEP_REASON } from '../dialect/calls/shell/shell-line.ts';
import { inFolder } from '../dialect/calls/shell/words.ts';
import { diffedLines, foundLines, titlesIn } from '../dialect/calls/shown/output-lines.ts';
import type { RunTouch } from '../dialect/calls/touch.ts';
import type { LayerExpectation } from '../model/entry.ts';
import type { Notice } from '../model/results.ts';
import type { OutsidePaths } from '../model/session.ts';
import { invalidArgument } from '../model/verdict.ts';
import { renameWords } from '../report/command-words.ts';
import type { HookEvent, HookReply } from './event.ts';
import { guardRefusal, operatorRefusal, tamperRefusal } from './operator.ts';
import {
  callId,
  denied,
  deniedByUser,
  deniedOutside,
  noticeText,
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
  const line = parsedLine(run.command, { folder: run.folder, home: scene.userHome });
  if (line === 'too deep')
    return denied(scene, invalidArgument('run', event.tool, TOO_DEEP_REASON)) ?? { verdict: 'pass' };
  const layer = layerExpectation(scene, run, line);
  const forbidden = operatorRefusal(line) ?? (await tamperRefusal(scene, line, layer));
  const refused = forbidden === undefined ? undefined : await deniedByUser(scene, forbidden);
  if (refused !== undefined) return refused;
  const place = { cwd: scene.cwd, at: (path: string) => shellPathOf(scene, path) };
  const changes = await scene.session.changesOf(line, place);
  const outside = await scene.session.outsideOf(line, { changes, place });
  const coming = { line, cwd: scene.cwd, call: event.call, arrivedMs: scene.arrivedMs, outside };
  const { denial, held } = await judged(scene, changes, coming);
  const reply = denial ?? (await outsideDenial(scene, outside));
  if (reply !== undefined) return reply;
  // If the call is recorded as unjudged, this event arrived after the command had ended. If the
  // gate registered the command now, it would record later changes by other programs as the
  // command's work.
  if (event.call !== undefined && (await scene.session.isUnjudged(event.call))) return { verdict: 'pass' };
  const moves = line.moves().map((path) => shellPathOf(scene, path));
  // The snapshots cover files that git has. On a layer, there are none.
  const named = changes.filter((change) => layer === 'expected' || held?.has(change) !== true);
  await scene.session.announceCommand(run.command, {
    call: callId(event),
    harm: line.harm(),
    writes: named.map(pathOfChange),
    moves,
    outside: scene.policy.hooks.outside === 'destroy' ? outside : undefined,
    layer,
  });
  return { verdict: 'pass' };
}

/** True for an empty text, with which Codex waits for the output of a running process. */
function onlyWaits({ command }: RunTouch): boolean {
  return command.trim() === '';
}

function lineOf({ userHome }: Scene, { command, folder }: RunTouch): ShellLine {
  return shellLine(command, { folder, home: userHome });
}

type LineChanges = Awaited<ReturnType<Scene['session']['changesOf']>>;
type ComingLine = Parameters<Scene['session']['vetCommand']>[1];

function pathOfChange({ intent }: LineChanges[number]): string {
  return intent.kind === 'move' ? intent.destination : intent.path;
}

/** The denial of a line, if any. `held`: changes that destroy only content that git has. */
interface JudgedLine {
  readonly denial?: HookReply | undefined;
  readonly held?: ReadonlySet<LineChanges[number]> | undefined;
}

async function judged(scene: Scene, changes: LineChanges, coming: ComingLine): Promise<JudgedLine> {
  const ours = await guardRefusal(
    scene,
    changes.map(({ intent }) => intent),
  );
  const denial = ours === undefined ? undefined : await deniedByUser(scene, ours);
  if (denial !== undefined) return { denial };
  const vetted = await scene.session.vetCommand(changes, coming);
  return vetted.ok ? { held: vetted.held } : { denial: await denied(scene, vetted.refusal) };
}

/** The denial of a line that changes something outside the workspace, if the policy refuses that. */
async function outsideDenial(scene: Scene, { changed }: OutsidePaths): Promise<HookReply | undefined> {
  const [first] = scene.policy.hooks.outside === 'refuse' ? changed : [];
  return first && deniedOutside(scene, { ...first, code: 'OUTSIDE_WORKSPACE', next: 'other_path' });
}

/**
 * Predicts whether the command runs on an overlay layer, which hides its writes from other programs
 * until it ends. A background command never does, nor does a command that leaves processes running:
 * they would end with the layer.
 */
function layerExpectation(
  { shell }: Scene,
  { background }: RunTouch,
  { leavesProcesses }: ShellLine,
): LayerExpectation {
  if (background === true) return 'background';
  if (leavesProcesses) return 'never';
  return shell === 'layered' ? 'expected' : 'possible';
}

/** Handles the end of a command: records its changes, and the lines of files that its output shows. */
export async function afterCommand(
  scene: Scene,
  event: Extract<HookEvent, { kind: 'after' | 'failed' }>,
  run: RunTouch,
): Promise<HookReply> {
  if (onlyWaits(run)) return { verdict: 'pass' };
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
  const line = lineOf(scene, run);
  await noteOutput(scene, line, outputOf(scene, event));
  await noteWritten(scene, line);
  const notices = settled?.ok === true ? await withoutOwnWrites(scene, line, settled.notices) : [];
  const isRename = event.kind === 'failed' && layerExpectation(scene, run, line) === 'expected';
  const words = isRename ? renameWords(event.error) : [];
  return passing(noticeText(scene, event, { notices, path: '' }), ...words);
}

/** Leaves out of a notice the changed files that the command line itself says it writes. */
async function withoutOwnWrites(
  scene: Scene,
  line: ShellLine,
  notices: readonly Notice[],
): Promise<readonly Notice[]> {
  if (!notices.some(({ kind }) => kind === 'changed-seen-files')) return notices;
  const { session } = scene;
  const own = new Set<string>();
  const at = (path: string): string => shellPathOf(scene, path);
  for (const change of await session.changesOf(line, { cwd: scene.cwd, at })) {
    const resolved = await session.resolve(pathOfChange(change));
    if (resolved.ok) own.add(resolved.absolute);
  }
  return notices.flatMap((notice): Notice[] => {
    if (notice.kind !== 'changed-seen-files') return [notice];
    const paths = notice.paths.filter((path) => !session.roots.some((root) => own.has(`${root}/${path}`)));
    return paths.length === 0 ? [] : [{ ...notice, paths }];
  });
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
async function noteOutput(scene: Scene, line: ShellLine, output: string): Promise<void> {
  if (output === '' || output.length > MAX_OUTPUT_CHARS) return;
  const show = (path: string, lines: string, how: 'read' | 'output' = 'output'): Promise<void> =>
    scene.session.forHost().witnessOutput({ path: shellPathOf(scene, path), output: lines, how });
  // Without a read tool, printing a file is how the client reads it.
  const read = hasReadTool(scene.host.name) ? undefined : line.read()?.path;
  const titles = line.hasUnknownNames
    ? [...titlesIn(output)].map((title) => inFolder(line.folder, title) ?? title)
    : [];
  for (const name of new Set([...line.names(), ...titles]))
    await show(name, output, name === read ? 'read' : 'output');
  for (const folder of line.searchFolders())
    for (const [path, lines] of foundLines(output)) await show(inFolder(folder, path) ?? path, lines);
  if (/\bgit\b/.test(line.text))
    for (const [path, lines] of diffedLines(output)) await show(inFolder(line.folder, path) ?? path, lines);
}

/**
 * Records files that the command wrote with `echo`, `printf` or a here-document as seen, because
 * the model has written their text itself. A file whose bytes differ from that text does not count
 * as seen.
 */
async function noteWritten(scene: Scene, line: ShellLine): Promise<void> {
  const host = scene.session.forHost();
  for (const write of line.writes()) {
    if (write.how !== 'overwrite') continue;
    const text = write.content ?? write.printed;
    if (text !== undefined) await host.witnessWritten(shellPathOf(scene, write.path), text);
  }
}
