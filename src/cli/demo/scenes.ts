import type { Stage } from '../stage.ts';
import type { DemoScene } from './scene.ts';

const ROUNDS = 10;

/** The five promises, each demonstrated with real calls on real files. */
export const SCENES: readonly DemoScene[] = [
  {
    title: 'A blind write',
    promise: 'an agent may only overwrite what it has read',
    play: async ({ stage, tell, act }) => {
      stage.put('notes.md', 'Three years of notes.\n');
      const blind = await act('write_file', { path: 'notes.md', content: 'TODO: notes\n' });
      const held = blind.code === 'NOT_READ' && stage.text('notes.md') === 'Three years of notes.\n';
      tell('file', `notes.md still says: ${stage.text('notes.md').trim()}`);
      return held;
    },
  },
  {
    title: 'Someone else edits the same file',
    promise: 'a change the agent did not see is shown to it, and never lost',
    play: async ({ stage, tell, act }) => {
      stage.put('settings.ini', 'colour = blue\nsize = 10\n\nport = 80\nhost = localhost\n');
      await act('read_file', { path: 'settings.ini' });
      save(stage, 'colour = blue', 'colour = green');
      tell('person', 'saves the same file in an editor: colour = green');
      const edit = { path: 'settings.ini', old_string: 'port = 80', new_string: 'port = 8080' };
      const merged = await act('edit_file', edit);
      const both = ['colour = green', 'port = 8080'].every((line) =>
        stage.text('settings.ini').includes(line),
      );
      tell('file', `has both changes: ${both ? 'yes' : 'no'}`);
      save(stage, 'size = 10', 'size = 11');
      tell('person', 'saves it again: size = 11');
      const old = 'colour = red\nsize = 10\n\nport = 8080\nhost = localhost\n';
      const stale = await act('write_file', { path: 'settings.ini', content: old });
      const kept = stage.text('settings.ini').includes('size = 11');
      tell('file', `still says size = 11: ${kept ? 'yes' : 'no'}`);
      return merged.ok && both && stale.code === 'STALE' && kept;
    },
  },
  {
    title: 'Two agents at once',
    promise: 'edits that happen at the same time all arrive',
    play: async ({ stage, agent, second, tell }) => {
      const jobs = Array.from({ length: 2 * ROUNDS }, (_, i) => `job ${String(i + 1).padStart(2, '0')}`);
      stage.put('jobs.txt', jobs.map((job) => `${job}: open\n`).join(''));
      const path = 'jobs.txt';
      for (const each of [agent, second]) await each.call('read_file', { path });
      const edits = jobs.map((job, i) => {
        const [each, name] = i % 2 === 0 ? [agent, 'agent 1'] : [second, 'agent 2'];
        return each.call('edit_file', { path, old_string: `${job}: open`, new_string: `${job}: ${name}` });
      });
      tell('agent', `and agent 2, in two processes, send ${edits.length} edits of one file at the same time`);
      await Promise.all(edits);
      const left = stage.text(path).split('open').length - 1;
      tell('file', `${2 * ROUNDS - left} of ${2 * ROUNDS} edits are there`);
      return left === 0;
    },
  },
  {
    title: 'A way out',
    promise: 'nothing outside of the workspace can be reached',
    play: async ({ stage, tell, act }) => {
      stage.putOutside('secret.txt', 'top secret\n', 'shortcut');
      const attempts = ['../outside/secret.txt', 'shortcut/secret.txt'];
      const codes: (string | undefined)[] = [];
      for (const path of attempts) codes.push((await act('read_file', { path })).code);
      codes.push((await act('write_file', { path: 'shortcut/new.txt', content: 'x' })).code);
      tell('file', `outside: ${stage.outsideText('secret.txt').trim()}, and nobody has seen it`);
      return codes.every((code) => code === 'OUTSIDE_WORKSPACE');
    },
  },
  {
    title: 'Undo',
    promise: 'every change can be taken back, also a deletion',
    play: async ({ stage, tell, act }) => {
      stage.put('thesis.txt', 'The only copy.\n');
      await act('read_file', { path: 'thesis.txt' });
      const gone = await act('delete_path', { path: 'thesis.txt' });
      const back = await act('undo_change', { change: gone.change ?? '' });
      if (back.ok) tell('file', `thesis.txt is back: ${stage.text('thesis.txt').trim()}`);
      return back.ok && stage.text('thesis.txt') === 'The only copy.\n';
    },
  },
];

function save(stage: Stage, from: string, to: string): void {
  stage.put(
    'settings.ini',
    stage.text('settings.ini').replace(from, () => to),
  );
}
