/** The folders under `packages` that may use Node. All other package sources are neutral: only web standards. */
export const nodeOnlyFolders: readonly string[] = [
  'packages/core/src/internal/node',
  'packages/sessions/src/sqlite',
  'packages/artifacts/src/fs',
  'packages/memory/src/sqlite',
  'packages/credentials/src/sqlite',
  'packages/server/src/node',
  'packages/studio/src/node',
  'packages/dev/src/node',
  'packages/testing/src/fake-gemini',
  'packages/quickjs/src/node',
  'packages/adk/src/node',
  'packages/tools/src/node',
  'packages/plugins/src/node',
  'packages/mcp/src/node',
  'packages/llm-agent/src/node',
  'packages/skills/src/node',
];
