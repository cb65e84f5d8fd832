import { fileURLToPath } from 'node:url';
import { ConfigurationError, type Content, type FunctionCall } from '@eventloom/core';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import {
  AsyncQueue,
  BackgroundTool,
  FunctionTool,
  getBackgroundToolParams,
  getFunctionCalls,
  getFunctionResponses,
  getLogger,
  InMemoryRunner,
  LlmAgent,
  stringifyContent,
} from './index.ts';

const scriptPath = fileURLToPath(new URL('fixtures/calculation.ts', import.meta.url));
const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const says = (text: string): Content => ({ role: 'user', parts: [{ text }] });

async function setUp(steps: readonly ScriptedStep[], others: readonly FunctionTool[] = []) {
  const tool = new BackgroundTool({
    name: 'calculate',
    description: 'Calculates for long.',
    parameters: z.object({ start: z.number() }),
    scriptPath,
  });
  const model = new ScriptedModel(steps);
  const agent = new LlmAgent({ name: 'helper', model, tools: [tool, ...others] });
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  await runner.sessionService.createSession(KEY);
  return { model, runner };
}

const call = (start: number): ScriptedStep => ({ calls: [{ name: 'calculate', args: { start } }] });

/** The events of a stream: texts by author, and the responses of tools. The user answers each question of the tool. */
async function play(runner: InMemoryRunner, answer: string): Promise<unknown[]> {
  const inputStream = new AsyncQueue<Content>();
  inputStream.push(says('Calculate.'));
  const seen: unknown[] = [];
  for await (const event of runner.runStream({ userId: 'ann', sessionId: 's', inputStream })) {
    const text = stringifyContent(event);
    if (text) seen.push(`${event.author}: ${text}`);
    if (text.startsWith('Start at')) inputStream.push(says(answer));
    if (text === 'Done.') inputStream.close();
  }
  return seen;
}

test('a background tool asks the user, and gives its result to the model', async () => {
  const { model, runner } = await setUp([call(10), 'Done.']);
  expect(await play(runner, 'Yes')).toEqual(['user: Calculate.', 'helper: Start at 10?', 'user: Yes', 'helper: Done.']);
  const last = model.requests[1]?.request.contents.at(-1);
  expect(last?.parts).toEqual([{ functionResponse: { name: 'calculate', response: { result: 20 } } }]);
  const stored = (await runner.sessionService.getSession(KEY))?.events ?? [];
  expect(stored.map((event) => `${event.author}: ${stringifyContent(event)}`)).toEqual(
    expect.arrayContaining(['helper: Start at 10?', 'user: Yes', 'helper: Done.']),
  );
});

test.each([
  ['fails after the answer of the user', 10, 'No', 'The user stopped the calculation.'],
  [
    'returns what JSON would lose',
    10,
    'Mean',
    'calculate: the script returned a value that is not JSON: the result at mean is NaN, which JSON cannot represent',
  ],
  ['throws', -1, '', 'cannot start at -1'],
  ['ends without a result', 0, '', 'calculate: the script ended without a result'],
])('the model reads the error of a background tool that %s', async (_title, start, answer, error) => {
  const { model, runner } = await setUp([call(start), 'Done.']);
  await play(runner, answer);
  const last = model.requests[1]?.request.contents.at(-1);
  expect(last?.parts?.[0]?.functionResponse?.response).toEqual({ error });
});

test('a stream ends when its messages have ended and no background tool works', async () => {
  const { model, runner } = await setUp([call(-1), 'Done.']);
  async function* messages(): AsyncGenerator<Content> {
    yield says('Calculate.');
  }
  const texts: string[] = [];
  for await (const event of runner.runStream({ userId: 'ann', sessionId: 's', inputStream: messages() }))
    texts.push(stringifyContent(event));
  expect(texts.at(-1)).toBe('Done.');
  expect(model.requests).toHaveLength(2);
});

