import { ConfigurationError, getFunctionResponses } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { play } from './fixtures/play.ts';
import { TrackingScope } from './failure-counter.ts';
import { ReflectAndRetryToolPlugin, type ReflectAndRetryToolPluginOptions } from './reflect-and-retry-tool-plugin.ts';

const call = { calls: [{ name: 'divide', args: { by: 0 } }] };

/** A tool that fails for each true in the list, in order. */
function divide(...fails: boolean[]): FunctionTool {
  return new FunctionTool({
    name: 'divide',
    description: '',
    execute: () => {
      if (fails.shift()) throw new RangeError('by is 0');
      return { result: 1 };
    },
  });
}

/** Returns the responses of the tool in one run whose model calls it once per outcome. */
async function responses(plugin: ReflectAndRetryToolPlugin, tool: FunctionTool, calls: number) {
  const { run } = await play({
    plugins: [plugin],
    model: [...Array.from({ length: calls }, () => call), 'done'],
    agent: { tools: [tool] },
  });
  return (await run()).flatMap(getFunctionResponses).map(({ response }) => response);
}

test('the plugin sends the model the error and its arguments up to maxRetries times, and then fails the run', async () => {
  const plugin = new ReflectAndRetryToolPlugin({ maxRetries: 1 });
  const { run, model } = await play({
    plugins: [plugin],
    model: [call, call],
    agent: { tools: [divide(true, true)] },
  });
  await expect(run()).rejects.toThrow('by is 0');
  const reflection = model.requests[1]?.request.contents.at(-1)?.parts?.[0]?.functionResponse?.response;
  expect(reflection).toMatchObject({
    response_type: 'ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN',
    error_type: 'RangeError',
    error_details: 'by is 0',
    retry_count: 1,
    reflection_guidance: expect.stringMatching(
      /^The call of the tool `divide` failed\. This is retry attempt 1 of 1\./,
    ),
  });
  expect(reflection?.['reflection_guidance']).toContain('"by": 0');
});

test('a success resets the count', async () => {
  const reflection = await responses(new ReflectAndRetryToolPlugin({ maxRetries: 1 }), divide(true, false, true), 3);
  expect(reflection).toMatchObject([{ retry_count: 1 }, { result: 1 }, { retry_count: 1 }]);
});

test('the plugin asks the model to stop trying if the plugin may not throw', async () => {
  const plugin = new ReflectAndRetryToolPlugin({ maxRetries: 1, throwExceptionIfRetryExceeded: false });
  const [, last] = await responses(plugin, divide(true, true), 2);
  expect(last?.['reflection_guidance']).toMatch(
    /^The tool `divide` failed 2 times in a row and must not be called again/,
  );
});

test('no retry is allowed with maxRetries 0', async () => {
  await expect(responses(new ReflectAndRetryToolPlugin({ maxRetries: 0 }), divide(true), 1)).rejects.toThrow('by is 0');
});

test('arguments that do not match the schema are a failure', async () => {
  const tool = new FunctionTool({
    name: 'divide',
    description: '',
    parameters: { type: 'object', required: ['of'] },
    execute: () => 1,
  });
  expect(await responses(new ReflectAndRetryToolPlugin(), tool, 1)).toMatchObject([
    {
      error_type: 'InvalidRequestError',
      error_details: expect.stringContaining('does not have required property "of"'),
    },
  ]);
});

test('a subclass finds failures in results', async () => {
  class Strict extends ReflectAndRetryToolPlugin {
    override extractErrorFromResult({ result }: { result: unknown }): unknown {
      return (result as { ok?: boolean }).ok === false ? { code: 7 } : undefined;
    }
  }
  const tool = new FunctionTool({ name: 'divide', description: '', execute: () => ({ ok: false }) });
  expect(await responses(new Strict(), tool, 1)).toMatchObject([
    { error_type: 'ToolError', error_details: '{"code":7}' },
  ]);
});

test.each([
  [TrackingScope.INVOCATION, [1, 1]],
  [TrackingScope.GLOBAL, [1, 2]],
])('the plugin counts failures of two runs in the scope %s', async (trackingScope, counts) => {
  const plugin = new ReflectAndRetryToolPlugin({ trackingScope });
  const { run } = await play({
    plugins: [plugin],
    model: [call, 'done', call, 'done'],
    agent: { tools: [divide(true, true)] },
  });
  const events = [...(await run()), ...(await run())];
  expect(events.flatMap(getFunctionResponses).map(({ response }) => response?.['retry_count'])).toEqual(counts);
});

test.each<[ReflectAndRetryToolPluginOptions, string]>([
  [{ maxRetries: -1 }, 'ReflectAndRetryToolPlugin: maxRetries: expected an integer of at least 0, got the number -1'],
  [{ maxRetries: 1.5 }, 'maxRetries: expected an integer of at least 0, got the number 1.5'],
  [{ trackingScope: 'session' as never }, 'trackingScope: expected one of invocation, global, got "session"'],
])('%j is refused', (options, message) => {
  expect(() => new ReflectAndRetryToolPlugin(options)).toThrow(ConfigurationError);
  expect(() => new ReflectAndRetryToolPlugin(options)).toThrow(message);
});
