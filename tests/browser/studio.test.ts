import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { studio } from '@eventloom/studio';
import { studioFiles } from '@eventloom/studio/node';
import { functionCallEvent, functionResponseEvent, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './open-browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const root = join(import.meta.dirname, '../..');
const KEY = { appName: 'app', userId: 'ann', sessionId: 'first' };

let browser: Browser;
const servers: NodeServer[] = [];
const pages: Page[] = [];
beforeAll(async () => {
  execFileSync(process.execPath, [join(root, 'scripts/build-studio.ts')]);
  browser = await openBrowser();
}, 120_000);
afterEach(async () => {
  await Promise.all(pages.splice(0).map((page) => page.close()));
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
});
afterAll(() => browser.close());

const look = new FunctionTool({
  name: 'look',
  description: 'Looks.',
  execute: (_args, context) => {
    context.state.set('seen', 'sky');
    return { color: 'blue' };
  },
});
const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays.',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});
const save = new FunctionTool({
  name: 'save',
  description: 'Saves.',
  execute: (_args, context) =>
    context.saveArtifact('note.txt', { inlineData: { mimeType: 'text/plain', data: 'aGVsbG8=' } }),
});

interface Opened {
  readonly page: Page;
  readonly sessionService: InMemorySessionService;
  /** Errors that the page wrote to its console. */
  readonly errors: string[];
}

/** Opens the page on a server of one agent, whose model plays the steps. */
async function open(
  steps: readonly ScriptedStep[],
  {
    scheme = 'light',
    fill,
  }: { scheme?: 'light' | 'dark'; fill?: (service: InMemorySessionService) => Promise<unknown> } = {},
): Promise<Opened> {
  const sessionService = new InMemorySessionService();
  const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel(steps), tools: [look, pay, save] });
  const runner = new Runner({ appName: 'app', agent, sessionService, artifactService: new InMemoryArtifactService() });
  await fill?.(sessionService);
  const protocols = [studio({ files: studioFiles(), prompts: { app: ['What color is it?'] } })];
  const server = await serve(createServer({ runners: [runner], protocols, onError: () => undefined }), {
    port: 0,
    drainMs: 0,
  });
  servers.push(server);
  const page = await browser.newPage({ colorScheme: scheme, viewport: { width: 1440, height: 900 } });
  pages.push(page);
  const errors: string[] = [];
  page.on('console', (message) => {
    // The page asks for a session that does not exist yet.
    if (message.type() === 'error' && !message.text().includes('404')) errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`${server.url}/studio?app=app&user=ann&session=first`);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  return { page, sessionService, errors };
}

async function send(page: Page, text: string): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Message' });
  await box.fill(text);
  await box.press('Enter');
}

