// Makes the changes of one scenario and is killed before one of its steps.
import { play } from '../support/killable.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly scene: string;
  readonly step: number;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
let steps = 0;
await play(settings, settings.scene, () => {
  steps += 1;
  if (steps === settings.step) process.kill(process.pid, 'SIGKILL');
});
process.disconnect();
