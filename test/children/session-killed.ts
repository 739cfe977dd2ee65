// Makes the changes of one scenario and is killed before one of its steps: the one with a number, or the first one at
// which the tree is in a state.
import { MOMENTS, play } from '../support/killable.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly scene: string;
  readonly step?: number;
  readonly moment?: string;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const isReached = MOMENTS[settings.moment ?? ''];
let steps = 0;
await play(settings, settings.scene, () => {
  steps += 1;
  if (steps === settings.step || isReached?.(settings.root) === true) process.kill(process.pid, 'SIGKILL');
});
process.disconnect();
