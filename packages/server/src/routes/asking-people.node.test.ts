import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BaseAgent,
  type BaseSessionService,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  requestInput,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { afterEach, describe, expect, test } from 'vitest';
import { type NodeServer, serve } from '../node/serve.ts';
import { KEY, serveApp } from '../fixtures/server-scenario.ts';

const servers: NodeServer[] = [];
const folders: string[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

const tools = [
  new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined }),
  new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: ({ n }) => ({ paid: n }) }),
  new FunctionTool({
    name: 'order',
    description: '',
    execute: (_, context: ToolContext) => {
      const size = context.getInput();
      if (size !== undefined) return { ordered: size };
      return context.requestInput({ message: 'Which size?', responseSchema: { enum: ['small', 'large'] } });
    },
  }),
];

const agentOf = (name: string, ...steps: ScriptedStep[]): LlmAgent =>
  new LlmAgent({ name, model: new ScriptedModel(steps), tools });

const flowOf = (...subAgents: BaseAgent[]): SequentialAgent => new SequentialAgent({ name: 'flow', subAgents });

const calling = (name: string, id = 'c1'): ScriptedStep => ({ calls: [{ id, name, args: { n: 1 } }] });

/** Opens a client that behaves like those of the ADK: it answers a question by its id, and names no run. */
async function open(
  agent: BaseAgent,
  sessionService: BaseSessionService = new InMemorySessionService(),
  resumable = true,
) {
  await sessionService.getOrCreateSession(KEY);
  const { server, runner } = serveApp({ agent, sessionService, runner: { resumable } });
  const listening = await serve(server, { port: 0, drainMs: 0 });
  servers.push(listening);
  const post = async (parts: readonly unknown[], extras: object = {}) => {
    const body = JSON.stringify({ ...KEY, newMessage: { role: 'user', parts }, ...extras });
    const response = await fetch(`${listening.url}/run`, { method: 'POST', body });
    const json: unknown = await response.json();
    const invocationId = response.headers.get('Eventloom-Invocation-Id');
    return { status: response.status, json, events: (Array.isArray(json) ? json : []) as Event[], invocationId };
  };
  const stop = async (): Promise<void> => {
    await Promise.all(servers.splice(servers.indexOf(listening), 1).map((server) => server.shutDown()));
  };
  return { post, stop, url: listening.url, runner, sessionService };
}

const HI = [{ text: 'hi' }];
const answered = (id: string | undefined, response: object) => ({ functionResponse: { id, response } });
const asked = (events: readonly Event[]) => events.flatMap(({ longRunningToolIds }) => longRunningToolIds ?? []);
const responses = (events: readonly Event[]) => events.flatMap(getFunctionResponses).map(({ response }) => response);
const textsOf = (events: readonly Event[]) =>
  events.flatMap(
    ({ author, content }) => content?.parts?.flatMap(({ text }) => (text ? `${author}: ${text}` : [])) ?? [],
  );

const REPLIES = [
  ['the result of a long-running call', 'wait', { ready: true }],
  ['a confirmation', 'pay', { confirmed: true }],
  ['an input', 'order', { result: 'large' }],
] as const;

