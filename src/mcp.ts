export { DIALECT_NAMES, type DialectName } from './dialect/dialect-name.ts';
export { type ServeHttpOptions, type ServeStdioOptions, serveHttp, serveStdio } from './mcp/serve.ts';
export type { ToolHost, ToolResult } from './mcp/tool-host.ts';
export { createToolHost, type ToolHostOptions } from './mcp/tools-host.ts';
