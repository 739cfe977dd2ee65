/**
 * Plain `knip` finds what neither the package nor its tests use. `knip --production` finds what only tests use; there,
 * a function that its own file needs may be exported for its unit tests.
 *
 * @param {{ production?: boolean }} flags
 */
export default ({ production = false }) => ({
  ignoreExportsUsedInFile: production,
  entry: [
    'src/ai-sdk.ts!',
    'src/anthropic.ts!',
    'src/bin.ts!',
    'src/claude-agent-sdk.ts!',
    'src/index.ts!',
    'src/main.ts!',
    'src/mcp.ts!',
    'src/langchain.ts!',
    'src/openai.ts!',
    'src/opencode.ts!',
    'src/postgres.ts!',
    'src/sqlite.ts!',
    'src/viewer/page/main.ts!',
    'scripts/*.mjs',
    'bench/*.mjs',
    'bench/clobber/random.mjs',
    'bench/clobber/guards/*.mjs',
    'test/**/*.test.ts',
    'test/adapters/entry-points.ts',
    'test/children/*',
  ],
  project: ['src/**/*.ts!', 'test/**/*.ts', 'bench/**', 'scripts/**'],
  // scripts/man.mjs imports the built file.
  ignoreIssues: { 'src/cli/help-text.ts': ['exports'] },
  ignoreBinaries: ['groff', 'mkfifo', 'strace', 'unshare'],
  ignoreDependencies: [
    '@modelcontextprotocol/server-everything',
    // The browser tests load the file of this package into the page.
    'axe-core',
    '@anthropic-ai/claude-agent-sdk',
    '@anthropic-ai/sdk',
    '@langchain/core',
    '@openai/agents',
    'ai',
    'ai6',
    'deepagents',
    'langchain',
    'pg',
  ],
});
