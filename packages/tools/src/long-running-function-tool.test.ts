import { expect, test } from 'vitest';
import { FunctionTool } from './function-tool.ts';
import { LongRunningFunctionTool } from './long-running-function-tool.ts';

test('it is marked as long-running, which other function tools are only when told so', () => {
  const options = { name: 'approve', description: 'Asks for approval.', execute: () => undefined };
  expect(new LongRunningFunctionTool(options).isLongRunning).toBe(true);
  expect(new FunctionTool(options).isLongRunning).toBe(false);
  expect(new FunctionTool({ ...options, isLongRunning: true }).isLongRunning).toBe(true);
});

test('its description tells the model not to call it again for the same thing', () => {
  const tool = new LongRunningFunctionTool({
    name: 'approve',
    description: 'Asks for approval.',
    execute: () => undefined,
  });
  const { name, description } = tool._getDeclaration();
  expect(name).toBe('approve');
  expect(description).toMatch(/^Asks for approval\.\n\n.*do not call this tool again/);
  expect(tool.description).toBe('Asks for approval.');
  expect(tool._getDeclaration()).toBe(tool._getDeclaration());
});
