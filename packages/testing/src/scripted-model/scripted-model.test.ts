import {
  ConfigurationError,
  ModelError,
  RunAbortedError,
  type LlmRequest,
  type LlmResponse,
  createLlmRequest,
} from '@eventloom/core';
import { expect, test } from 'vitest';
import { UnconsumedStepsError, UnexpectedModelCallError, UnmetExpectationError } from '../errors.ts';
import { Gate } from '../gate.ts';
import { ScriptedModel } from './scripted-model.ts';

function asking(text: string): LlmRequest {
  return { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text }] }] };
}

async function ask(
  model: ScriptedModel,
  request = asking('hi'),
  stream = false,
  signal?: AbortSignal,
): Promise<LlmResponse[]> {
  const responses: LlmResponse[] = [];
  for await (const response of model.generateContentAsync(request, stream, signal)) responses.push(response);
  return responses;
}

function modelSays(text: string): LlmResponse {
  return { content: { role: 'model', parts: [{ text }] } };
}

test('each step answers one call, in order', async () => {
  const model = new ScriptedModel(['one', { text: 'two' }]);
  expect(await ask(model)).toEqual([{ ...modelSays('one'), finishReason: 'STOP' }]);
  expect(await ask(model)).toEqual([{ ...modelSays('two'), finishReason: 'STOP' }]);
  model.assertConsumed();
});

test('a streamed reply is its chunks and then the merged response', async () => {
  const model = new ScriptedModel([
    { chunks: ['Hel', 'lo', [{ functionCall: { name: 'f', args: {} } }], { usageMetadata: { totalTokenCount: 3 } }] },
  ]);
  expect(await ask(model, asking('hi'), true)).toEqual([
    { ...modelSays('Hel'), partial: true },
    { ...modelSays('lo'), partial: true },
    { content: { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] }, partial: true },
    { usageMetadata: { totalTokenCount: 3 }, partial: true },
    {
      content: { role: 'model', parts: [{ text: 'Hello' }, { functionCall: { name: 'f', args: {} } }] },
      usageMetadata: { totalTokenCount: 3 },
      finishReason: 'STOP',
    },
  ]);
});

test('without streaming only the merged response is yielded', async () => {
  const model = new ScriptedModel([{ chunks: ['Hel', 'lo'] }]);
  expect(await ask(model)).toEqual([{ ...modelSays('Hello'), finishReason: 'STOP' }]);
});

test('a streamed reply without chunks has one chunk', async () => {
  const model = new ScriptedModel(['Hello']);
  expect(await ask(model, asking('hi'), true)).toEqual([
    { ...modelSays('Hello'), partial: true },
    { ...modelSays('Hello'), finishReason: 'STOP' },
  ]);
});

test('parts have the order thought, text, calls, other parts', async () => {
  const model = new ScriptedModel([
    { parts: [{ text: 'last', thoughtSignature: 's' }], calls: [{ name: 'f' }], text: 'b', thought: 'a' },
  ]);
  const [response] = await ask(model);
  expect(response?.content?.parts).toEqual([
    { text: 'a', thought: true },
    { text: 'b' },
    { functionCall: { name: 'f' } },
    { text: 'last', thoughtSignature: 's' },
  ]);
});

test('other fields of a reply are kept', async () => {
  const model = new ScriptedModel([
    { response: { errorCode: 'SAFETY', errorMessage: 'no' } },
    { text: 'cut', response: { finishReason: 'MAX_TOKENS' } },
  ]);
  expect(await ask(model)).toEqual([{ errorCode: 'SAFETY', errorMessage: 'no' }]);
  expect(await ask(model)).toEqual([{ ...modelSays('cut'), finishReason: 'MAX_TOKENS' }]);
});

test('an error is thrown, after its chunks if it has any', async () => {
  const lost = new ModelError('lost', { errorCode: 'UNAVAILABLE' });
  const model = new ScriptedModel([lost, { chunks: ['a'], error: lost }]);
  await expect(ask(model)).rejects.toBe(lost);
  const seen: LlmResponse[] = [];
  const streaming = async () => {
    for await (const response of model.generateContentAsync(asking('hi'), true)) seen.push(response);
  };
  await expect(streaming()).rejects.toBe(lost);
  expect(seen).toEqual([{ ...modelSays('a'), partial: true }]);
});

