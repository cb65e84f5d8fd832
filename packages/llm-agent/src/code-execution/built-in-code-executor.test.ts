import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { BuiltInCodeExecutor } from './built-in-code-executor.ts';

test('the built-in executor leaves running code to the model', async () => {
  const executor = new BuiltInCodeExecutor();
  expect(executor.runsInModel).toBe(true);
  await expect(executor.executeCode()).rejects.toBeInstanceOf(ConfigurationError);
});
