import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shellScript } from '../../../build/cli/clients/hook-scripts.js';
import { Hooks, PROGRAM, undoing, withoutSandbox } from '../lookfirst.mjs';

/** Lookfirst's hooks with `hooks.shell: layer`: the shell writes to a layer, which is committed afterwards. */
export const guard = {
  name: 'Lookfirst: hooks, layer',
  rank: 7,
  missing: withoutSandbox,
  open(world) {
    const shell = join(world.state, 'lookfirst-shell');
    writeFileSync(
      shell,
      shellScript({ home: world.state, node: PROGRAM[0], program: PROGRAM[1], uid: process.getuid() }),
    );
    chmodSync(shell, 0o755);
    const hooks = new Hooks(world, shell);
    let undo;
    return {
      read: (call) => hooks.read(call),
      write: (call) => hooks.write(call),
      async run({ session, command }) {
        undo ??= await undoing(world);
        return hooks.shellCall({ session, command });
      },
      recover: () => undo(),
      close: () => hooks.close(),
    };
  },
};
