import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../browser/open-browser.ts';
import { apps, places, type Started } from './servers.ts';

type Browser = Awaited<ReturnType<typeof openBrowser>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

describe.each(places)('adk-web 1.0.0 in a browser against %s', (_place, start) => {
  let server: Started;
  let page: Page;
  /** The pages share it, and with it a cache: without one, each load of the page takes two seconds of a processor. */
  let context: Awaited<ReturnType<Browser['newContext']>>;
  /** The open pages by app and manner of answers. */
  const pages = new Map<string, Page>();
  const faults: string[] = [];
  beforeAll(async () => {
    server = await start();
    context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ['microphone'] });
  });
  afterEach(async ({ task }) => {
    // The next test does not begin in the page of one that failed.
    if (task.result?.state === 'fail') await closePages();
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await context.close();
    await server.stop();
  });

  async function closePages(): Promise<void> {
    for (const opened of pages.values()) await opened.close();
    pages.clear();
  }

  /** Begins a new session of an app, in the page that is open on it or in a new one. */
  async function open(appName: string, streaming = false): Promise<void> {
    const key = `${appName} ${streaming}`;
    const opened = pages.get(key);
    if (opened) {
      page = opened;
      await page.getByText('New Session').first().click();
      await expect.poll(() => new URL(page.url()).searchParams.get('session')).toBeNull();
      const answers = page.locator('app-chat-panel').getByText(/You said|The tool said/);
      await expect.poll(() => answers.count()).toBe(0);
      return;
    }
    page = await context.newPage();
    page.setDefaultTimeout(120_000);
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      // The package lacks a style sheet that the page names.
      if (response.status() >= 400 && pathname !== '/dev-ui/prism-dark.css')
        faults.push(`${response.status()} ${response.request().method()} ${pathname}`);
    });
    await page.addInitScript(`localStorage.setItem('adk-use-sse', '${streaming}')`);
    await page.goto(`${server.url}/dev-ui?app=${appName}&userId=ann`);
    await page.getByPlaceholder('Type a message...').waitFor();
    pages.set(key, page);
  }

  /** Sends a message, and waits for the end of the run. Until then, a further event may replace a form with an empty one. */
  async function send(text: string): Promise<void> {
    const answer = page.waitForResponse(/\/run_sse$/);
    const box = page.getByPlaceholder('Type a message...');
    await fill(box, text);
    await box.press('Enter');
    await (await answer).finished();
  }

  /** Fills a field. The page focuses its message box shortly after a run, and what is typed at that moment is in the message box. */
  async function fill(field: ReturnType<Page['locator']>, text: string): Promise<void> {
    const filled = async (): Promise<string> => {
      await field.fill(text);
      return field.inputValue();
    };
    await expect.poll(filled).toBe(text);
  }

  const shown = (text: string): Promise<void> => page.locator('app-chat-panel').getByText(text).first().waitFor();

  test.each(apps)('%s: shows a whole and a streamed answer once, and the session after a reload', async (appName) => {
    for (const streaming of [false, true]) {
      await open(appName, streaming);
      await send('hi');
      await shown('You said: hi');
      await send('there');
      await shown('You said: there');
      await page.reload();
      await shown('You said: there');
      await expect.poll(() => page.getByText('You said: hi').count()).toBe(1);
    }
  });

  test.each(apps)(
    '%s: shows calls, state and files, and sends answers to a confirmation and a question',
    async (appName) => {
      await open(appName);
      await send('call look');
      await shown('The tool said {"color":"blue"}.');
      // The call and its response.
      await page.locator('app-chat-panel').getByText('look', { exact: true }).nth(1).waitFor();
      await page.getByRole('tab', { name: 'State' }).click();
      await page.getByText('seen').first().waitFor();
      await send('call save');
      await page.getByRole('tab', { name: 'Artifacts' }).click();
      await page.locator('app-artifact-tab').getByText('note.txt').first().waitFor();
      await send('call pay');
      await page.getByLabel('Confirmed').check();
      await page.getByRole('button', { name: 'Submit' }).click();
      await shown('The tool said {"paid":true}.');
      await send('call order');
      await shown('Which size?');
      await fill(page.locator('#size'), 'large');
      await page.getByRole('button', { name: 'Submit' }).click();
      await shown('The tool said {"size":"large"}.');
    },
  );

  test.each(apps)('%s: sends the late response of a long-running tool, also after a reload', async (appName) => {
    await open(appName);
    await send('call wait');
    await page.getByPlaceholder('Enter your response...').waitFor();
    await page.reload();
    const box = page.getByPlaceholder('Enter your response...');
    await fill(box, '{"status":"approved"}');
    await box.press('Enter');
    await shown('The tool said {"status":"approved"}.');
  });

  test.each(apps)('%s: shows an error, and the next answer after it', async (appName) => {
    await open(appName, true);
    await send('fail');
    await shown('the model of agent "helper" failed');
    await send('hi');
    await shown('You said: hi');
  });

  test("sends the microphone's audio in a call, and shows the words of both sides", async () => {
    await open('voice');
    await page.locator('.audio-rec-btn').click();
    await shown('What color is the sky?');
    await shown('The sky is blue.');
    await page.locator('.audio-rec-btn').click();
    await page.getByText('call_end').waitFor({ state: 'detached' });
  });
});
