import { FakeGeminiServer, jsonReply } from '@eventloom/testing/fake-gemini';
import { afterEach, expect, test } from 'vitest';
import { withoutTimeouts } from './without-timeouts.ts';

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');
new Headers(); // node loads its fetch at first use
const original: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER);
afterEach(() => void Reflect.set(globalThis, GLOBAL_DISPATCHER, original));

test('a fetch on node has no limits on how long an answer may take', async () => {
  await using server = await FakeGeminiServer.start([jsonReply({ ok: true })]);
  const seen: object[] = [];
  const dispatcher = original as { dispatch(options: object, handler: object): boolean };
  Reflect.set(globalThis, GLOBAL_DISPATCHER, {
    dispatch(options: object, handler: object) {
      seen.push(options);
      return dispatcher.dispatch(options, handler);
    },
  });
  const url = `${server.url}/v1/models/m:generateContent`;
  const response = await fetch(url, withoutTimeouts({ method: 'POST', body: '{}' }));
  expect(await response.json()).toEqual({ ok: true });
  expect(seen).toMatchObject([{ headersTimeout: 0, bodyTimeout: 0 }]);
});

test('where there is no such dispatcher nothing is added', () => {
  Reflect.set(globalThis, GLOBAL_DISPATCHER, undefined);
  const init = { method: 'POST' };
  expect(withoutTimeouts(init)).toBe(init);
});
