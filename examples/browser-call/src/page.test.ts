import type { NodeServer } from '@eventloom/server/node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ChromiumPage } from './fixtures/chromium-page.ts';
import { servePage } from './serve-page.ts';

const CHROMIUM = process.env['EVENTLOOM_TEST_CHROMIUM'];

let server: NodeServer;
beforeEach(async () => {
  server = await servePage({ apiKey: '', port: 0 });
});
afterEach(() => server.shutDown());

test('the page and its script are served beside the agent', async () => {
  const page = await fetch(server.url);
  expect(page.headers.get('content-type')).toContain('text/html');
  expect(await page.text()).toContain("from './call.js'");
  const script = await fetch(`${server.url}/call.js`);
  expect(script.headers.get('content-type')).toBe('text/javascript');
  const text = await script.text();
  expect(text).toContain('export async function call(address');
  expect(text).not.toContain('address: string');
});

test('without a key the model repeats as much audio as it gets', async () => {
  const socket = new WebSocket(
    `ws://localhost:${server.port}/run_live?app_name=phone&user_id=me&session_id=first&audio=binary`,
  );
  socket.binaryType = 'arraybuffer';
  const spoken: number[] = [];
  const received = new Promise<unknown>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      if (typeof data !== 'string') spoken.push((data as ArrayBuffer).byteLength);
      else if (data.includes('"turnComplete":true')) resolve(JSON.parse(data));
    });
  });
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  for (let piece = 0; piece < 50; piece++) socket.send(new Int16Array(640));
  expect(await received).toMatchObject({ author: 'operator' });
  // Two samples become three; there are 16,000 samples a second.
  expect(spoken.reduce((sum, bytes) => sum + bytes, 0)).toBe(2 * 24_000 * 2);
  socket.close();
});

test.runIf(CHROMIUM)(
  'in Chromium the page speaks with the agent',
  async () => {
    await using page = await ChromiumPage.open(CHROMIUM ?? '', `http://localhost:${server.port}/`);
    const says = (text: string) => expect.poll(() => page.evaluate('document.body.innerText')).toContain(text);
    const buttons = `[...document.querySelectorAll('button:enabled')]`;
    const click = () => expect.poll(() => page.evaluate(`${buttons}.map((one) => one.click()).length`)).toBe(1);
    await click();
    await says('This is what I heard.');
    await click();
    await says('hung up');
  },
  60_000,
);
