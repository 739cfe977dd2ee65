// Loaded before the program under test (`moment` in table.ts). Makes another program write, or the
// disk fail, at an exact moment of a change, so that a race does not depend on timing.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const [name, file] = JSON.parse(process.env['LOOKFIRST_MOMENT']);
const native = createRequire(process.argv[1])('fs-native-extensions');
const exchange = native.swapSync;
let exchanges = 0;

/** Saves as many editors do: a new file, renamed onto the old one. */
function save(change) {
  const text = change(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(`${file}.saving`, text);
  fs.renameSync(`${file}.saving`, file);
}

const moments = {
  // Another program saves the file just before our commit exchanges it. It saves again just after
  // the exchange, based on our new bytes.
  'two saves': () => {
    native.swapSync = (from, to) => {
      exchanges += 1;
      if (exchanges === 1) save(() => 'theirs 1\n');
      exchange(from, to);
      if (exchanges === 1) save((text) => `${text}theirs 2\n`);
    };
  },
  // Another program appends a line just before our first and just before our second try to commit.
  // Both tries find unexpected bytes and exchange the files back.
  appending: () => {
    native.swapSync = (from, to) => {
      exchanges += 1;
      if (exchanges === 1 || exchanges === 3) fs.appendFileSync(file, 'appended\n');
      exchange(from, to);
    };
  },
  // Prints how long a client may take to send one HTTP request.
  'request limit': () => {
    const { createServer } = http;
    http.createServer = (...args) => {
      const server = createServer(...args);
      process.stderr.write(`request limit: ${server.requestTimeout} ms\n`);
      return server;
    };
    syncBuiltinESMExports();
  },
  'failing unlink': () => {
    const unlink = fs.unlinkSync;
    fs.unlinkSync = (path) => {
      if (String(path).includes('.lookfirst-'))
        throw Object.assign(new Error('EIO: i/o error, unlink'), { code: 'EIO', syscall: 'unlink' });
      unlink(path);
    };
    syncBuiltinESMExports();
  },
};
moments[name]();
