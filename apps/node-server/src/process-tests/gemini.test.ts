import type { Event } from '@eventloom/core';
import { errorReply, FakeGeminiServer, sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { runProgram, startServer, temporaryFolder } from './program.ts';

const KEY = 'the-secret-key';
const CALLS = sseReply([
  wireResponse({
    calls: [
      { name: 'get_weather', args: { city: 'Rome' } },
      { name: 'calculate', args: { expression: '17% of 340' } },
    ],
  }),
]);
const ANSWER = sseReply(wireChunks(['It is 24 °C, ', 'and 57.8.']));

function reach(gemini: FakeGeminiServer): Record<string, string> {
  return { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
}

test('with a key the demo agent calls Gemini and its tools', async () => {
  await using gemini = await FakeGeminiServer.start([CALLS, ANSWER]);
  using folder = temporaryFolder();
  const { code, stdout, stderr } = await runProgram(['ask', 'Weather in Rome?', '--json'], {
    folder: folder.path,
    environment: reach(gemini),
  });
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
  expect([code, stderr]).toEqual([0, '']);
  expect(
    events.map(({ partial = false, content }) => [partial, Object.keys(content?.parts?.[0] ?? {})]),
  ).toContainEqual([false, ['functionResponse']]);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'It is 24 °C, and 57.8.' }]);
  const [first, second] = gemini.requests;
  expect(first).toMatchObject({ model: 'gemini-flash-latest', stream: true });
  expect(first?.headers['x-goog-api-key']).toBe(KEY);
  expect(JSON.stringify(second?.body)).toContain('"value":57.8');
  gemini.assertConsumed();
});

const WRONG_KEY = 'API key not valid. Please pass a valid API key.';

test.each([[[]], [['--json']]])('ask %j prints the refusal of a wrong key once', async (options) => {
  const refused = errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: WRONG_KEY });
  await using gemini = await FakeGeminiServer.start([refused]);
  using folder = temporaryFolder();
  const { code, stdout, stderr } = await runProgram(['ask', 'hi', ...options], {
    folder: folder.path,
    environment: reach(gemini),
  });
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout.split('\n').filter((line) => line.includes('API key not valid'))).toHaveLength(1);
  expect(stdout).toContain('check the key in GEMINI_API_KEY');
});

test('start prints the refusal of a wrong key once', async () => {
  const refused = errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: WRONG_KEY });
  await using gemini = await FakeGeminiServer.start([refused]);
  using folder = temporaryFolder();
  await using server = await startServer([], { folder: folder.path, environment: reach(gemini) });
  await fetch(`${server.url}/apps/demo/users/ann/sessions/s`, { method: 'POST' });
  const newMessage = { parts: [{ text: 'hi' }] };
  const body = JSON.stringify({ appName: 'demo', userId: 'ann', sessionId: 's', newMessage });
  await (await fetch(`${server.url}/run_sse`, { method: 'POST', body })).text();
  const { stdout, stderr } = await server.end('SIGTERM');
  expect((stdout + stderr).match(/API key not valid/g)).toHaveLength(1);
});

test("a server with a key streams Gemini's reply, and a failure is an event without the key", async () => {
  const refused = errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: `bad key ${KEY}` });
  await using gemini = await FakeGeminiServer.start([sseReply(wireChunks(['one ', 'two'])), refused]);
  using folder = temporaryFolder();
  await using server = await startServer([], { folder: folder.path, environment: reach(gemini) });
  await fetch(`${server.url}/apps/demo/users/ann/sessions/s`, { method: 'POST' });
  const ask = async (): Promise<string> => {
    const newMessage = { parts: [{ text: 'hi' }] };
    const body = JSON.stringify({ appName: 'demo', userId: 'ann', sessionId: 's', newMessage, streaming: true });
    return (await fetch(`${server.url}/run_sse`, { method: 'POST', body })).text();
  };
  expect(await ask()).toMatch(/"one "[^]*"two"[^]*"one two"/);
  const failed = await ask();
  expect(failed).toMatch(/"errorCode":"INVALID_ARGUMENT"/);
  expect(failed).toMatch(/data: \{"error":".*","code":"INVALID_ARGUMENT"\}\n\n$/);
  const { stderr } = await server.end('SIGTERM');
  expect(failed + stderr).not.toContain(KEY);
});
