export { DIALECT_NAMES, type DialectName } from './dialect/dialect-name.ts';
export { type ServeHttpOptions, type ServeStdioOptions, serveHttp, serveStdio } from './mcp/serve.ts';
export { createToolHost, type ToolHost, type ToolHostOptions } from './tools/tool-host.ts';
export type { ToolResult } from './tools/tool-result.ts';