/** Returns the violations of accessibility rules. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 150)).join(' | ')))`,
  );
  return found as string[];
}

describe('Studio', () => {
  test('streams a reply, folds tool calls, and follows the run after a reload in mid-answer', async () => {
    const gate = new Gate();
    const { page, errors } = await open([{ calls: [{ name: 'look' }] }, { chunks: ['The sky ', gate, 'is blue.'] }]);
    await page.getByRole('button', { name: 'What color is it?' }).click();
    const log = page.getByRole('log');
    await log.getByText('The sky').waitFor();
    await log.getByText('completed').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.reload();
    await log.getByText('What color is it?').waitFor();
    gate.open();
    await log.getByText('The sky is blue.').waitFor();
    expect(await log.getByText('The sky is blue.').count()).toBe(1);
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(errors).toEqual([]);
  });

  test('asks for an approval, and continues with the answer', async () => {
    const { page, errors } = await open([{ calls: [{ name: 'pay' }] }, { text: 'Waiting.' }, { text: 'Paid.' }]);
    await send(page, 'Pay');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('log').getByText('completed').waitFor();
    expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('shows an earlier moment, and forks the session there', async () => {
    const { page, sessionService, errors } = await open([{ calls: [{ name: 'look' }] }, { text: 'Blue.' }]);
    await send(page, 'What color?');
    await page.getByRole('log').getByText('Blue.').waitFor();
    await page.getByRole('tab', { name: 'State' }).click();
    await page.getByText('seen').first().waitFor();
    await page.getByRole('slider').press('Home');
    expect(await page.getByRole('log').getByText('Blue.').count()).toBe(0);
    expect(await page.getByText('seen').count()).toBe(0);
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
    await page.getByRole('log').getByText('What color?').waitFor();
    expect(await page.getByRole('log').getByText('Blue.').count()).toBe(0);
    const { sessions } = await sessionService.listSessions({ appName: 'app', userId: 'ann' });
    expect(sessions).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  test('previews an artifact', async () => {
    const { page } = await open([{ calls: [{ name: 'save' }] }, { text: 'Saved.' }]);
    await send(page, 'Save');
    await page.getByRole('log').getByText('Saved.').waitFor();
    await page.getByRole('tab', { name: 'Artifacts' }).click();
    await page.getByRole('button', { name: 'note.txt' }).click();
    await page.getByText('hello', { exact: true }).waitFor();
  });

  test('sends an edited message after a rewind', async () => {
    const { page, sessionService } = await open([{ text: 'One.' }, { text: 'Two.' }]);
    await send(page, 'first try');
    await page.getByRole('log').getByText('One.').waitFor();
    page.once('dialog', (dialog) => void dialog.accept('second try'));
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('log').getByText('Two.').waitFor();
    expect(await page.getByRole('log').getByText('One.').count()).toBe(0);
    expect((await sessionService.getSession(KEY))?.events.some(({ actions }) => actions.rewindBeforeInvocationId)).toBe(
      true,
    );
  });

  test('shows markup of a model as text, and loads no picture of another server', async () => {
    const { page, errors } = await open([
      {
        text: '<img src=x onerror="document.title=1"> ![map](https://example.com/map.png) [go](javascript:alert(1)) **bold**',
      },
    ]);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).hostname));
    await send(page, 'Hi');
    await page.getByRole('log').getByText('bold').waitFor();
    expect(await page.getByRole('log').locator('img').count()).toBe(0);
    expect(await page.getByRole('log').locator('a[href^="javascript"]').count()).toBe(0);
    expect(await page.title()).toBe('Eventloom Studio');
    expect(new Set(asked)).toEqual(new Set([new URL(page.url()).hostname]));
    expect(errors).toEqual([]);
  });

  test('draws few of 10,000 events at a time', async () => {
    const { page } = await open([], {
      fill: async (service) => {
        const session = await service.createSession(KEY);
        for (let index = 0; index < 5000; index++) {
          const call = { invocationId: 'e-1', functionCall: { id: `c${index}`, name: 'look', args: { index } } };
          await service.appendEvent({
            session,
            event: functionCallEvent('helper', [call.functionCall], { invocationId: 'e-1' }),
          });
          const response = { id: `c${index}`, name: 'look', response: { index } };
          await service.appendEvent({
            session,
            event: functionResponseEvent('helper', [response], { invocationId: 'e-1' }),
          });
        }
      },
    });
    await page.getByText('10000 of 10000').waitFor();
    expect(await page.getByRole('group', { name: 'Events' }).locator('li').count()).toBeLessThan(60);
    expect(await page.getByRole('log').locator('article').count()).toBe(200);
    await page.getByRole('slider').press('Home');
    await page.getByText('1 of 10000').waitFor();
  });

  test.each(['light', 'dark'] as const)('has no violation of accessibility rules, %s', async (scheme) => {
    const { page } = await open([{ calls: [{ name: 'look' }, { name: 'pay' }] }, { text: '**Blue.**' }], { scheme });
    expect(await violations(page)).toEqual([]);
    await send(page, 'What color?');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    for (const name of ['Events', 'State', 'Artifacts', 'Agents', 'Trace']) {
      await page.getByRole('tab', { name }).click();
      expect(await violations(page), name).toEqual([]);
    }
  });
});
