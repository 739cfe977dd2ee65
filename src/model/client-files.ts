/**
 * Files in which coding agents keep their hooks and servers, and in which `lookfirst init` writes entries. Case is
 * ignored, as some file systems do.
 */
export const CLIENT_FILES: RegExp =
  /(^|\/)(\.claude\/settings(\.local)?\.json|\.codex\/(hooks\.json|config\.toml)|\.gemini\/settings\.json|\.cursor\/(hooks|mcp)\.json|\.github\/hooks\/lookfirst\.json|\.vscode\/mcp\.json|\.mcp\.json|opencode\.jsonc?)$/i;
