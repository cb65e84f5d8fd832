import { ScriptedModel } from '@eventloom/testing';
import type { NodeServer } from '@eventloom/server/node';
import { ModelError } from 'eventloom';
import { afterEach, expect, test, vi } from 'vitest';
import { chat } from './chat.ts';
import { EchoModel } from './echo-model.ts';
import { serveChat } from './serve-chat.ts';

const realFetch = fetch;
let server: NodeServer;
afterEach(async () => {
  vi.unstubAllGlobals();
  await server.shutDown();
});

/** Lets the page's script reach the server like a page of the same origin. */
function browse(fetched: typeof fetch = realFetch): void {
  vi.stubGlobal('fetch', (path: string, init?: RequestInit) => fetched(`${server.url}${path}`, init));
}

async function ask(text: string, sessionId = 'first'): Promise<{ texts: string[]; calls: string[] }> {
  const texts: string[] = [];
  const calls: string[] = [];
  const onText = (said: string): void => void texts.push(said);
  await chat({ appName: 'chat', userId: 'me', sessionId, text, onText, onToolCall: (name) => void calls.push(name) });
  return { texts, calls };
}

test('the page and its script are served beside the agent', async () => {
  server = await serveChat({ model: new EchoModel(), port: 0 });
  const page = await fetch(`${server.url}/chat`);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toContain("from './chat.js'");
  const script = await (await fetch(`${server.url}/chat.js`)).text();
  expect(script).toContain('export async function chat(');
  expect(script).not.toContain('interface ChatRequest');
});

test('the reply arrives in chunks and then whole', async () => {
  server = await serveChat({ model: new EchoModel(), port: 0 });
  browse();
  expect(await ask('good day')).toEqual({
    texts: ['You ', 'You said: ', 'You said: good ', 'You said: good day', 'You said: good day'],
    calls: [],
  });
});

test('a connection that is lost during a reply is opened again, and the model is called once', async () => {
  const model = new ScriptedModel([{ chunks: ['One ', 'two ', 'three.'] }]);
  server = await serveChat({ model, port: 0 });
  let cut = false;
  browse(async (input, init) => {
    const response = await realFetch(input, init);
    if (cut || response.body === null) return response;
    cut = true;
    const reader = response.body.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    const lost = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(value as Uint8Array);
      },
      pull(controller) {
        controller.error(new TypeError('terminated'));
      },
    });
    return new Response(lost, response);
  });
  const { texts } = await ask('count');
  expect(texts.at(-1)).toBe('One two three.');
  expect(model.requests).toHaveLength(1);
});

test('a run whose process ended is followed until another process has resumed it', async () => {
  server = await serveChat({ model: new EchoModel(), port: 0 });
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  let left = 10;
  vi.stubGlobal('fetch', () => {
    const frame =
      left-- > 0
        ? { error: 'the run continues elsewhere', code: 'RUN_GOES_ON' }
        : { author: 'helper', content: { parts: [{ text: 'Here I am.' }] } };
    const headers = { 'eventloom-invocation-id': 'e-1' };
    const response = new Response(left < -1 ? null : `data: ${JSON.stringify(frame)}\n\n`, {
      status: left < -1 ? 204 : 200,
      headers,
    });
    return Promise.resolve(response);
  });
  const asking = ask('hello');
  await vi.advanceTimersByTimeAsync(20_000);
  vi.useRealTimers();
  expect(await asking).toEqual({ texts: ['Here I am.'], calls: [] });
});

test('an error of the model is shown with its message and not retried', async () => {
  const model = new ScriptedModel([new ModelError('out of quota', { errorCode: '429' })]);
  server = await serveChat({ model, port: 0 });
  browse();
  await expect(ask('hello')).rejects.toThrow('out of quota');
  expect(model.requests).toHaveLength(1);
});

test("the custom route lists the user's conversations", async () => {
  server = await serveChat({ model: new EchoModel(), port: 0 });
  browse();
  await ask('good day', 'a');
  await ask('good night', 'b');
  const listed: unknown = await (await fetch('/conversations/chat/me')).json();
  expect(listed).toEqual(
    expect.arrayContaining([
      { id: 'a', title: 'good day' },
      { id: 'b', title: 'good night' },
    ]),
  );
});