test('a script that asks after the messages have ended gets no answer: its call is an error, and the stream ends', async () => {
  const { model, runner } = await setUp([call(10), 'Done.']);
  async function* messages(): AsyncGenerator<Content> {
    yield says('Calculate.');
  }
  const texts: string[] = [];
  for await (const event of runner.runStream({ userId: 'ann', sessionId: 's', inputStream: messages() }))
    texts.push(stringifyContent(event));
  expect(texts.slice(-2)).toEqual(['Start at 10?', 'Done.']);
  expect(model.requests[1]?.request.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({
    error: 'the script asked the user, and the messages of the user have ended',
  });
});

test('a reader that stops ends the threads, and the session can run again', async () => {
  const { runner } = await setUp([call(10), 'Hello again.']);
  const inputStream = new AsyncQueue<Content>();
  inputStream.push(says('Calculate.'));
  for await (const event of runner.runStream({ userId: 'ann', sessionId: 's', inputStream }))
    if (stringifyContent(event) === 'Start at 10?') break;
  inputStream.close();
  const again = new AsyncQueue<Content>();
  again.push(says('Hello.'));
  again.close();
  const texts: string[] = [];
  for await (const event of runner.runStream({ userId: 'ann', sessionId: 's', inputStream: again }))
    texts.push(stringifyContent(event));
  expect(texts).toEqual(['Hello.', 'Hello again.']);
});

test('an abort ends a stream that waits', async () => {
  const { runner } = await setUp([call(10)]);
  const inputStream = new AsyncQueue<Content>();
  inputStream.push(says('Calculate.'));
  const abort = new AbortController();
  const texts: string[] = [];
  const stream = runner.runStream({ userId: 'ann', sessionId: 's', inputStream, abortSignal: abort.signal });
  for await (const event of stream) {
    texts.push(stringifyContent(event));
    if (texts.at(-1) === 'Start at 10?') abort.abort();
  }
  expect(texts.at(-1)).toBe('Start at 10?');
});

test('an approval that comes while a script asks approves its call, and the script gets the next text', async () => {
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: true,
    execute: () => ({ paid: true }),
  });
  const { model, runner } = await setUp(
    [{ calls: [...(call(10) as { calls: [] }).calls, { name: 'pay', args: {} }] }, 'Wait.', 'Paid.', 'Done.', 'Done.'],
    [pay],
  );
  const inputStream = new AsyncQueue<Content>();
  inputStream.push(says('Calculate and pay.'));
  const responses: unknown[] = [];
  let request: FunctionCall | undefined;
  let isAsking = false;
  let isAnswered = false;
  for await (const event of runner.runStream({ userId: 'ann', sessionId: 's', inputStream })) {
    request ??= getFunctionCalls(event).find(({ name }) => name === 'adk_request_confirmation');
    for (const { name, response } of getFunctionResponses(event)) responses.push([name, response]);
    const text = stringifyContent(event);
    isAsking ||= text.startsWith('Start at');
    if (isAsking && request && !isAnswered) {
      isAnswered = true;
      const { id = '', name = '' } = request;
      inputStream.push({ role: 'user', parts: [{ functionResponse: { id, name, response: { confirmed: true } } }] });
      inputStream.push(says('Yes'));
    }
    if (responses.length > 0 && text !== '' && isAnswered) inputStream.close();
  }
  expect(responses).toContainEqual(['pay', { paid: true }]);
  expect(model.requests.at(-1)?.request.contents.flatMap(({ parts = [] }) => parts)).toContainEqual({
    functionResponse: { name: 'calculate', response: { result: 20 } },
  });
});

test.each([undefined, {}, { inputStream: ['hi'] }, { inputStream: says('hi') }])(
  'a stream is refused with %j as its parameters',
  async (given) => {
    const { runner } = await setUp([]);
    const params = given && { userId: 'ann', sessionId: 's', ...given };
    await expect(runner.runStream(params as never).next()).rejects.toThrow(/^runStream: /);
  },
);

test('a second stream of a session is refused while the first one runs', async () => {
  const { runner } = await setUp(['Hello.']);
  const inputStream = new AsyncQueue<Content>();
  inputStream.push(says('Hello.'));
  const params = { userId: 'ann', sessionId: 's', inputStream };
  for await (const event of runner.runStream(params)) {
    if (event.author === 'user')
      await expect(runner.runStream(params).next()).rejects.toThrow('has another stream already');
    else inputStream.close();
  }
});

test('an error of the messages ends the stream with it', async () => {
  const { runner } = await setUp([]);
  async function* messages(): AsyncGenerator<Content> {
    yield* [];
    throw new Error('the line is cut');
  }
  const stream = runner.runStream({ userId: 'ann', sessionId: 's', inputStream: messages() });
  await expect(stream.next()).rejects.toThrow('the line is cut');
});

test('the model reads in another run that a background tool needs runStream', async () => {
  const { model, runner } = await setUp([call(10), 'I cannot.']);
  await runner.run({ userId: 'ann', sessionId: 's', newMessage: says('Calculate.') });
  const last = model.requests[1]?.request.contents.at(-1);
  expect(last?.parts?.[0]?.functionResponse?.response).toEqual({
    error: expect.stringContaining('BackgroundTool "calculate" works only in runner.runStream'),
  });
});

test('getBackgroundToolParams returns undefined outside a script', async () => {
  expect(await getBackgroundToolParams()).toBeUndefined();
});

test.each([
  ['', 'scriptPath is missing'],
  ['work.ts', 'scriptPath: expected an absolute path or a file: URL, got "work.ts"'],
  [
    'https://a.example/work.ts',
    'scriptPath: expected an absolute path or a file: URL, got "https://a.example/work.ts"',
  ],
  ['file://host/work.ts', 'scriptPath: expected an absolute path or a file: URL, got "file://host/work.ts"'],
  ['./none.ts', 'scriptPath: the file ./none.ts does not exist'],
  [fileURLToPath(new URL('fixtures', import.meta.url)), 'fixtures does not exist'],
])('a background tool with the script %j is refused', (script, message) => {
  const create = (): unknown =>
    new BackgroundTool({ name: 'calculate', description: 'Calculates.', scriptPath: script });
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
  expect(create).toThrow("; write scriptPath: fileURLToPath(new URL('./work.ts', import.meta.url))");
});

test('the log names the script that failed', async () => {
  const lines = vi.spyOn(getLogger(), 'warn').mockReturnValue(undefined);
  onTestFinished(() => lines.mockRestore());
  const { model, runner } = await setUp([call(-1), 'Done.']);
  await play(runner, 'Yes');
  expect(model.requests[1]?.request.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({
    error: 'cannot start at -1',
  });
  expect(lines.mock.calls).toEqual([
    [`BackgroundTool "calculate": the script ${scriptPath} failed: cannot start at -1`],
  ]);
});
