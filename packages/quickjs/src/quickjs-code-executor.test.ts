import { EventTag, ConfigurationError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { QuickJsCodeExecutor, type QuickJsCodeExecutorOptions } from './quickjs-code-executor.ts';

// Workers cannot compile WebAssembly at run time, so they import the engine.
const ENGINE =
  navigator.userAgent === 'Cloudflare-Workers' ? { wasmModule: (await import('./engine.wasm')).default } : {};

async function ask(steps: readonly ScriptedStep[], options: QuickJsCodeExecutorOptions = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
  const model = new ScriptedModel(steps);
  const agent = new LlmAgent({
    name: 'coder',
    model,
    codeExecutor: new QuickJsCodeExecutor({ ...ENGINE, ...options }),
  });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const file = { inlineData: { data: btoa('1\n2\n3'), mimeType: 'text/csv', displayName: 'n.csv' } };
  const newMessage = { parts: [{ text: 'add' }, file] };
  const events = await runner.run({ userId: 'u', sessionId: 's', newMessage });
  const results = events.flatMap((event) => event.content?.parts?.[0]?.codeExecutionResult ?? []);
  return { events, results, model };
}

test.each(['javascript', 'js'])('a block of %s is run, and the model gets its output', async (name) => {
  const code = 'const sum = files["n.csv"].split("\\n").map(Number).reduce((a, b) => a + b);\nconsole.log({ sum });';
  const { events, model } = await ask([`I count.\n\`\`\`${name}\n${code}\n\`\`\``, 'It is 6.']);
  expect(events.map(({ tags }) => tags)).toEqual([
    [EventTag.codeExecutionCode],
    [EventTag.codeExecutionResult],
    undefined,
  ]);
  expect(events[0]?.content?.parts?.[1]?.executableCode).toMatchObject({ code, language: 'JAVASCRIPT' });
  expect(model.requests[1]?.request.contents.at(-1)).toEqual({
    role: 'user',
    parts: [{ text: '```tool_output\n{ sum: 6 }\n```' }],
  });
});

test('the model gets the language and the files, and corrects code that failed', async () => {
  const { results, model } = await ask(['```js\nnull.x\n```', '```js\n"fixed"\n```', 'done']);
  expect(results).toMatchObject([
    { outcome: 'OUTCOME_FAILED', output: expect.stringContaining('code.js:1:') },
    { outcome: 'OUTCOME_OK', output: 'fixed' },
  ]);
  const instruction = String(model.requests[0]?.request.config.systemInstruction);
  expect(instruction).toContain('```javascript\n');
  expect(model.requests[0]?.request.contents[0]?.parts).toContainEqual({ text: 'File `n.csv` (text/csv):' });
});

test('endless code gives an error result, and the run continues', async () => {
  const { results, events } = await ask(['```js\nfor (;;);\n```', 'Too long.'], { maxOperations: 1e6 });
  expect(results).toMatchObject([{ outcome: 'OUTCOME_DEADLINE_EXCEEDED' }]);
  expect(events).toHaveLength(3);
});

test.each<ScriptedStep>([
  '```tool_code\nprint(1)\n```',
  { parts: [{ executableCode: { code: 'print(1)', language: 'PYTHON' } }] },
])('Python is not run, and the model gets an error: %j', async (step) => {
  const { results, events } = await ask([step, '```js\n"fixed"\n```', 'done']);
  expect(results).toMatchObject([
    { outcome: 'OUTCOME_FAILED', output: expect.stringContaining('javascript') },
    { outcome: 'OUTCOME_OK', output: 'fixed' },
  ]);
  expect(results[0]?.output).not.toContain('code.js');
  expect(events).toHaveLength(5);
});

test('the constructor refuses an invalid limit', () => {
  expect(() => new QuickJsCodeExecutor({ timeoutMs: -1 })).toThrow(ConfigurationError);
  expect(() => new QuickJsCodeExecutor({ timeoutMs: -1 })).toThrow('QuickJsCodeExecutor: timeoutMs: expected');
  expect(() => new QuickJsCodeExecutor({ memoryBytes: 1 })).toThrow('QuickJsCodeExecutor: memoryBytes: expected');
  expect(() => new QuickJsCodeExecutor({}, -1)).toThrow('QuickJsCodeExecutor: maxWaitMs: expected');
});
