export { DIALECT_NAMES, type DialectName } from './dialect/dialect-name.ts';
export { type ServeHttpOptions, type ServeStdioOptions, serveHttp, serveStdio } from './mcp/serve.ts';
