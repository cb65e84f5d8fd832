import {
  type BaseLlmConnection,
  ConfigurationError,
  LiveConnectionError,
  type LiveLlmResponse,
  RunAbortedError,
  createLlmRequest,
} from '@eventloom/core';
import { expect, test } from 'vitest';
import { UnconsumedStepsError, UnexpectedModelCallError, UnmetExpectationError } from '../errors.ts';
import { Gate } from '../gate.ts';
import { ScriptedLiveModel } from './scripted-live-model.ts';

function says(text: string): LiveLlmResponse {
  return { content: { role: 'model', parts: [{ text }] } };
}

function user(text: string) {
  return { role: 'user', parts: [{ text }] };
}

/** Reads this number of responses, or all of them. */
async function read(connection: BaseLlmConnection, count = Infinity): Promise<LiveLlmResponse[]> {
  const responses: LiveLlmResponse[] = [];
  for await (const response of connection.receive()) if (responses.push(response) === count) break;
  return responses;
}

test('steps are played in order: texts, responses, and results of functions', async () => {
  const model = new ScriptedLiveModel([['a', { turnComplete: true }, (sent) => [`${sent.length} sent`]]]);
  const connection = await model.connect(createLlmRequest());
  await connection.sendActivityStart();
  expect(await read(connection, 3)).toEqual([says('a'), { turnComplete: true }, says('1 sent')]);
  model.assertConsumed();
});

test('a cue holds the next step until the client sent a matching request', async () => {
  const model = new ScriptedLiveModel([[{ heard: /weather/ }, 'sunny', { heard: 'toolResponses' }, 'done']]);
  const connection = await model.connect(createLlmRequest());
  const reader = connection.receive();
  const first = reader.next();
  await connection.sendContent(user('Hi'));
  await connection.sendToolResponses([{ name: 'f', response: {} }]);
  expect(connection.stepsLeft).toBe(4);
  await connection.sendContent(user('The weather?'));
  expect((await first).value).toEqual(says('sunny'));
  const second = reader.next();
  await connection.sendToolResponses([{ name: 'f', response: { late: true } }]);
  expect((await second).value).toEqual(says('done'));
});

test('a request sent before its cue counts once', async () => {
  const model = new ScriptedLiveModel([[{ heard: 'blob' }, 'one', { heard: 'blob' }, 'two']]);
  const connection = await model.connect(createLlmRequest());
  await connection.sendRealtime({ data: 'AA==', mimeType: 'audio/pcm' });
  const reader = connection.receive();
  expect((await reader.next()).value).toEqual(says('one'));
  const second = reader.next();
  await connection.sendRealtime({ data: 'AQ==', mimeType: 'audio/pcm' });
  expect((await second).value).toEqual(says('two'));
});

test('a gate holds the next step until the test opens it', async () => {
  const gate = new Gate();
  const model = new ScriptedLiveModel([[gate, 'late']]);
  const connection = await model.connect(createLlmRequest());
  const first = connection.receive().next();
  await gate.reached;
  gate.open();
  expect((await first).value).toEqual(says('late'));
});

test('sent contains copies of all requests in order', async () => {
  const model = new ScriptedLiveModel([[]]);
  const connection = await model.connect(createLlmRequest());
  const content = user('Hi');
  await connection.sendHistory([content]);
  await connection.sendContent(content);
  content.parts[0] = { text: 'changed' };
  await connection.sendRealtime({ data: 'AA==', mimeType: 'audio/pcm' });
  await connection.sendActivityStart();
  await connection.sendActivityEnd();
  await connection.sendToolResponses([{ id: '1', name: 'f', response: {} }]);
  expect(connection.sent).toEqual([
    { history: [user('Hi')] },
    { content: user('Hi') },
    { blob: { data: 'AA==', mimeType: 'audio/pcm' } },
    { activityStart: true },
    { activityEnd: true },
    { toolResponses: [{ id: '1', name: 'f', response: {} }] },
  ]);
  expect(await connection.heard('activityEnd')).toEqual({ activityEnd: true });
});

test('cues work without recording', async () => {
  const model = new ScriptedLiveModel([[{ heard: 'activityEnd' }, 'yes']], { recordSent: false });
  const connection = await model.connect(createLlmRequest());
  const first = connection.receive().next();
  await connection.sendActivityEnd();
  expect((await first).value).toEqual(says('yes'));
  expect(connection.sent).toEqual([]);
});

test('after its last step a connection stays silent until the client closes it', async () => {
  const model = new ScriptedLiveModel([['a']]);
  const connection = await model.connect(createLlmRequest());
  const reading = read(connection);
  await connection.close();
  await connection.close();
  expect(await reading).toEqual([]);
  await connection.ended;
  await expect(connection.sendActivityStart()).rejects.toThrow(LiveConnectionError);
});

