import { statSync } from 'node:fs';
import { join } from 'node:path';

const WRITES = /\b(rm|unlink|mv|cp|tee|truncate|install|sed\s+-i|perl\s+-pi|git\s+(checkout|restore|rm))\b|>/;

/** Refuses lines that write if they name a file that is newer than this session's last look at it. */
export const guard = {
  name: 'modification times of named files',
  rank: 4,
  open({ root }) {
    const seen = new Map();
    const time = (path) => statSync(join(root, path), { throwIfNoEntry: false });
    const look = ({ path }) => seen.set(path, time(path)?.mtimeMs);
    return {
      read: look,
      write({ session, path, make }) {
        make();
        if (session === 'agent') look({ path });
      },
      async run({ command, sh }) {
        const stale = (word) => time(word)?.isFile() && time(word).mtimeMs !== seen.get(word);
        const words = command.split(/[\s;&|<>'"]+/);
        const path = WRITES.test(command) ? words.find(stale) : undefined;
        if (path !== undefined) return { refused: true, text: `read ${path} first` };
        await sh(command);
        return { refused: false };
      },
    };
  },
};
