import type { BaseSessionService, Event } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { findLooseEnds, Runner } from '@eventloom/runner';
import { createServer, type EventloomServer } from '@eventloom/server';
import { InMemoryRunRelay, RunNetwork } from '@eventloom/server/conformance';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { afterEach, describe, expect, test } from 'vitest';
import { type Storage, storages } from './fixtures/storages.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const SESSION = '/apps/app/users/ann/sessions/s';
const PAY: ScriptedStep = { calls: [{ id: 'c1', name: 'pay' }] };

const open: { readonly servers: EventloomServer[]; storage: Storage | undefined } = { servers: [], storage: undefined };
afterEach(async () => {
  await Promise.all(open.servers.splice(0).map((server) => server.drain(0)));
  await open.storage?.end();
  open.storage = undefined;
});

/** Two servers on one storage. Their agent asks a person before it pays, and can do slow work. */
async function setUp({ name, resumable, hasRelay }: Case, ...steps: ScriptedStep[]) {
  const storage = (await storages[name]?.()) ?? expect.unreachable();
  open.storage = storage;
  const network = new RunNetwork();
  const working = new Gate();
  const paid: unknown[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: () => ({ paid: paid.push(1) }),
  });
  const work = new FunctionTool({ name: 'work', description: '', execute: () => working.pass() });
  const model = new ScriptedModel(steps);
  const serve = async () => {
    const sessionService: BaseSessionService = await storage.open();
    const agent = new LlmAgent({ name: 'agent', model, tools: [pay, work] });
    const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true, resumable });
    const relay = hasRelay ? new InMemoryRunRelay(network) : undefined;
    const server = createServer({ runners: [runner], relay, onError: () => undefined });
    open.servers.push(server);
    const send = async (method: string, path: string, body?: object, headers = {}): Promise<Response> =>
      server.fetch(
        new Request(`http://localhost${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) }),
      );
    const say = async (...parts: object[]) => send('POST', '/run', { ...KEY, newMessage: { parts } });
    const stateOf = async (run: string) => (await send('GET', run, undefined, { accept: 'application/json' })).json();
    return { send, say, stateOf, sessionService };
  };
  const one = await serve();
  const stored = async () => (await one.sessionService.getSession(KEY))?.events ?? [];
  return { one, other: await serve(), paid, working, stored };
}

/** Lets the agent ask. Returns the path of the run, and the answer that approves. */
async function ask({ say }: { readonly say: (...parts: object[]) => Promise<Response> }) {
  const asked = await say({ text: 'pay' });
  const events = (await asked.json()) as Event[];
  const id = events.flatMap(({ longRunningToolIds }) => longRunningToolIds ?? [])[0] ?? expect.unreachable();
  return { run: `${SESSION}/runs/${asked.headers.get('Eventloom-Invocation-Id')}`, approval: approvalOf(id) };
}

const approvalOf = (id: string) => ({
  functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true } },
});

interface Case {
  readonly name: string;
  readonly resumable: boolean;
  readonly hasRelay: boolean;
}

const cases: Case[] = Object.keys(storages).flatMap((name) =>
  [true, false].flatMap((resumable) => [true, false].map((hasRelay) => ({ name, resumable, hasRelay }))),
);

describe.each(cases)('a waiting run, in $name (resumable: $resumable, relay: $hasRelay),', (each) => {
  test.each(['one', 'other'] as const)('is cancelled through the server %s, and an approval is refused', async (by) => {
    const { paid, stored, ...servers } = await setUp(each, PAY, 'next');
    const { one, other } = servers;
    const { run, approval } = await ask(one);
    expect(await one.stateOf(run)).toMatchObject({ state: 'waiting' });
    expect((await servers[by].send('DELETE', run)).status).toBe(200);
    const error = 'the run was cancelled';
    for (const server of [one, other]) {
      expect(await server.stateOf(run)).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED', error });
      expect(await (await server.send('GET', run)).text()).toContain(`"error":"${error}"`);
      const refused = await server.say(approval);
      expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'INVALID_MESSAGE' }]);
    }
    expect(await findLooseEnds(one.sessionService, KEY)).toEqual([]);
    const before = await stored();
    expect((await other.send('DELETE', run)).status).toBe(200);
    expect(await stored()).toEqual(before);
    expect((await one.say({ text: 'go on' })).status).toBe(200);
    expect(paid).toEqual([]);
  });

  test('is cancelled by two clients while an approval arrives: it is paid and ends, or is not paid', async () => {
    const { one, other, paid, stored } = await setUp(each, PAY, 'paid');
    const { run, approval } = await ask(one);
    const [first, approved, second] = await Promise.all([
      one.send('DELETE', run),
      other.say(approval),
      other.send('DELETE', run),
    ]);
    await approved.text();
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await findLooseEnds(one.sessionService, KEY)).toEqual([]);
    const events = await stored();
    // Without an approval that came first, nothing is paid.
    if (!events.some(({ author, content }) => author === 'user' && content?.parts?.[0]?.functionResponse))
      expect(paid).toEqual([]);
    expect(paid.length).toBeLessThan(2);
    expect((await one.stateOf(run)) as object).toHaveProperty('state', expect.stringMatching(/interrupted|completed/));
    const before = paid.length;
    expect((await one.say(approval)).status).toBe(400);
    expect(paid).toHaveLength(before);
  });
});

test.each(cases)(
  'a run that is cancelled while a tool works takes no answer to its other call, in $name (resumable: $resumable, relay: $hasRelay)',
  async (each) => {
    const { one, other, paid, working } = await setUp(each, {
      calls: [
        { id: 'c1', name: 'pay' },
        { id: 'c2', name: 'work' },
      ],
    });
    const begun = await one.send('POST', `${SESSION}/runs`, { newMessage: { parts: [{ text: 'pay' }] } });
    const run = begun.headers.get('location') ?? expect.unreachable();
    await working.reached;
    expect((await other.send('DELETE', run)).status).toBe(200);
    working.open();
    const { events = [] } = (await one.sessionService.getSession(KEY)) ?? {};
    for (const id of events.flatMap(({ longRunningToolIds }) => longRunningToolIds ?? []))
      expect((await one.say(approvalOf(id))).status).toBe(400);
    expect(await findLooseEnds(one.sessionService, KEY)).toEqual([]);
    expect(paid).toEqual([]);
    expect(await other.stateOf(run)).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
  },
);
