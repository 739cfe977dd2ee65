// A server made with the official SDK, with tools like those of the official filesystem server. It
// speaks the MCP revisions with sessions and the one without. Usage: `modern-server.mjs stdio`, or
// `modern-server.mjs http`, which prints its address.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

function build() {
  const server = new McpServer(
    { name: 'secure-filesystem-server', version: '9' },
    { instructions: 'Be careful.' },
  );
  const answer = (content) => ({
    content: [{ type: 'text', text: content }],
    structuredContent: { content },
  });
  const outputSchema = z.object({ content: z.string() });
  server.registerTool(
    'read_text_file',
    {
      inputSchema: z.object({
        path: z.string().meta({ 'x-mcp-header': 'Path' }),
        head: z.number().optional(),
      }),
      outputSchema,
      annotations: { readOnlyHint: true },
    },
    async ({ path }) => answer(readFileSync(path, 'utf8')),
  );
  server.registerTool(
    'write_file',
    { inputSchema: z.strictObject({ path: z.string(), content: z.string() }), outputSchema },
    async ({ path, content }) => {
      writeFileSync(path, content);
      return answer('written');
    },
  );
  for (const name of ['list_directory_with_sizes', 'directory_tree', 'list_allowed_directories'])
    server.registerTool(name, { inputSchema: z.object({}) }, async () => answer('none'));
  server.registerTool(
    'count',
    { inputSchema: z.object({ to: z.number() }), annotations: { readOnlyHint: true } },
    async ({ to }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= to; progress += 1)
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: to },
        });
      return answer(`counted to ${to}`);
    },
  );
  server.registerTool('confirm', { inputSchema: z.object({}) }, async (_args, ctx) => {
    const schema = z.object({ sure: z.boolean() });
    const given = acceptedContent(ctx.mcpReq.inputResponses, 'confirm', schema);
    if (given !== undefined) return answer(`sure: ${given.sure}`);
    const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] };
    return inputRequired({
      inputRequests: { confirm: inputRequired.elicit({ mode: 'form', message: 'Sure?', requestedSchema }) },
    });
  });
  server.registerTool(
    'hold',
    { inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    (_args, ctx) => {
      process.stderr.write('holding\n');
      return new Promise((_resolve, fail) => {
        ctx.mcpReq.signal.addEventListener('abort', () => {
          process.stderr.write('aborted\n');
          fail(new Error('aborted'));
        });
      });
    },
  );
  server.registerTool(
    'region',
    {
      inputSchema: z.object({ where: z.string().meta({ 'x-mcp-header': 'Region' }) }),
      annotations: { readOnlyHint: true },
    },
    async ({ where }, ctx) => answer(`${where} ${ctx.http?.req?.headers.get('mcp-param-region') ?? ''}`),
  );
  server.registerTool(
    'grow',
    { inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    async () => {
      server.sendToolListChanged();
      return answer('grown');
    },
  );
  server.registerResource('note', 'note://one', {}, async (uri) => ({
    contents: [{ uri: uri.href, text: 'a note' }],
  }));
  server.registerResource('file', 'file:///etc/hostname', {}, async (uri) => ({
    contents: [{ uri: uri.href, text: 'x' }],
  }));
  return server;
}

if (process.argv[2] === 'http') {
  const handler = toNodeHandler(createMcpHandler(build, { maxRequestBodySize: 64 << 20 }), {
    maxRequestBodySize: 64 << 20,
  });
  const http = createServer((req, res) => void handler(req, res));
  http.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${http.address().port}/mcp\n`));
} else serveStdio(build);
