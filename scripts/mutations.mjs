// Breaks the promises of Lookfirst one by one, in a temporary copy of the last commit, and checks that
// a test notices each break. Use: `node scripts/mutations.mjs [NAME...]`; without names, all of them.
// Exits 1 if a break goes unnoticed, or if the code that it changes is gone.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * One promise in each row: its name, the file and the text that keeps it (which occurs once), the
 * text that breaks it, and the test that must notice (words for vitest).
 */
const MUTATIONS = [
  // Inside
  [
    'a link out of the workspace is followed',
    'src/workspace/walk.ts',
    'return splice(state, target) ? undefined : escapes(state);',
    'splice(state, target);\n  return undefined;',
    'src/workspace/walk.test.ts',
  ],
  [
    'a protected file may be changed',
    'src/judge/rules/always.ts',
    'if (facts.protectedBy !== undefined)',
    'if (facts.protectedBy === "")',
    'src/judge/rules/always.test.ts',
  ],
  [
    'a read-only session may write',
    'src/judge/rules/always.ts',
    'if (policy.readOnly)',
    'if (policy.readOnly && facts.isRoot === true)',
    'src/judge/rules/always.test.ts',
  ],
  [
    'a FIFO is opened like a file',
    'src/judge/rules/always.ts',
    "new Set(['fifo', 'socket', 'device'])",
    "new Set(['socket', 'device'])",
    'src/judge/rules/always.kind.test.ts',
  ],
  [
    'a 0444 file is replaced',
    'src/disk/replace.ts',
    'if (isReadOnly(old.stats) && expected.evenReadOnly !== true)',
    'if (isReadOnly(old.stats) && expected.evenReadOnly === true)',
    'src/disk/replace.test.ts',
  ],
  // Seen
  [
    'an unread file is overwritten',
    'src/judge/rules/seeing.ts',
    'if (!knowledge.known) return unseen(facts, knowledge.absence, knowledge.seenAtMs);',
    'if (!knowledge.known) return PASS;',
    'test/session/rulings.overwrite.test.ts',
  ],
  [
    'a partly read file is overwritten',
    'src/judge/rules/seeing.ts',
    "if (flags.clamped || sighting.coverage.kind !== 'whole') return partial(facts, sighting);",
    'if (flags.clamped) return partial(facts, sighting);',
    'test/session/rulings.overwrite.test.ts',
  ],
  [
    'a masked view licenses an overwrite',
    'src/judge/rules/seeing.ts',
    'if (!flags.redacted || flags.notText) return PASS;',
    'return PASS;',
    'test/presets/masked.test.ts',
  ],
  [
    'a folder is deleted unlisted',
    'src/judge/rules/seeing.ts',
    'if (facts.folder?.listedFull !== true)',
    'if (facts.folder === undefined)',
    'test/session/rulings.delete-and-batch.test.ts',
  ],
  [
    'unseen lines are edited under `partial: lines`',
    'src/judge/rules/seeing.ts',
    "if (policy.partial === 'lines') return true;",
    "if (policy.partial === 'lines') return false;",
    'src/judge/rules/seeing.covered.test.ts',
  ],
  [
    'a wrong revision is accepted',
    'src/judge/rules/always.ts',
    'if (expected === undefined || expected === current || isSentAgain(facts)) return PASS;',
    'if (expected !== "") return PASS;',
    'test/session/revision.test.ts',
  ],
  [
    'a mask is written over its secret',
    'src/judge/rules/always.ts',
    'if (facts.mask !== undefined)',
    'if (facts.mask === "")',
    'test/session/secrets.test.ts',
  ],
  [
    'a placeholder replaces the lines it stands for',
    'src/judge/rules/always.ts',
    "if (facts.placeholder !== undefined && policy.placeholders === 'refuse')",
    "if (facts.placeholder !== undefined && policy.placeholders !== 'refuse')",
    'test/scenarios',
  ],
  [
    'compaction forgets nothing',
    'src/judge/known.ts',
    'if (sighting.tombstone === true) this.#newest = tombstoneOf(sighting.key, sighting.atMs);\n    else this.#newest = keeps',
    "if (keeps !== 'nothing') this.#newest = sighting;\n    else this.#newest = keeps",
    'test/session/rulings.context-events.test.ts',
  ],
  [
    'a view counts before its answer was given',
    'src/judge/known.ts',
    'return since === undefined || since <= moment;',
    'return since === undefined || moment > 0;',
    'test/session/call-order.test.ts',
  ],
  // Kept
  [
    'a changed file is overwritten',
    'src/judge/rules/seeing.ts',
    "    case 'changed':\n      return changed(facts, sighting, policy);",
    "    case 'changed':\n      return PASS;",
    'test/session/rulings.stale.test.ts',
  ],
  [
    'bytes are not compared after the exchange',
    'src/disk/replace.ts',
    'if (holds(old.fd, expected)) {',
    'if (expected !== undefined) {',
    'src/disk/replace.race.test.ts',
  ],
  [
    'the entries of the journal are not numbered',
    'src/store/chain.ts',
    'const seq = previous.seq + 1;',
    'const seq = 1;',
    'src/store/chain.test.ts',
  ],
  [
    'an undo merges without being asked, and a conflict is lost',
    'src/gate/undo/plan.ts',
    'if (merged === undefined) return this.#refuse(inverse, inverse, found);',
    'if (merged === undefined) return DONE;',
    'test/undo/undo.test.ts',
  ],
  // Quiet
  [
    'an empty file needs a read',
    'src/judge/judge.ts',
    "if (mayBeUnread && isEmptyAsKnown(facts)) return 'empty';",
    "if (!mayBeUnread && isEmptyAsKnown(facts)) return 'empty';",
    'test/scenarios',
  ],
  [
    'equal bytes are stale',
    'src/judge/rules/seeing.ts',
    'if (bringsWhatIsThere(facts)) return PASS;',
    'if (bringsWhatIsThere(facts) && facts.isRoot === true) return PASS;',
    'src/judge/rules/seeing.fresh.test.ts',
  ],
  [
    'an append needs a read',
    'src/judge/judge.ts',
    "if (facts.appends === true && policy.append === 'free' && refusal !== undefined)",
    "if (facts.appends === true && policy.append !== 'free' && refusal !== undefined)",
    'test/session/append.test.ts',
  ],
  // The seeds
  [
    'seeds: the diff of a command counts as a read',
    'src/judge/known.ts',
    "new Set(['output', 'cure'])",
    "new Set(['cure'])",
    'test/seeds/views.test.ts',
  ],
  [
    'seeds: `file-time` ignores a changed time',
    'src/judge/rules/seeing.ts',
    "if (policy.freshness === 'mtime' && facts.otherTime === true)",
    "if (policy.freshness === 'mtime' && facts.otherTime === false)",
    'test/presets/file-time.test.ts',
  ],
  [
    'seeds: an expired read still counts',
    'src/judge/rules/seeing.ts',
    'if (policy.ttlMs > 0 && facts.nowMs - sighting.atMs > policy.ttlMs)',
    'if (policy.ttlMs > 0 && facts.nowMs < 0)',
    'src/judge/rules/seeing.test.ts',
  ],
  [
    'seeds: find and search leave no entry',
    'src/gate/shown-entry.ts',
    "kind: 'look',",
    "kind: 'notice',",
    'test/seeds',
  ],
  [
    'seeds: hooks ignore the wording of the preset',
    'src/hooks/scene.ts',
    'wording: policy.preset, shellReads: true',
    "wording: 'default', shellReads: true",
    'test/seeds',
  ],
  // Doors
  [
    'hooks: a failure of ours lets the change pass',
    'src/hooks/answer-hook.ts',
    "if (call.onFailure === 'pass')",
    "if (call.onFailure !== 'pass')",
    'test/hooks/hosts.test.ts',
  ],
  [
    'hooks: an agent runs an operator command',
    'src/hooks/operator.ts',
    'if (found !== undefined) return forTheUser(',
    'if (found === undefined) return forTheUser(',
    'test/hooks/tampering.test.ts',
  ],
  [
    "hooks: a sweep over the user's work runs at once",
    'src/judge/destruction.ts',
    'if (things.length === 0) return undefined;',
    'if (things.length < 1000) return undefined;',
    'test/hooks/would-destroy.test.ts -t line.runs.only',
  ],
  [
    'proxy: an unknown tool runs in a read-only session',
    'src/proxy/calls.ts',
    '    !session.readOnly &&\n    (unknownTools',
    '    (unknownTools',
    'test/proxy/odd.test.ts',
  ],
  [
    'history: a failed call shows a file',
    'src/history/fold.ts',
    'if (!result.ok || call.ambiguous === true) return;',
    'if (call.ambiguous === true) return;',
    'test/history/conformance.test.ts',
  ],
];

