// A small MCP server that Lookfirst does not know. Its two tools are named like those of the
// official server.
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const tools = {
  read_multiple_files: ({ paths }) =>
    text(paths.map((path) => `${path}:\n${readFileSync(path, 'utf8')}\n`).join('\n---\n')),
  write_file: ({ path, content }) => {
    writeFileSync(path, content);
    return text('written');
  },
};
const serverInfo = { name: 'unknown', version: '1' };

function answer({ method, params }) {
  if (method === 'initialize')
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
  if (method === 'tools/list')
    return { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) };
  return tools[params.name](params.arguments);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answer(message) })}\n`);
});
