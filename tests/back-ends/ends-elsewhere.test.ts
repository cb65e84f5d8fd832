import { type BaseSessionService, type Event, type Platform, systemPlatform } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer, type EventloomServer } from '@eventloom/server';
import { InMemoryRunRelay, RunNetwork } from '@eventloom/server/conformance';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { storages } from './fixtures/storages.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const SESSION = '/apps/app/users/ann/sessions/s';

/** A server in the place of a process. */
interface Process {
  readonly server: EventloomServer;
  readonly sessions: BaseSessionService;
  readonly send: (method: string, path: string, body?: object) => Promise<Response>;
  /** Starts a run, and returns its response and its path. */
  readonly start: () => Promise<{ readonly response: Response; readonly path: string }>;
}

/** Several servers on one storage. */
interface Processes {
  /** Starts a server whose model plays these steps. */
  readonly serve: (...steps: ScriptedStep[]) => Promise<Process>;
  /** Failures of background work and of servers. */
  readonly reported: unknown[];
}

/** Does the work with servers on an empty storage, and ends them. */
async function withProcesses(
  storageName: string,
  hasRelay: boolean,
  work: (processes: Processes) => Promise<void>,
): Promise<void> {
  const storage = (await storages[storageName]?.()) ?? expect.unreachable();
  const network = new RunNetwork();
  const reported: unknown[] = [];
  const background = (promise: Promise<unknown>): void =>
    void promise.catch((error: unknown) => void reported.push(error));
  const platform: Platform = { ...systemPlatform, background };
  const servers: EventloomServer[] = [];
  const serve: Processes['serve'] = async (...steps) => {
    const sessions = await storage.open();
    const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel(steps) });
    const runner = new Runner({
      appName: 'app',
      agent,
      sessionService: sessions,
      platform,
      autoCreateSession: true,
      resumable: true,
    });
    const server = createServer({
      runners: [runner],
      platform,
      relay: hasRelay ? new InMemoryRunRelay(network) : undefined,
      limits: { unfinishedRunsEveryMs: 0 },
      onError: (error) => reported.push(error),
    });
    servers.push(server);
    const send: Process['send'] = async (method, path, body) =>
      server.fetch(
        new Request(`http://localhost${path}`, {
          method,
          headers: { 'eventloom-event-ids': '1' },
          ...(body && { body: JSON.stringify(body) }),
        }),
      );
    const start: Process['start'] = async () => {
      const newMessage = { parts: [{ text: 'hi' }] };
      const response = await send('POST', '/run_sse', { ...KEY, newMessage, streaming: true });
      return { response, path: `${SESSION}/runs/${response.headers.get('Eventloom-Invocation-Id')}` };
    };
    return { server, sessions, send, start };
  };
  try {
    await work({ serve, reported });
  } finally {
    await Promise.all(servers.map((server) => server.drain(0)));
    await storage.end();
  }
}

const cases = Object.keys(storages).flatMap((name) => [
  { name, hasRelay: true },
  { name, hasRelay: false },
]);

describe.each(cases)('a run of another process, in $name (relay: $hasRelay),', ({ name, hasRelay }) => {
  test('whose session was deleted ends for its readers, and cannot be read', () =>
    withProcesses(name, hasRelay, async ({ serve, reported }) => {
      const gate = new Gate();
      const host = await serve({ chunks: ['one ', gate, 'two'] });
      const { response, path } = await host.start();
      await gate.reached;
      const other = await serve();
      // The host finds that at its next event, unless the relay stops its run first.
      await other.sessions.deleteSession(KEY);
      if (hasRelay) expect((await other.send('DELETE', SESSION)).status).toBe(200);
      gate.open();
      const text = await response.text();
      expect(text).toContain('data: {"error":"the session was deleted","code":"RUN_ABORTED"}');
      expect(text).not.toContain('RUN_GOES_ON');
      for (const { send } of [host, other])
        for (const method of ['GET', 'DELETE']) expect((await send(method, path)).status).toBe(404);
      expect(reported).toEqual([]);
    }));

  test('that ended before its session was deleted cannot be read', () =>
    withProcesses(name, hasRelay, async ({ serve }) => {
      const host = await serve('done');
      const { response, path } = await host.start();
      expect(await response.text()).toContain('done');
      expect((await host.send('GET', path)).status).toBe(200);
      const other = await serve();
      expect((await other.send('DELETE', SESSION)).status).toBe(200);
      for (const { send } of [host, other]) expect((await send('GET', path)).status).toBe(404);
    }));

  test('that is cancelled is never continued, even if its process does not notice the cancellation', () =>
    withProcesses(name, hasRelay, async ({ serve, reported }) => {
      const gate = new Gate();
      const host = await serve({ chunks: ['one ', gate, 'two'] });
      const { response, path } = await host.start();
      await gate.reached;
      const [other, third] = [await serve('resumed'), await serve('next')];
      expect((await other.send('DELETE', path)).status).toBe(200);
      const answers = await Promise.all([other, third].map(({ server }) => server.takeUpUnfinishedRuns()));
      expect(answers).toEqual([undefined, undefined]);
      const next = await third.start();
      expect(await next.response.text()).toContain('next');
      gate.open();
      expect(await response.text()).toMatch(/"error":"the run was cancelled","code":"RUN_(ABANDONED|ABORTED)"/);
      const { events = [] } = (await other.sessions.getSession(KEY)) ?? {};
      const texts = events.map(({ content, errorMessage }: Event) => errorMessage ?? content?.parts?.[0]?.text ?? '');
      expect(texts.filter((text) => text !== '')).toEqual(['hi', 'the run was cancelled', 'hi', 'next']);
      expect(reported).toEqual([]);
    }));
});