const project = join(import.meta.dirname, '..');
const git = (...args) => execFileSync('git', args, { cwd: project, maxBuffer: 1 << 30 });
if (git('status', '--porcelain').length > 0) {
  process.stderr.write('error: commit or remove your changes first: the last commit is tested\n');
  process.exit(64);
}

const copy = mkdtempSync(join(tmpdir(), 'lookfirst-mutations-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
execFileSync('tar', ['-x', '-C', copy], { input: git('archive', 'HEAD') });
for (const shared of ['node_modules', 'dist']) symlinkSync(join(project, shared), join(copy, shared));

const wanted = process.argv.slice(2);
const chosen = MUTATIONS.filter(
  ([name]) => wanted.length === 0 || wanted.some((word) => name.includes(word)),
);
let unnoticed = 0;
for (const [name, file, kept, broken, test] of chosen) {
  const problem = problemOf({ file, kept, broken, test });
  if (problem !== undefined) unnoticed += 1;
  process.stdout.write(`${problem === undefined ? 'noticed  ' : 'UNNOTICED'}  ${name}${problem ?? ''}\n`);
}
process.stdout.write(`${chosen.length - unnoticed} of ${chosen.length} mutations noticed\n`);
process.exitCode = unnoticed === 0 ? 0 : 1;

/** The reason why no test has noticed a mutation; undefined if one has. */
function problemOf({ file, kept, broken, test }) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(kept).length !== 2) return `: ${file} does not contain its text exactly once`;
  writeFileSync(
    path,
    source.replace(kept, () => broken),
  );
  const output = run(test);
  writeFileSync(path, source);
  const [failed = 0] = /\d+(?= failed$)/m.exec(output) ?? [];
  // If a file of tests cannot be loaded, the mutation has broken a module instead of a promise.
  if (Number(failed) > 0 && !output.includes('Failed Suites')) return undefined;
  return `: ${test}\n${output.slice(-1000)}`;
}

function run(test) {
  const words = ['node_modules/vitest/vitest.mjs', 'run', '--project=!large-tools', ...test.split(' ')];
  const { LOOKFIRST_ATTACK: _long, ...env } = process.env;
  return spawnSync(process.execPath, words, { cwd: copy, env, encoding: 'utf8', maxBuffer: 1 << 28 }).stdout;
}
