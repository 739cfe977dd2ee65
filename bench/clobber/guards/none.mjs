/** No guard. What dies here is what a scene is about. */
export const guard = {
  name: 'none',
  open: () => ({
    async run({ command, sh }) {
      await sh(command);
      return { refused: false };
    },
  }),
};
