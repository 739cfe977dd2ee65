import { environment, Hooks, PROGRAM, undoing, withoutSandbox } from '../lookfirst.mjs';

/** `lookfirst run`: the command runs on a layer, started by the agent itself. */
export const guard = {
  name: 'Lookfirst: lookfirst run',
  rank: 8,
  missing: withoutSandbox,
  open(world) {
    const hooks = new Hooks(world);
    let undo;
    return {
      read: (call) => hooks.read(call),
      write: (call) => hooks.write(call),
      async run({ session, command }) {
        undo ??= await undoing(world);
        const [node, ...program] = PROGRAM;
        const args = [...program, 'run', '--session', session, '--', 'bash', '-c', command];
        const { code, stderr } = await world.start(node, args, environment(world));
        return { refused: code === 2 && /\[[A-Z_]+\]/.test(stderr), text: stderr };
      },
      recover: () => undo(),
      close: () => hooks.close(),
    };
  },
};