test('a function computes the reply from the request', async () => {
  const model = new ScriptedModel([
    (request, { stream, index }) => ({
      text: `${request.contents.length} contents, ${stream ? 'streamed' : 'whole'}, call ${index}`,
    }),
  ]);
  expect(await ask(model)).toEqual([{ ...modelSays('1 contents, whole, call 0'), finishReason: 'STOP' }]);
});

test('a function in place of the steps answers every call', async () => {
  const model = new ScriptedModel(({ contents }, { index }) => `answer ${index} to ${contents.length} contents`);
  expect(await ask(model)).toEqual([{ ...modelSays('answer 0 to 1 contents'), finishReason: 'STOP' }]);
  expect(await ask(model)).toEqual([{ ...modelSays('answer 1 to 1 contents'), finishReason: 'STOP' }]);
  expect(model.calls).toBe(2);
  model.assertConsumed();
});

test('a function in place of the steps chooses chunks, errors and expectations', async () => {
  const steps = [{ chunks: ['a', 'b'] }, new TypeError('overloaded'), { text: 'c', expect: { lastUserText: 'ho' } }];
  const model = new ScriptedModel(async (_request, { index }) => steps[index] ?? '');
  expect(await ask(model, asking('hi'), true)).toMatchObject([modelSays('a'), modelSays('b'), modelSays('ab')]);
  await expect(ask(model)).rejects.toThrow('overloaded');
  await expect(ask(model)).rejects.toThrow('call 3: the last user text is "hi", expected "ho"');
  expect(() => model.assertConsumed()).toThrow(UnmetExpectationError);
});

test('a function in place of the steps that returns something else fails the call', async () => {
  const model = new ScriptedModel((() => 7) as never);
  await expect(ask(model)).rejects.toThrow(
    "ScriptedModel: result of the function for call 1: expected a text, a reply, an error or a function, got the number 7; write 'Hello!', or { text: 'Hello!' }",
  );
});

test('a call beyond the script throws and makes assertConsumed fail', async () => {
  const model = new ScriptedModel(['one']);
  await ask(model);
  await expect(ask(model, asking('again?'))).rejects.toThrow(
    'call 2 was not expected, the script has 1 steps; its last user text is "again?"',
  );
  expect(() => model.assertConsumed()).toThrow(UnexpectedModelCallError);
});

test('unused steps make assertConsumed fail', async () => {
  const model = new ScriptedModel(['one', 'two', 'three']);
  await ask(model);
  expect(() => model.assertConsumed()).toThrow('2 of 3 steps were not requested, beginning with step 2');
  expect(() => model.assertConsumed()).toThrow(UnconsumedStepsError);
});

test.each([
  [{ lastUserText: 'ho' }, 'the last user text is "hi", expected "ho"'],
  [{ lastUserText: /^h$/ }, 'the last user text is "hi", expected /^h$/'],
  [{ systemInstruction: 'be kind' }, 'the system instruction is "Be brief.", expected "be kind"'],
  [{ tools: ['weather'] }, 'the tools are [], expected [weather]'],
  [{ matches: () => false }, 'the request does not match'],
  [
    {
      matches: () => {
        throw new TypeError('no temperature');
      },
    },
    'no temperature',
  ],
])('a request that does not match its step throws: %o', async (expect_, message) => {
  const model = new ScriptedModel([{ text: 'x', expect: expect_ }]);
  const request = { ...asking('hi'), config: { systemInstruction: 'Be brief.' } };
  await expect(ask(model, request)).rejects.toThrow(`call 1: ${message}`);
  expect(() => model.assertConsumed()).toThrow(UnmetExpectationError);
});

test('a request that matches its step is answered', async () => {
  const model = new ScriptedModel([
    {
      text: 'x',
      expect: {
        lastUserText: /h/,
        systemInstruction: 'brief',
        tools: [],
        matches: ({ contents }) => contents.length === 1,
      },
    },
  ]);
  await ask(model, { ...asking('hi'), config: { systemInstruction: 'Be brief.' } });
  model.assertConsumed();
});

