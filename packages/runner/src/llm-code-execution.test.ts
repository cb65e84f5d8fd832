import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  BaseCodeExecutor,
  BuiltInCodeExecutor,
  type CodeExecutionOutput,
  type CodeExecutorOptions,
  ConfigurationError,
  EventTag,
  type ExecuteCodeParams,
  isFinalResponse,
  LlmCallLimitError,
  type Part,
  RunAbortedError,
  type RunConfig,
} from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, modelEvent, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const OK: CodeExecutionOutput = { stdout: '3\n', stderr: '' };
const FAILED: CodeExecutionOutput = { stdout: '', stderr: 'ValueError: no' };
const ASKS = 'Let me see.\n```python\nprint(1 + 2)\n```\nIt will be 4.';

/** Answers with what it was given, the last one again and again, and keeps what it was asked. */
class Scripted extends BaseCodeExecutor {
  readonly asked: ExecuteCodeParams[] = [];
  readonly #answers: (CodeExecutionOutput | Error | Gate)[];

  constructor(answers: (CodeExecutionOutput | Error | Gate)[] = [OK], options: CodeExecutorOptions = {}) {
    super(options);
    this.#answers = answers;
  }

  override async executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    this.asked.push(params);
    const answer = (this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0]) ?? OK;
    if (answer instanceof Error) throw answer;
    if (!(answer instanceof Gate)) return answer;
    await answer.pass(params.abortSignal);
    return OK;
  }
}

async function setUp(
  steps: readonly ScriptedStep[],
  codeExecutor: BaseCodeExecutor = new Scripted(),
  config: Partial<LlmAgentConfig> & { modelName?: string } = {},
) {
  const { modelName = 'scripted', ...agentConfig } = config;
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedModel(steps, { model: modelName });
  const agent = new LlmAgent({ name: 'coder', model, codeExecutor, ...agentConfig });
  const artifactService = new InMemoryArtifactService({ platform });
  const runner = new Runner({ appName: 'app', agent, sessionService, artifactService, platform });
  const ask = (parts: Part[] = [{ text: 'add' }], runConfig: RunConfig = {}, abortSignal?: AbortSignal) =>
    runner.run({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts },
      runConfig,
      ...(abortSignal && { abortSignal }),
    });
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  return { ask, runner, model, platform, stored, artifactService, sessionService };
}

test('code in a reply becomes an event, its result another, and the model goes on from there', async () => {
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

test('the code is committed before it is run', async () => {
  const gate = new Gate();
  const { runner, stored } = await setUp([ASKS, 'It is 3.'], new Scripted([gate]));
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'add' }] } });
  await gate.reached;
  expect((await stored()).at(-1)?.tags).toEqual([EventTag.codeExecutionCode]);
  gate.open();
  await running;
  expect(await stored()).toHaveLength(4);
});

test('an executableCode part of a model whose service did not run it is run', async () => {
  const executor = new Scripted();
  const parts = [{ executableCode: { code: '6 * 7', language: 'PYTHON', id: 'theirs' } }, { text: 'unseen' }];
  const { ask, model } = await setUp([{ parts }, 'done'], executor);
  const [code] = await ask();
  expect(code?.content?.parts).toHaveLength(1);
  expect(executor.asked[0]?.codeExecutionInput.code).toBe('6 * 7');
  expect(model.requests[1]?.request.contents[1]?.parts).toEqual([{ text: '```tool_code\n6 * 7\n```' }]);
});

test('streamed, the chunks come as they are and the whole is the reply up to its code', async () => {
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
  ['a reply that was cut short', { text: ASKS, response: { finishReason: 'MAX_TOKENS' } }],
  ['a reply with an error', { text: ASKS, response: { errorCode: 'SAFETY' } }],
])('%s runs nothing', async (_name, step) => {
  const executor = new Scripted();
  const { ask } = await setUp([step], executor);
  expect(await ask()).toHaveLength(1);
  expect(executor.asked).toEqual([]);
});

test('a reply that calls a function runs no code', async () => {
  const executor = new Scripted();
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => 'ok' });
  const { ask } = await setUp([{ text: ASKS, calls: [{ name: 'f', id: '1' }] }, 'done'], executor, { tools: [tool] });
  await ask();
  expect(executor.asked).toEqual([]);
});

