// Tests of Node's own fetch, which alone has time limits.
import { FakeGeminiServer, jsonReply } from '@eventloom/testing/fake-gemini';
import { afterEach, expect, test } from 'vitest';
import { HttpExchange, withoutTimeouts } from './http-exchange.ts';

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');
new Headers(); // node loads its fetch at first use
const original: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER);
afterEach(() => void Reflect.set(globalThis, GLOBAL_DISPATCHER, original));

test('a reply may take any time on Node', async () => {
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
  const response = await new HttpExchange().watch(undefined)(url, { method: 'POST', body: '{}' });
  expect(await response.json()).toEqual({ ok: true });
  expect(seen).toMatchObject([{ headersTimeout: 0, bodyTimeout: 0 }]);
});

test('a given fetch is called with unchanged options', async () => {
  const init = { method: 'POST' };
  const fetch = (_input: unknown, given?: RequestInit) => (
    expect(given).toBe(init),
    Promise.resolve(Response.json({}))
  );
  await new HttpExchange().watch(fetch)('http://localhost', init);
});

test("without undici's global dispatcher the options are unchanged", () => {
  Reflect.set(globalThis, GLOBAL_DISPATCHER, undefined);
  const init = { method: 'POST' };
  expect(withoutTimeouts(init)).toBe(init);
});
