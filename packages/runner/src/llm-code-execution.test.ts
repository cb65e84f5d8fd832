import { EventTag, isFinalResponse, LlmCallLimitError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { fixedPlatform, Gate, modelEvent, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { ASKS, FAILED, OK, Scripted, setUp } from './fixtures/code-run.ts';
import { KEY } from './fixtures/scenario.ts';

test('code in a reply and its result become events, and the model continues', async () => {
  const executor = new Scripted();
  const { ask, model } = await setUp([ASKS, 'It is 3.'], executor);
  const events = await ask();
  const [code, result, answer] = events;
  const { id } = code?.content?.parts?.[1]?.executableCode ?? expect.unreachable();

  expect(events).toHaveLength(3);
  expect(code).toMatchObject({
    author: 'coder',
    object: 'postprocessing.code_execution',
    tags: [EventTag.codeExecutionCode],
  });
  expect(code?.content).toEqual({
    role: 'model',
    parts: [{ text: 'Let me see.\n' }, { executableCode: { id, code: 'print(1 + 2)', language: 'PYTHON' } }],
  });
  expect(result).toMatchObject({
    author: 'coder',
    object: 'postprocessing.code_execution',
    tags: [EventTag.codeExecutionResult],
    content: { parts: [{ codeExecutionResult: { id, outcome: 'OUTCOME_OK', output: '3' } }] },
  });
  expect(answer?.content?.parts).toEqual([{ text: 'It is 3.' }]);
  expect(answer?.tags).toBeUndefined();
  expect(result && isFinalResponse(result)).toBe(false);
  expect(executor.asked[0]?.codeExecutionInput).toEqual({ code: 'print(1 + 2)', language: 'python', inputFiles: [] });
  expect(model.requests[1]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'add' }] },
    { role: 'model', parts: [{ text: 'Let me see.\n' }, { text: '```tool_code\nprint(1 + 2)\n```' }] },
    { role: 'user', parts: [{ text: '```tool_output\n3\n```' }] },
  ]);
});

test('the code event is committed before the code runs', async () => {
  const gate = new Gate();
  const { runner, stored } = await setUp([ASKS, 'It is 3.'], new Scripted([gate]));
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'add' }] } });
  await gate.reached;
  expect((await stored()).at(-1)?.tags).toEqual([EventTag.codeExecutionCode]);
  gate.open();
  await running;
  expect(await stored()).toHaveLength(4);
});

test('an executableCode part without a result is run', async () => {
  const executor = new Scripted();
  const parts = [{ executableCode: { code: '6 * 7', language: 'PYTHON', id: 'theirs' } }, { text: 'unseen' }];
  const { ask, model } = await setUp([{ parts }, 'done'], executor);
  const [code] = await ask();
  expect(code?.content?.parts).toHaveLength(1);
  expect(executor.asked[0]?.codeExecutionInput.code).toBe('6 * 7');
  expect(model.requests[1]?.request.contents[1]?.parts).toEqual([{ text: '```tool_code\n6 * 7\n```' }]);
});

test('with streaming, chunks are yielded unchanged and the whole reply ends at its code', async () => {
  const { ask } = await setUp([{ chunks: ['```python\n', '1\n```', ' so 2'] }, 'done']);
  const events = await ask(undefined, { streamingMode: 'sse' });
  const reply = events.filter((event) => event.responseId !== undefined && event.responseId === events[0]?.responseId);
  expect(reply.map((event) => event.partial)).toEqual([true, true, true, undefined]);
  expect(reply.at(-1)?.content?.parts).toMatchObject([{ executableCode: { code: '1' } }]);
});

test.each<[string, ScriptedStep]>([
  ['a thought', { thought: ASKS, text: 'no code' }],
  ['a block without an end', '```python\nprint(1)'],
  ['an empty block', '```python\n\n```'],
  ['a block of another language', '```sql\nselect 1\n```'],
  ['an incomplete reply', { text: ASKS, response: { finishReason: 'MAX_TOKENS' } }],
  ['a reply with an error', { text: ASKS, response: { errorCode: 'SAFETY' } }],
])('%s runs nothing', async (_name, step) => {
  const executor = new Scripted();
  const { ask } = await setUp([step], executor);
  expect(await ask()).toHaveLength(1);
  expect(executor.asked).toEqual([]);
});

test('a reply with function calls runs no code', async () => {
  const executor = new Scripted();
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => 'ok' });
  const { ask } = await setUp([{ text: ASKS, calls: [{ name: 'f', id: '1' }] }, 'done'], executor, { tools: [tool] });
  await ask();
  expect(executor.asked).toEqual([]);
});

test('the model gets the errors of its code; after errorRetryAttempts failures its reply is the final answer', async () => {
  const executor = new Scripted([FAILED, OK, FAILED, FAILED]);
  const { ask, model } = await setUp([ASKS, ASKS, ASKS, ASKS, ASKS], executor);
  const events = await ask();
  const outcomes = events.flatMap((event) => event.content?.parts?.[0]?.codeExecutionResult?.outcome ?? []);
  expect(outcomes).toEqual(['OUTCOME_FAILED', 'OUTCOME_OK', 'OUTCOME_FAILED', 'OUTCOME_FAILED']);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: ASKS }]);
  expect(model.requests[1]?.request.contents.at(-1)?.parts).toEqual([{ text: '```tool_output\nValueError: no\n```' }]);
});

test('model calls after code count towards maxLlmCalls', async () => {
  const { ask } = await setUp([ASKS, ASKS]);
  await expect(ask(undefined, { maxLlmCalls: 2 })).rejects.toBeInstanceOf(LlmCallLimitError);
});

test('code before the final answer is not validated against the output schema', async () => {
  const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
  const { ask } = await setUp([ASKS, '{"sum":3}'], new Scripted(), { outputSchema, outputKey: 'sum' });
  const events = await ask();
  expect(events.at(-1)?.actions.stateDelta).toEqual({ sum: { sum: 3 } });
});

test('code in sessions of another ADK is sent as text', async () => {
  const { ask, model, sessionService } = await setUp(['done']);
  const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
  const parts = [{ executableCode: { code: '1', language: 'PYTHON' } }];
  await sessionService.appendEvent({ session, event: modelEvent('coder', parts, { id: 'theirs' }) });
  await ask();
  expect(model.requests[0]?.request.contents[0]?.parts).toEqual([{ text: '```tool_code\n1\n```' }]);
});

test('another agent gets code and results as text', async () => {
  const { ask, sessionService } = await setUp([ASKS, 'It is 3.']);
  await ask();
  const model = new ScriptedModel(['I see.']);
  const reader = new LlmAgent({ name: 'reader', model });
  const runner = new Runner({ appName: 'app', agent: reader, sessionService, platform: fixedPlatform() });
  await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'and?' }] } });
  const parts = model.requests[0]?.request.contents.flatMap((content) => content.parts ?? []) ?? [];
  expect(parts.every((part) => part.text !== undefined)).toBe(true);
  expect(parts.map((part) => part.text)).toEqual(
    expect.arrayContaining(['[coder] ran code:\n```python\nprint(1 + 2)\n```']),
  );
});
