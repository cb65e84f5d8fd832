import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLlmRequest } from '@eventloom/core';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startDevServer } from '../runtimes/dev-server.ts';
import { freePort } from '../runtimes/postgres/free-port.ts';
import type { ModelLine } from './scenario-runners.ts';
import { root, useStudio } from './studio-page.ts';

/** The option `onUnfinishedRuns` of a server, for runs that a killed one left. */
type UnfinishedRuns = 'resume' | 'leave';

interface StartOptions {
  /** The folder of its storage, which outlives it. */
  readonly folder: string;
  readonly port: number;
  readonly modelUrl: string;
  readonly unfinished: UnfinishedRuns;
}

/** Starts a server, and resolves to the function that kills it. */
export type StartServer = (options: StartOptions) => Promise<() => Promise<unknown>>;

export const startOnNode: StartServer = async ({ folder, port, modelUrl, unfinished }) => {
  const args = [join(import.meta.dirname, 'scenario-node.ts'), folder, String(port), modelUrl, unfinished];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited.then(() => Promise.reject(new TypeError('it ended')))]);
  return () => {
    child.kill('SIGKILL');
    return exited;
  };
};

export const startOnWrangler: StartServer = async ({ folder, port, modelUrl, unfinished }) => {
  const server = await startDevServer(join(root, 'apps/edge-worker'), {
    entry: join(import.meta.dirname, 'scenario-worker.ts'),
    persistTo: folder,
    port,
    vars: { MODEL_URL: modelUrl, UNFINISHED: unfinished },
  });
  return () => server.stop();
};

/** Plays the model and the gates of the scenarios over HTTP, for servers in other processes. */
class ModelServer {
  gate = new Gate();
  #model = new ScriptedModel([]);
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Plays these steps from now on, and closes the gate of the graph and of the voice model. */
  play(steps: readonly ScriptedStep[]): void {
    this.#model = new ScriptedModel(steps);
    this.gate = new Gate();
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    response.on('close', () => left.abort());
    const send = (line: ModelLine): boolean => response.write(`${JSON.stringify(line)}\n`);
    try {
      if (url === '/gate') await this.gate.pass(left.signal);
      else {
        const reply = this.#model.generateContentAsync(createLlmRequest(), url.endsWith('=true'), left.signal);
        for await (const each of reply) send({ response: each });
      }
    } catch (error) {
      if (!left.signal.aborted) send({ error: String(error) });
    }
    response.end();
  }
}

export interface ScenarioOptions extends BrowserContextOptions {
  /** Default `app`. */
  readonly app?: 'app' | 'ways' | 'voice';
  /** Sets up the session before the page is opened. @param url the address of the user's sessions */
  readonly fill?: (url: string) => Promise<unknown>;
}

/** The page of a scenario, with a user of its own. */
export interface Scenario {
  readonly page: Page;
  readonly url: string;
  readonly errors: readonly string[];
  /** Reads the sessions of the user, or one of them. */
  readonly read: <T>(sessionId?: string) => Promise<T>;
}

/** Starts one server for the scenarios of a file or of a `describe`, and opens a page of a new user in each of them. */
export function useScenarios(start: StartServer) {
  const { visit } = useStudio();
  const models = new ModelServer();
  let users = 0;
  let port = 0;
  let folder = '';
  let modelUrl = '';
  let kill: () => Promise<unknown> = () => Promise.resolve();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'eventloom-scenarios-'));
    [modelUrl, port] = await Promise.all([models.start(), freePort()]);
    await restart('resume');
  });
  // Runs that a test has left behind end here.
  afterEach(() => models.play([]));
  afterAll(async () => {
    await kill();
    models.stop();
    rmSync(folder, { recursive: true });
  });

  async function restart(unfinished: UnfinishedRuns): Promise<void> {
    kill = await start({ folder, port, modelUrl, unfinished });
  }

  /** Opens Studio for a new user with the session `first`. The model of the app `app` plays the steps. */
  async function open(steps: readonly ScriptedStep[], { app = 'app', fill, ...context }: ScenarioOptions = {}) {
    models.play(steps);
    const userId = `ann${users++}`;
    const origin = `http://127.0.0.1:${port}`;
    const sessions = `${origin}/apps/${app}/users/${userId}/sessions`;
    await fill?.(sessions);
    const url = `${origin}/studio/?app=${app}&user=${userId}&session=first`;
    const { page, errors } = await visit(url, context);
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    const read = async <T>(sessionId?: string): Promise<T> =>
      (await fetch(sessionId === undefined ? sessions : `${sessions}/${sessionId}`)).json() as Promise<T>;
    return { page, url, errors, read } satisfies Scenario;
  }
  return { open, visit, models, restart, kill: () => kill() };
}
