import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../support/tree.ts';
import { ProxyProcess } from './proxy-process.ts';

/**
 * A server with the official server's name. It answers a read when the file `go` exists, then
 * creates the file `answered`.
 */
const SERVER = `
const fs = require('node:fs');
const result = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
const text = (text) => ({ content: [{ type: 'text', text }] });
let rest = '';
process.stdin.on('end', () => process.exit());
process.stdin.on('data', (chunk) => {
  rest += chunk;
  const lines = rest.split('\\n');
  rest = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (method === 'initialize') {
      const serverInfo = { name: 'secure-filesystem-server', version: '1' };
      result(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
    } else if (method === 'tools/call' && params.name === 'read_text_file') {
      fs.writeFileSync('asked', '');
      const timer = setInterval(() => {
        if (!fs.existsSync('go')) return;
        clearInterval(timer);
        result(id, text(fs.readFileSync(params.arguments.path, 'utf8')));
        fs.writeFileSync('answered', '');
      }, 5);
    } else if (method === 'tools/call') {
      fs.writeFileSync(params.arguments.path, params.arguments.content);
      result(id, text('written'));
    }
  }
});
`;

it.skipIf(process.platform !== 'linux')(
  'a read does not license a write that was already in the pipe when the read was answered',
  async () => {
    const { root } = scratch();
    const path = join(root, 'a.txt');
    writeFileSync(path, 'one\n');
    const made = (name: string) => expect.poll(() => existsSync(join(root, name))).toBe(true);
    const { child, client } = await ProxyProcess.start(root, process.execPath, ['-e', SERVER]);
    await client.initialize();
    const read = client.call('read_text_file', { path });
    await made('asked');
    // Stop the proxy. Meanwhile, the server's answer arrives in one pipe, and then the client's
    // call in the other.
    child.kill('SIGSTOP');
    await expect.poll(() => readFileSync(`/proc/${child.pid}/stat`, 'utf8')).toMatch(/\) T /);
    writeFileSync(join(root, 'go'), '');
    await made('answered');
    const early = client.call('write_file', { path, content: 'early\n' });
    child.kill('SIGCONT');
    expect((await read).text).toBe('one\n');
    expect((await early).code).toBe('NOT_READ');
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect((await client.call('write_file', { path, content: 'later\n' })).ok).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('later\n');
  },
);
