import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import type { BaseAgent } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { dev, SpanStore } from '@eventloom/dev';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer, type ServerOptions } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { studio } from '@eventloom/studio';
import { studioFiles } from '@eventloom/studio/node';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import type { BaseTool } from '@eventloom/core';
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { freePort } from '../runtimes/postgres/free-port.ts';
import { openBrowser } from './open-browser.ts';

export const root = join(import.meta.dirname, '../..');
/** The key of the session that the page shows. */
export const KEY = { appName: 'app', userId: 'ann', sessionId: 'first' };

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** An open page of Studio with its server. */
export interface Opened {
  readonly page: Page;
  readonly url: string;
  readonly sessionService: InMemorySessionService;
  /** Errors that the page wrote to its console. */
  readonly errors: string[];
}

/** Options of a page of Studio. */
export interface OpenOptions extends BrowserContextOptions {
  /** Default: an LlmAgent `helper` with the tools, whose model plays the steps. */
  readonly agent?: BaseAgent;
  readonly tools?: readonly BaseTool[];
  /** Default: `What color is it?`. */
  readonly prompts?: readonly string[];
  /** True keeps spans and serves them. Default false. */
  readonly hasSpans?: boolean;
  /** Default: no login. With one, the page asks for a token. */
  readonly authenticate?: ServerOptions['authenticate'];
  readonly limits?: ServerOptions['limits'];
  /** True makes runs resumable. Default false. */
  readonly isResumable?: boolean;
  readonly fill?: (service: InMemorySessionService) => Promise<unknown>;
}

/** The options of pages. Without motion, because each frame of a dot that pulses takes processor time, and no test looks at it. */
const PAGE = { viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' } as const;

/**
 * Opens one browser for the tests of a file, and after each test closes everything that the test opened.
 *
 * Each page of a test has a context of its own, as if it were in a browser of its own. The first pages of all tests have the same context
 * and, by `open`, the same address, and so have the second ones: a process compiles the script of Studio once, which saves a third of the
 * processor time of a short test. What the pages stored is deleted after each test.
 */
export function useStudio() {
  let browser: Browser;
  let port: number;
  const servers: NodeServer[] = [];
  const pages: Page[] = [];
  /** The number of pages that the test has opened in those contexts. */
  let opened = 0;
  /** The contexts of the first pages of tests, of the second ones, and so on. */
  const contexts: { readonly context: BrowserContext; readonly storage: CDPSession }[] = [];
  const origins = new Set<string>();
  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, 'scripts/build-studio.ts')]);
    [browser, port] = await Promise.all([openBrowser(), freePort()]);
  });
  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.close()));
    await Promise.all(servers.splice(0).map((server) => server.shutDown()));
    for (const origin of origins)
      for (const { storage } of contexts)
        await storage.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
    origins.clear();
    opened = 0;
  });
  afterAll(() => browser.close());

  /** Opens a page in the context of the pages that are their test's first, or second, and so on. */
  async function openPage(index: number): Promise<Page> {
    let kept = contexts[index];
    if (!kept) {
      const context = await browser.newContext(PAGE);
      // An empty page: the process ends with the last page of the context.
      kept = { context, storage: await context.newCDPSession(await context.newPage()) };
      contexts[index] = kept;
    }
    return kept.context.newPage();
  }

  /** Opens an address. @returns the page, and the errors that it writes */
  async function visit(url: string, { viewport = PAGE.viewport, ...options }: BrowserContextOptions = {}) {
    const isKept = Object.keys(options).length === 0;
    const page = await (isKept ? openPage(opened++) : browser.newPage({ ...PAGE, viewport, ...options }));
    pages.push(page);
    if (isKept) {
      origins.add(new URL(url).origin);
      if (viewport && viewport !== PAGE.viewport) await page.setViewportSize(viewport);
    }
    // Shorter than the time limit of a test, so that the error names the place that waits.
    page.setDefaultTimeout(120_000);
    const errors: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(url);
    return { page, errors };
  }

  /** Opens Studio on a server with one agent, whose model plays the steps. */
  async function open(steps: readonly ScriptedStep[], options: OpenOptions = {}): Promise<Opened> {
    const {
      agent,
      tools = [],
      fill,
      isResumable = false,
      authenticate,
      hasSpans = false,
      prompts,
      limits,
      ...contextOptions
    } = options;
    const spans = hasSpans ? new SpanStore() : undefined;
    const sessionService = new InMemorySessionService();
    const runner = new Runner({
      appName: 'app',
      agent: agent ?? new LlmAgent({ name: 'helper', model: new ScriptedModel(steps), tools: [...tools] }),
      live: live(),
      instrumentation: spans,
      resumable: isResumable,
      sessionService,
      artifactService: new InMemoryArtifactService(),
      credentialService: new InMemoryCredentialService(),
    });
    await fill?.(sessionService);
    const shown = studio({
      files: studioFiles(),
      prompts: { app: prompts ?? ['What color is it?'] },
      prices: { scripted: { input: 1000, output: 2000 } },
    });
    const protocols = [shown, ...(spans ? [dev({ spans })] : [])];
    const server = await serve(
      createServer({
        runners: [runner],
        protocols,
        live: liveEndpoint(),
        authenticate,
        limits,
        onError: () => undefined,
      }),
      // A second server of a test gets another port.
      { port: servers.length === 0 ? port : 0, drainMs: 0 },
    );
    servers.push(server);
    const url = `${server.url}/studio/?app=app&user=ann&session=first`;
    const { page, errors } = await visit(url, contextOptions);
    await page.getByRole('textbox', { name: authenticate ? /^Token/ : 'Message' }).waitFor();
    return { page, url, sessionService, errors };
  }
  return { open, visit };
}

/** Writes a message and sends it. */
export async function send(page: Page, text: string): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Message' });
  await box.fill(text);
  await box.press('Enter');
}

/** Returns the violations of accessibility rules: of all of them, or of those about colors. */
export async function violations(page: Page, rules: 'all' | 'colors' = 'all'): Promise<string[]> {
  if (await page.evaluate('!window.axe')) await page.evaluate(axe);
  const runOnly = rules === 'colors' ? `, runOnly: ['color-contrast', 'link-in-text-block']` : '';
  const found = await page.evaluate(
    `axe.run({ resultTypes: ['violations']${runOnly} }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 150)).join(' | ')))`,
  );
  return found as string[];
}

/** Saves a picture of the page in the folder `artifacts/studio` of the repository, which git ignores. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = join(root, 'artifacts/studio');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
}
