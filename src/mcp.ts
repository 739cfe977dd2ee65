export { DIALECT_NAMES, type DialectName } from './dialect/dialect-name.ts';
export { type ServeHttpOptions, type ServeStdioOptions, serveHttp, serveStdio } from './mcp/serve.ts';
export type { ToolAnswer } from './tools/tool-answer.ts';
export { createToolHost, type ToolHost, type ToolHostOptions } from './tools/tool-host.ts';
