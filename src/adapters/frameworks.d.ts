/**
 * The few values that adapters take from frameworks while they run, so that this project compiles without the frameworks.
 * `test/adapters` checks the adapters against the real types.
 */
declare module '@anthropic-ai/sdk/lib/tools/ToolError' {
  export class ToolError extends Error {
    constructor(content: string);
  }
}
