import { ConfigurationError, type ExecuteCodeParams } from '@eventloom/core';
import { expect, test } from 'vitest';
import { BuiltInCodeExecutor } from './built-in-code-executor.ts';

test("BuiltInCodeExecutor rejects executeCode, because the model's service runs the code", async () => {
  const executor = new BuiltInCodeExecutor();
  expect(executor.runsInModel).toBe(true);
  await expect(executor.executeCode({} as ExecuteCodeParams)).rejects.toBeInstanceOf(ConfigurationError);
});