test('a scripted end is thrown to the reader and to later sends', async () => {
  const refused = new LiveConnectionError('quota', { closeCode: 1011, isRetryable: false });
  const model = new ScriptedLiveModel([['a', { ends: 1006 }], [{ ends: refused }]]);
  const first = await model.connect(createLlmRequest());
  await expect(read(first)).rejects.toMatchObject({ code: 'LIVE_CONNECTION', closeCode: 1006, isRetryable: true });
  await expect(first.sendActivityStart()).rejects.toMatchObject({ closeCode: 1006 });
  await expect(read(await model.connect(createLlmRequest()))).rejects.toBe(refused);
  model.assertConsumed();
});

test('an error thrown by a function ends the connection', async () => {
  const model = new ScriptedLiveModel([[() => Promise.reject(new TypeError('broken'))]]);
  await expect(read(await model.connect(createLlmRequest()))).rejects.toThrow('broken');
});

test('a script can refuse the setup, hold it at a gate, and read the request', async () => {
  const refusal = new LiveConnectionError('no such model', { closeCode: 1008, isRetryable: false });
  const gate = new Gate();
  const model = new ScriptedLiveModel([refusal, { gate, steps: ['a'] }, { expect: { tools: ['f'] } }]);
  await expect(model.connect(createLlmRequest())).rejects.toBe(refusal);
  const request = createLlmRequest();
  request.config.sessionResumption = { handle: 'h1' };
  const connecting = model.connect(request);
  await gate.reached;
  request.config.sessionResumption = { handle: 'changed' };
  gate.open();
  expect((await connecting).request.config.sessionResumption).toEqual({ handle: 'h1' });
  expect(await model.connection(0)).toBe(await connecting);
  await expect(model.connect(createLlmRequest())).rejects.toThrow(UnmetExpectationError);
  expect(model.attempts).toBe(3);
});

test('an abort ends the connection, and the wait for one', async () => {
  const gate = new Gate();
  const model = new ScriptedLiveModel([[new Gate()], { gate }]);
  const controller = new AbortController();
  const reading = read(await model.connect(createLlmRequest(), controller.signal));
  const connecting = model.connect(createLlmRequest(), controller.signal);
  controller.abort();
  await expect(reading).rejects.toThrow(RunAbortedError);
  await expect(connecting).rejects.toThrow(RunAbortedError);
  await expect(model.connect(createLlmRequest(), controller.signal)).rejects.toThrow(RunAbortedError);
});

test('assertConsumed reports unexpected connections, unused connections and unused steps', async () => {
  const model = new ScriptedLiveModel([['a', 'b']]);
  expect(() => model.assertConsumed()).toThrow(UnconsumedStepsError);
  const connection = await model.connect(createLlmRequest());
  await read(connection, 1);
  expect(() => model.assertConsumed()).toThrow('1 steps of connection 1');
  await expect(model.connect(createLlmRequest())).rejects.toThrow(UnexpectedModelCallError);
  expect(() => model.assertConsumed()).toThrow(UnexpectedModelCallError);
});

test('assertConsumed reports a cue that was not met', async () => {
  const model = new ScriptedLiveModel([[{ heard: 'blob' }]]);
  const connection = await model.connect(createLlmRequest());
  const reading = read(connection);
  await connection.close();
  expect(await reading).toEqual([]);
  expect(() => model.assertConsumed()).toThrow(UnconsumedStepsError);
});

test('a function creates the script of each connection', async () => {
  const model = new ScriptedLiveModel((_, index) => [`connection ${index}`]);
  for (let index = 0; index < 3; index++) {
    expect(await read(await model.connect(createLlmRequest()), 1)).toEqual([says(`connection ${index}`)]);
  }
  model.assertConsumed();
});

test('generateContentAsync throws', async () => {
  await expect(new ScriptedLiveModel([]).generateContentAsync().next()).rejects.toThrow(ConfigurationError);
});

test.each<[unknown, string]>([
  ['hi', 'ScriptedLiveModel: expected a list of scripts, one for each connection, got a string; write new Scripted'],
  [['hi'], 'ScriptedLiveModel: scripts[0]: expected a list of steps, an error or an object with steps, got a string'],
  [[{ step: [] }], 'ScriptedLiveModel: scripts[0]: has no option "step"; did you mean "steps"?'],
  [[[], ['a', { herd: 'content' }]], 'ScriptedLiveModel: scripts[1][1]: has no option "herd"; did you mean "heard"?'],
  [[{ steps: [5] }], 'ScriptedLiveModel: scripts[0].steps[0]: expected a text, a response, a gate or a function, got'],
  [[{ expect: { tool: [] } }], 'ScriptedLiveModel: scripts[0]: expect: has no option "tool"; did you mean "tools"?'],
])('the script %j is refused, and the error says what to write', (scripts, message) => {
  const make = (): ScriptedLiveModel => new ScriptedLiveModel(scripts as never);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test('a factory whose result is not a script fails the connection', async () => {
  const model = new ScriptedLiveModel(() => 'hi' as never);
  await expect(model.connect(createLlmRequest())).rejects.toThrow(
    'ScriptedLiveModel: script of connection 0: expected a list of steps',
  );
});