test('a failure is told to the model, and the last of too many in a row leaves the reply as the answer', async () => {
  const executor = new Scripted([FAILED, OK, FAILED, FAILED]);
  const { ask, model } = await setUp([ASKS, ASKS, ASKS, ASKS, ASKS], executor);
  const events = await ask();
  const outcomes = events.flatMap((event) => event.content?.parts?.[0]?.codeExecutionResult?.outcome ?? []);
  expect(outcomes).toEqual(['OUTCOME_FAILED', 'OUTCOME_OK', 'OUTCOME_FAILED', 'OUTCOME_FAILED']);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: ASKS }]);
  expect(model.requests[1]?.request.contents.at(-1)?.parts).toEqual([{ text: '```tool_output\nValueError: no\n```' }]);
});

test('model calls for code count', async () => {
  const { ask } = await setUp([ASKS, ASKS]);
  await expect(ask(undefined, { maxLlmCalls: 2 })).rejects.toBeInstanceOf(LlmCallLimitError);
});

test('an executor that answers too late is told to stop, and the model that there is no result', async () => {
  const gate = new Gate();
  const executor = new Scripted([gate], { timeoutMs: 700 });
  const { runner, platform, stored } = await setUp([ASKS, 'Too slow.'], executor);
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'add' }] } });
  await gate.reached;
  platform.advance(699);
  expect(executor.asked[0]?.abortSignal.aborted).toBe(false);
  platform.advance(1);
  expect(executor.asked[0]?.abortSignal.aborted).toBe(true);
  await running;
  const result = (await stored()).at(-2)?.content?.parts?.[0]?.codeExecutionResult;
  expect(result?.outcome).toBe('OUTCOME_DEADLINE_EXCEEDED');
});

test('the wait for a result leaves no timer behind', async () => {
  const { ask, platform } = await setUp(['no code', ASKS, 'done']);
  await ask();
  const before = platform.pendingTimers;
  await ask();
  expect(platform.pendingTimers).toBe(before);
});

test('an abort of the run reaches the code and ends the run', async () => {
  const gate = new Gate();
  const executor = new Scripted([gate]);
  const { ask } = await setUp([ASKS], executor);
  const controller = new AbortController();
  const running = ask(undefined, {}, controller.signal);
  await gate.reached;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(executor.asked[0]?.abortSignal.aborted).toBe(true);
});

test('an abort ends the wait also while an executor does not listen to it', async () => {
  const gate = new Gate();
  class Deaf extends Scripted {
    override async executeCode(): Promise<CodeExecutionOutput> {
      await gate.pass();
      return OK;
    }
  }
  const { ask, platform } = await setUp([ASKS], new Deaf([OK], { timeoutMs: 12_345 }));
  const calledOff = Promise.withResolvers<void>();
  const schedule = platform.schedule.bind(platform);
  platform.schedule = (delayMs, callback, options) => {
    const cancel = schedule(delayMs, callback, options);
    if (delayMs !== 12_345) return cancel;
    return () => {
      cancel();
      calledOff.resolve();
    };
  };
  const controller = new AbortController();
  const running = ask(undefined, {}, controller.signal);
  await gate.reached;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  await calledOff.promise;
});

test('an executor that fails by itself fails the run', async () => {
  const error = new ConfigurationError('no sandbox');
  const { ask } = await setUp([ASKS], new Scripted([error]));
  await expect(ask()).rejects.toBe(error);
});

test('files that code wrote become artifacts, told in the event of the result', async () => {
  const outputFiles = [
    { name: 'plot.png', content: 'AAAA', mimeType: 'image/png' },
    { name: '../evil', content: 'AAAA', mimeType: 'text/plain' },
  ];
  const { ask, artifactService } = await setUp([ASKS, 'done'], new Scripted([{ ...OK, outputFiles }]));
  const [, result] = await ask();
  expect(result?.actions.artifactDelta).toEqual({ 'plot.png': 0 });
  expect(result?.content?.parts?.[0]?.codeExecutionResult).toMatchObject({
    outcome: 'OUTCOME_FAILED',
    output: expect.stringContaining('plot.png'),
  });
  expect(await artifactService.loadArtifact({ ...KEY, filename: 'plot.png' })).toEqual({
    inlineData: { data: 'AAAA', mimeType: 'image/png' },
  });
});