test('recorded requests are copies', async () => {
  const model = new ScriptedModel(['one']);
  const request = asking('before');
  await ask(model, request);
  request.contents[0]?.parts?.push({ text: 'after' });
  request.config.temperature = 1;
  expect(model.requests).toEqual([{ request: asking('before'), stream: false }]);
});

test('a gate holds the reply until the test opens it', async () => {
  const gate = new Gate();
  const model = new ScriptedModel([{ text: 'late', gate }]);
  let answered = false;
  const asked = ask(model).then(() => (answered = true));
  await gate.reached;
  expect(answered).toBe(false);
  gate.open();
  await asked;
});

test('a gate among the chunks holds the chunks after it', async () => {
  const gate = new Gate();
  const model = new ScriptedModel([{ chunks: ['a', gate, 'b'] }]);
  const chunks = model.generateContentAsync(asking('hi'), true);
  expect((await chunks.next()).value).toMatchObject(modelSays('a'));
  const second = chunks.next();
  await gate.reached;
  gate.open();
  expect((await second).value).toMatchObject(modelSays('b'));
});

test('an abort ends a held call and refuses later ones', async () => {
  const gate = new Gate();
  const controller = new AbortController();
  const model = new ScriptedModel([{ text: 'never', gate }, 'unused']);
  const asked = ask(model, asking('hi'), false, controller.signal);
  await gate.reached;
  controller.abort();
  await expect(asked).rejects.toBeInstanceOf(RunAbortedError);
  await expect(ask(model, asking('hi'), false, controller.signal)).rejects.toBeInstanceOf(RunAbortedError);
  expect(model.calls).toBe(1);
});

test('an abort between chunks ends the reply', async () => {
  const controller = new AbortController();
  const chunks = new ScriptedModel([{ chunks: ['a', 'b'] }]).generateContentAsync(
    asking('hi'),
    true,
    controller.signal,
  );
  await chunks.next();
  controller.abort();
  await expect(chunks.next()).rejects.toBeInstanceOf(RunAbortedError);
});

test('an unknown capability is refused with the one that was meant', () => {
  expect(() => new ScriptedModel([], { capabilities: { tool: false } as object })).toThrow(
    'ScriptedModel: capabilities: has no option "tool"; did you mean "tools"?',
  );
});

test('the model has the name and the capabilities of its options', () => {
  const model = new ScriptedModel([], { model: 'm', capabilities: { outputSchemaWithTools: true } });
  expect(model.model).toBe('m');
  expect(model.capabilities().outputSchemaWithTools).toBe(true);
  expect(new ScriptedModel([]).capabilities().outputSchemaWithTools).toBe(false);
});

test.each<[unknown, string]>([
  ['hi', "ScriptedModel: expected a list of steps, got a string; write new ScriptedModel(['Hello!'])"],
  [{ text: 'hi' }, "ScriptedModel: expected a list of steps, got an object; write new ScriptedModel(['Hello!'])"],
  [['a', { txt: 'hi' }], 'ScriptedModel: steps[1]: has no option "txt"; did you mean "text"?'],
  [[5], 'ScriptedModel: steps[0]: expected a text, a reply, an error or a function, got the number 5; write'],
  [[{ text: 5 }], 'ScriptedModel: steps[0]: text: expected a string, got the number 5'],
  [[{ content: {} }], 'ScriptedModel: steps[0]: has no option "content"; write its parts in parts'],
  [[{ expect: { lastUsrText: 'a' } }], 'ScriptedModel: steps[0]: expect: has no option "lastUsrText"; did you mean'],
  [[{ response: { errorCod: 'A' } }], 'ScriptedModel: steps[0]: response: has no option "errorCod"; did you mean'],
])('the script %j is refused, and the error says what to write', (steps, message) => {
  const make = (): ScriptedModel => new ScriptedModel(steps as never);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test('a function of a script whose result is not a reply fails the call', async () => {
  await expect(ask(new ScriptedModel([() => ({ txt: 'hi' }) as never]))).rejects.toThrow(
    'ScriptedModel: result of steps[0]: has no option "txt"; did you mean "text"?',
  );
  await expect(ask(new ScriptedModel([() => undefined as never]))).rejects.toThrow(
    'result of steps[0]: expected a text, a reply, an error or a function, got nothing',
  );
});
