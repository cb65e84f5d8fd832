import { expect, test } from 'vitest';
import { adkHint } from './adk-names.ts';

const noExport = (module: string, name: string): string =>
  `The requested module '${module}' does not provide an export named '${name}'`;

test.each([
  [noExport('eventloom', 'GOOGLE_SEARCH'), '; use a tool of ten lines: docs/guide/from-adk.md#not-there instead'],
  [noExport('@eventloom/core', 'LLMRegistry'), '; use models in the options of Runner instead'],
  [noExport('eventloom', 'constructor'), '; docs/reference/eventloom.md lists all names'],
  [noExport('zod', 'GOOGLE_SEARCH'), ''],
  ["Cannot find package '@google/adk' imported from /agents/a/agent.ts", "; write import { … } from 'eventloom'"],
  ['missing is not defined', ''],
])('the hint for %j is %j', (message, hint) => {
  expect(adkHint(message)).toBe(hint);
});