test('an executor gets the files of the message, and the model is told their names and how to have code run', async () => {
  const executor = new Scripted();
  const { ask, model } = await setUp([ASKS, 'done'], executor, { instruction: 'Be exact.' });
  const named = { inlineData: { data: 'YQ==', mimeType: 'text/csv', displayName: 'sales.csv' } };
  await ask([{ text: 'sum' }, named, { inlineData: { data: 'YQ==', mimeType: 'image/png' } }]);
  expect(executor.asked[0]?.codeExecutionInput.inputFiles).toEqual([
    { name: 'sales.csv', content: 'YQ==', mimeType: 'text/csv' },
    { name: 'file_2.png', content: 'YQ==', mimeType: 'image/png' },
  ]);
  const told = String(model.requests[0]?.request.config.systemInstruction);
  expect(told).toContain('Be exact.');
  expect(told).toContain('```tool_code\n');
  expect(told).toContain('`sales.csv`');
});

test('only a stateful executor is told by what to keep its state', async () => {
  const stateful = new Scripted([OK], { stateful: true });
  const { ask } = await setUp([ASKS, 'done'], stateful);
  await ask();
  expect(stateful.asked[0]?.codeExecutionInput.executionId).toBe('s');
});

test('code before the final answer is not held against its schema', async () => {
  const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
  const { ask } = await setUp([ASKS, '{"sum":3}'], new Scripted(), { outputSchema, outputKey: 'sum' });
  const events = await ask();
  expect(events.at(-1)?.actions.stateDelta).toEqual({ sum: { sum: 3 } });
});

test('delimiters of an executor’s own enclose what its model writes and reads', async () => {
  const executor = new Scripted([OK], {
    codeBlockDelimiters: [['<run>', '</run>']],
    executionResultDelimiters: ['<out>', '</out>'],
  });
  const { ask, model } = await setUp(['<run>1</run> hm', 'done'], executor);
  await ask();
  expect(model.requests[1]?.request.contents.slice(1)).toEqual([
    { role: 'model', parts: [{ text: '<run>1</run>' }] },
    { role: 'user', parts: [{ text: '<out>3</out>' }] },
  ]);
});

test('code of sessions that another ADK wrote is told as text as well', async () => {
  const { ask, model, sessionService } = await setUp(['done']);
  const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
  const parts = [{ executableCode: { code: '1', language: 'PYTHON' } }];
  await sessionService.appendEvent({ session, event: modelEvent('coder', parts, { id: 'theirs' }) });
  await ask();
  expect(model.requests[0]?.request.contents[0]?.parts).toEqual([{ text: '```tool_code\n1\n```' }]);
});

test('another agent reads code and results as text', async () => {
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

test('a model that runs code itself is asked to, its parts go back as they came, and nothing is run here', async () => {
  const code = { executableCode: { code: '6 * 7', language: 'PYTHON' } };
  const result = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42' } };
  const chunks = [[code], [result], 'It is 42.'];
  const { ask, model } = await setUp([{ chunks }, 'Yes.'], new BuiltInCodeExecutor(), {
    modelName: 'gemini-2.5-flash',
  });
  const events = await ask(undefined, { streamingMode: 'sse' });
  expect(events.map(({ object, tags }) => ({ object, tags }))).toEqual([
    { object: 'postprocessing.code_execution', tags: [EventTag.codeExecutionCode] },
    { object: 'postprocessing.code_execution', tags: [EventTag.codeExecutionResult] },
    { object: undefined, tags: undefined },
    { object: undefined, tags: [EventTag.codeExecutionCode, EventTag.codeExecutionResult] },
  ]);
  expect(model.requests[0]?.request.config.tools).toEqual([{ codeExecution: {} }]);
  await ask([{ text: 'sure?' }]);
  expect(model.requests[1]?.request.contents[1]?.parts).toEqual([code, result, { text: 'It is 42.' }]);
});

test.each([
  ['gemini-1.5-pro', false],
  ['claude-4', false],
  ['my-gemini-2.5', false],
  ['gemini-3-pro-preview', true],
  ['gemini-flash-latest', true],
  ['models/gemini-2.0-flash', true],
])('of models, Gemini 2 and later run code themselves: %s %s', async (modelName, runs) => {
  const { ask } = await setUp(['ok'], new BuiltInCodeExecutor(), { modelName });
  if (runs) await expect(ask()).resolves.toHaveLength(1);
  else await expect(ask()).rejects.toBeInstanceOf(ConfigurationError);
});
