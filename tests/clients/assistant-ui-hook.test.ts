import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../browser/open-browser.ts';
import { apps, places, type Started } from './servers.ts';

type Browser = Awaited<ReturnType<typeof openBrowser>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

let browser: Browser;
let script = '';
beforeAll(async () => {
  const entryPoints = [join(import.meta.dirname, 'assistant-ui-page.ts')];
  const define = { 'process.env.NODE_ENV': '"development"' };
  const { outputFiles } = await build({ entryPoints, bundle: true, write: false, format: 'esm', define });
  script = outputFiles[0]?.text ?? '';
  browser = await openBrowser();
});
afterAll(() => browser.close());

describe.each(places)('useAdkRuntime of assistant-ui in a browser against %s', (_place, start) => {
  let server: Started;
  /** The pages share it and its empty page, and with them a process, which compiles the script once. */
  let context: Awaited<ReturnType<Browser['newContext']>>;
  let page: Page;
  const faults: string[] = [];
  beforeAll(async () => {
    server = await start();
    context = await browser.newContext();
    await context.newPage();
    await context.route(`${server.url}/page.js`, (route) =>
      route.fulfill({ body: script, contentType: 'text/javascript' }),
    );
    await context.route(`${server.url}/page?*`, (route) =>
      route.fulfill({
        body: '<div id="root"></div><script type="module" src="/page.js"></script>',
        contentType: 'text/html',
      }),
    );
  });
  afterEach(async () => {
    await page.close();
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await context.close();
    await server.stop();
  });

  /** Opens the page on an app. It is served from the server's own origin. */
  async function open(appName: string): Promise<void> {
    page = await context.newPage();
    page.setDefaultTimeout(120_000);
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.goto(`${server.url}/page?app=${appName}`);
    await page.getByRole('button', { name: 'Send' }).waitFor();
  }

  async function say(text: string): Promise<void> {
    await page.getByPlaceholder('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  }

  const shown = (text: string): Promise<void> => page.locator('p').filter({ hasText: text }).first().waitFor();
  const messages = (): Promise<string[]> => page.locator('p').allTextContents();

  test.each(apps)('%s: shows streamed answers once, and the thread after a reload', async (appName) => {
    await open(appName);
    await say('hi');
    await shown('assistant: You said: hi complete');
    await say('there');
    await shown('assistant: You said: there complete');
    const all = [
      'user: hi ',
      'assistant: You said: hi complete',
      'user: there ',
      'assistant: You said: there complete',
    ];
    expect(await messages()).toEqual(all);
    await page.reload();
    await page
      .getByRole('button', { name: /^Open .*-/ })
      .first()
      .click();
    await shown('assistant: You said: there');
    expect((await messages()).map((each) => each.replace(/ complete$| $/, ''))).toEqual(
      all.map((each) => each.replace(/ complete$| $/, '')),
    );
  });

  test.each(apps)('%s: shows a call with its result, the state and the artifacts', async (appName) => {
    await open(appName);
    await say('call look');
    await shown(`look ${JSON.stringify('{"color":"blue"}')}`);
    await shown('The tool said {"color":"blue"}.');
    await expect.poll(() => page.getByTitle('state').textContent()).toContain('"seen":"sky"');
    await say('call save');
    await expect.poll(() => page.getByTitle('artifacts').textContent()).toBe('{"note.txt":0}');
  });

  test.each(apps)('%s: sends the answer to a confirmation, and to a question', async (appName) => {
    await open(appName);
    await say('call pay');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await shown('The tool said {"paid":true}.');
    await say('call order');
    await page.getByPlaceholder('Message').fill('{"size":"large"}');
    await page
      .getByRole('button', { name: /^Answer / })
      .last()
      .click();
    await shown('The tool said {"size":"large"}.');
  });

  test.each(apps)('%s: sends the late response of a long-running tool', async (appName) => {
    await open(appName);
    await say('call wait');
    await page.getByPlaceholder('Message').fill('{"status":"approved"}');
    await page.getByRole('button', { name: /^Respond / }).click();
    await shown('The tool said {"status":"approved"}.');
  });

  test.each(apps)('%s: shows an error, and the next answer after it', async (appName) => {
    await open(appName);
    await say('fail');
    await shown('incomplete');
    await expect.poll(() => page.getByTitle('running').textContent()).toBe('false');
    await say('hi');
    await shown('You said: hi complete');
  });
});
