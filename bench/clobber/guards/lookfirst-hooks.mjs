import { Hooks, undoing } from '../lookfirst.mjs';

/** Lookfirst's hooks, which compare the files before and after a command. */
export const guard = {
  name: 'Lookfirst: hooks, images',
  rank: 6,
  open(world) {
    const hooks = new Hooks(world);
    let undo;
    return {
      read: (call) => hooks.read(call),
      write: (call) => hooks.write(call),
      async run({ session, command, sh }) {
        undo ??= await undoing(world);
        const tool = async () => (await sh(command)).output;
        return hooks.call({ session, action: 'run', input: { command } }, tool);
      },
      recover: () => undo(),
      close: () => hooks.close(),
    };
  },
};