describe('an answer resumes the run that requested it', () => {
  test.each(REPLIES)('%s', async (_, tool, response) => {
    const { post, url } = await open(flowOf(agentOf('asks', calling(tool), 'thanks'), agentOf('follows', 'followed')));
    const first = await post(HI);
    const rest = await post([answered(asked(first.events)[0], response)]);
    expect(rest.invocationId).toBe(first.invocationId);
    expect(textsOf(rest.events)).toEqual(['asks: thanks', 'follows: followed']);
    // The client reads the run that continued.
    const read = await fetch(`${url}/apps/app/users/ann/sessions/s/runs/${first.invocationId}`);
    expect(await read.text()).toContain('followed');
    const over = await post([], { newMessage: undefined, invocationId: first.invocationId });
    expect([over.status, over.json]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
  });

  test.each(REPLIES)('%s, after a restart on SQLite', async (_, tool, response) => {
    const folder = await mkdtemp(join(tmpdir(), 'asking-people-'));
    folders.push(folder);
    const inProcess = async (agent: BaseAgent, parts: (events: readonly Event[]) => readonly unknown[]) => {
      const sessionService = new SqliteSessionService({ path: join(folder, 'sessions.db') });
      await sessionService.getOrCreateSession(KEY);
      const before = (await sessionService.getSession(KEY))?.events ?? [];
      const { post, stop } = await open(agent, sessionService);
      const result = await post(parts(before));
      await stop();
      sessionService.close();
      return result;
    };
    const first = await inProcess(flowOf(agentOf('asks', calling(tool)), agentOf('follows')), () => HI);
    const rest = await inProcess(flowOf(agentOf('asks', 'thanks'), agentOf('follows', 'followed')), (events) => [
      answered(asked(events)[0], response),
    ]);
    expect(rest.invocationId).toBe(first.invocationId);
    expect(textsOf(rest.events)).toEqual(['asks: thanks', 'follows: followed']);
  });

  test('answers to parallel agents are accepted in one message or in two concurrent ones', async () => {
    const tree = () =>
      flowOf(
        new ParallelAgent({
          name: 'par',
          subAgents: [agentOf('left', calling('wait', 'l'), 'left'), agentOf('right', calling('wait', 'r'), 'right')],
        }),
        agentOf('last', 'all'),
      );
    const together = await open(tree());
    const first = await together.post(HI);
    const rest = await together.post([answered('l', {}), answered('r', {})]);
    expect(rest.invocationId).toBe(first.invocationId);
    expect(textsOf(rest.events).toSorted()).toEqual(['last: all', 'left: left', 'right: right']);

    const apart = await open(tree());
    await apart.post(HI);
    const both = await Promise.all([apart.post([answered('l', {})]), apart.post([answered('r', {})])]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(textsOf(both.flatMap(({ events }) => events)).toSorted()).toEqual([
      'last: all',
      'left: left',
      'right: right',
    ]);
  });

  test('an answer waits for the run in flight, or is refused as busy', async () => {
    const gate = new Gate();
    const tree = new ParallelAgent({
      name: 'par',
      subAgents: [
        agentOf('left', calling('wait', 'l'), { text: 'left', gate }),
        agentOf('right', calling('wait', 'r'), 'right'),
      ],
    });
    const { post, sessionService } = await open(tree);
    await post(HI);
    const left = post([answered('l', {})]);
    await gate.reached;
    const busy = await post([answered('r', {})], { onBusy: 'reject' });
    expect([busy.status, busy.json]).toMatchObject([409, { code: 'SESSION_BUSY' }]);
    // Opens when the server has found the run of the other answer.
    const found = Promise.withResolvers<void>();
    const listEvents = sessionService.listEvents.bind(sessionService);
    sessionService.listEvents = (request) => listEvents(request).finally(() => setImmediate(found.resolve));
    const right = post([answered('r', {})]);
    await found.promise;
    gate.open();
    expect(textsOf((await left).events)).toEqual(['left: left']);
    expect(textsOf((await right).events)).toEqual(['right: right']);
  });

  test('an answer starts a new run if the run that requested it was just closed', async () => {
    const { post, url, runner, sessionService } = await open(agentOf('bot', calling('wait'), 'thanks'));
    const first = await post(HI);
    const invocationId = first.invocationId ?? '';
    const listEvents = sessionService.listEvents.bind(sessionService);
    sessionService.listEvents = async (request) => {
      sessionService.listEvents = listEvents;
      const page = await listEvents(request);
      await runner.closeRun({ userId: 'ann', sessionId: 's', invocationId, reason: 'its process ended' });
      return page;
    };
    const rest = await post([answered('c1', { ready: true })]);
    expect([rest.status, textsOf(rest.events)]).toEqual([200, ['bot: thanks']]);
    expect(rest.events.map((event) => event.invocationId)).toEqual(rest.events.map(() => rest.invocationId));
    expect(rest.invocationId).not.toBe(invocationId);
    const read = (id: string | null) => fetch(`${url}/apps/app/users/ann/sessions/s/runs/${id}`).then((r) => r.text());
    expect(await read(rest.invocationId)).toContain('thanks');
    expect(await read(invocationId)).not.toContain('thanks');
  });

  test('an answer is accepted after another user message', async () => {
    const { post } = await open(
      flowOf(agentOf('asks', calling('pay'), 'Later then.', 'thanks'), agentOf('follows', 'so far', 'followed')),
    );
    const first = await post(HI);
    const between = await post([{ text: 'wait a moment' }]);
    expect(between.invocationId).not.toBe(first.invocationId);
    const rest = await post([answered(asked(first.events)[0], { confirmed: true })]);
    expect(rest.invocationId).toBe(first.invocationId);
    expect(textsOf(rest.events)).toEqual(['asks: thanks', 'follows: followed']);
  });
});

describe('an input request', () => {
  test('accepts answers that match its schema, and others are a 400 that writes nothing', async () => {
    const { post, sessionService } = await open(agentOf('bot', calling('order'), 'It comes.'), undefined, false);
    const first = await post(HI);
    const [id] = asked(first.events);
    expect(first.events.flatMap(getFunctionCalls).at(-1)).toMatchObject({
      id,
      name: 'adk_request_input',
      args: { message: 'Which size?', response_schema: { enum: ['small', 'large'] } },
    });
    const before = await sessionService.getSession(KEY);
    for (const response of [{ result: 'huge' }, {}, { result: null }, { size: 'large' }]) {
      const refused = await post([answered(id, response)]);
      expect([refused.status, refused.json]).toMatchObject([400, { code: 'INVALID_MESSAGE' }]);
    }
    expect(await sessionService.getSession(KEY)).toEqual(before);
    const rest = await post([answered(id, { result: 'large' })]);
    expect(responses(rest.events)).toEqual([{ ordered: 'large' }]);
    expect(textsOf(rest.events)).toEqual(['bot: It comes.']);
    expect((await post([answered(id, { result: 'small' })])).status).toBe(400);
  });

  test('of a custom agent pauses its workflow', async () => {
    class Clerk extends BaseAgent {
      protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        const size = yield* requestInput(context, { message: 'Which size?' });
        if (size !== undefined) yield context.createEvent({ content: { parts: [{ text: JSON.stringify(size) }] } });
      }
    }
    const { post } = await open(flowOf(new Clerk({ name: 'clerk' }), agentOf('last', 'the end')));
    const first = await post(HI);
    const rest = await post([answered(asked(first.events)[0], { result: 'large' })]);
    expect(textsOf(rest.events)).toEqual(['clerk: "large"', 'last: the end']);
  });
});
