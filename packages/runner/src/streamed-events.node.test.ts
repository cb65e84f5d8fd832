import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { type BaseAgent, BasePlugin, type Event, ObjectType, type RunConfig, serializeEvent } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import type { LlmAgentConfig } from '@eventloom/llm-agent';
import { AgentTool, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { fixedPlatform, Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { caller } from './fixtures/agent-tool-run.ts';
import { Scripted } from './fixtures/code-run.ts';
import { NamingSummarizer } from './fixtures/compacted-run.ts';
import { AUTH } from './fixtures/credential-run.ts';
import { Runner } from './index.ts';
import { chunks, CustomAgent, sayer } from './fixtures/custom-agent.ts';
import {
  call,
  KEY,
  responsesOf,
  runToError,
  saying,
  scenario,
  type ScenarioOptions,
  scripted,
  transferTo,
} from './fixtures/scenario.ts';

// Every complete event that a reader of a run gets equals the stored event, byte for byte, so a reader after a restart
// gets the same events.

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'streamed-events-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the agent once with each message, and returns the streamed events and the stored events as another process reads them. */
async function play({
  messages = ['hi'],
  run,
  fails = false,
  ...options
}: Case): Promise<{ streamed: Event[]; stored: Event[]; followed: Event[] }> {
  const path = join(folder, 'sessions.db');
  const platform = fixedPlatform();
  const sessionService = new SqliteSessionService({ path, platform });
  const artifactService = new InMemoryArtifactService();
  const credentialService = new InMemoryCredentialService();
  const { runner } = await scenario({ artifactService, credentialService, ...options, platform, sessionService });
  const streamed: Event[] = [];
  const requests = messages.map((text, index) => {
    const runConfig = { streamingMode: 'sse' as const, completionEvent: true, ...run };
    return saying(text, { runConfig, requestId: `r-${index}`, customMetadata: { a: 1 } });
  });
  for (const request of requests) {
    platform.advance(1000);
    const stream = runner.runAsync(request);
    streamed.push(...(fails ? await runToError(stream).then(({ events }) => events) : await collect(stream)));
  }
  sessionService.close();
  const reopened = new SqliteSessionService({ path, platform });
  const stored = (await reopened.getSession(KEY))?.events ?? [];
  const next = new Runner({ appName: KEY.appName, agent: sayer('unasked'), sessionService: reopened, platform });
  const followed: Event[] = [];
  for (const request of requests) followed.push(...(await collect(next.runAsync(request))));
  reopened.close();
  return { streamed, stored, followed };
}

async function collect(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const neverStored = ({ partial, object, nodeEvent }: Event): boolean =>
  partial === true ||
  object === ObjectType.agentTransfer ||
  object === ObjectType.runnerCompletion ||
  Boolean(nodeEvent);

const work = new FunctionTool({
  name: 'work',
  description: '',
  execute: async (_, context) => {
    context.state.set('kept', { deep: [1, 'ü', null] });
    context.state.set('gone', 1);
    context.state.remove('gone');
    context.state.set('temp:note', 'hello');
    context.state.set('user:mood', 'calm');
    await context.saveArtifact('page.txt', { text: 'page' });
    return { at: 1.5, text: 'line\u2028', bytes: undefined };
  },
});
const WORK: ScriptedStep = { calls: [call('work')] };

/** A tool that writes `key` when its agent calls it. */
function writer(name: string, value: string, gate?: Gate): BaseAgent {
  return new CustomAgent(name, async function* (context) {
    yield context.createEvent({ actions: { stateDelta: { key: value, [name]: value, 'user:key': value } } });
    if (gate) await gate.pass(context.abortSignal);
    yield context.createEvent({ content: { role: 'model', parts: [{ text: `${name} done` }] } });
  });
}

/** Two parallel agents, each with an agent as a tool; the first answers when the second has written the same key. */
function parallelWriters(streamInner: boolean): BaseAgent {
  const gate = new Gate();
  const late = new CustomAgent('late', async function* (context) {
    await gate.reached;
    yield* writer('inner', 'second').runAsync(context);
    gate.open();
  });
  const first = caller(writer('early', 'first', gate), { streamInner });
  const second = scripted('second', [{ calls: [call('late', { request: 'x' }, 'c2')] }, 'done'], {
    tools: [new AgentTool({ agent: late, streamInner })],
  });
  return new ParallelAgent({ name: 'par', subAgents: [first, second] });
}

interface Case extends ScenarioOptions {
  readonly messages?: readonly string[];
  /** Options of the run beside `streamingMode`. */
  readonly run?: RunConfig;
  readonly fails?: boolean;
}

const llm = (model: readonly ScriptedStep[], agent: Partial<LlmAgentConfig> = {}): Case => ({ model, agent });

class Rewriting extends BasePlugin {
  override async onEventCallback({ event }: { event: Event }): Promise<Event | undefined> {
    return event.partial ? undefined : { ...event, customMetadata: { checked: true } };
  }
}

const cases: Record<string, () => Case> = {
  'a text': () => llm(['Hello']),
  'a streamed text with thoughts and usage': () =>
    llm([
      {
        chunks: [[{ text: 'hm', thought: true }], 'Hel', 'lo'],
        response: { usageMetadata: { totalTokenCount: 3 }, avgLogprobs: -0.25 },
      },
    ]),
  'events that an agent of its own made, incomplete': () => ({ agent: chunks }),
  'tools that change state and artifacts': () => llm([WORK, 'done'], { tools: [work] }),
  'several calls, one that fails and one of no tool': () =>
    llm([{ calls: [call('work'), call('nope'), call('fail')] }, 'done'], {
      tools: [
        work,
        new FunctionTool({
          name: 'fail',
          description: '',
          execute: () => {
            throw new TypeError('no');
          },
        }),
      ],
    }),
  'a tool that streams': () =>
    llm([{ calls: [call('count')] }, 'done'], {
      tools: [
        new FunctionTool({
          name: 'count',
          description: '',
          async *execute() {
            yield 'one';
            yield 'two';
          },
        }),
      ],
    }),
  'a long-running call': () =>
    llm([{ calls: [call('wait')] }, 'waiting'], {
      tools: [new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => ({ status: 'pending' }) })],
    }),
  'a call that a person confirms': () =>
    llm([{ calls: [call('pay')] }], {
      tools: [new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 1 })],
    }),
  'a call that needs a credential': () =>
    llm([{ calls: [call('calendar')] }], {
      tools: [
        new FunctionTool({
          name: 'calendar',
          description: '',
          execute: (_, context) => context.requestCredential(AUTH),
        }),
      ],
    }),
  'a transfer': () => ({
    agent: scripted('lead', [transferTo('helper')], { subAgents: [scripted('helper', ['I can help.'])] }),
  }),
  'a workflow': () => ({
    agent: new SequentialAgent({
      name: 'seq',
      subAgents: [
        new ParallelAgent({ name: 'par', subAgents: [sayer('one'), sayer('two')] }),
        new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [sayer('three')] }),
      ],
    }),
  }),
  'a resumable workflow': () => ({
    agent: new SequentialAgent({
      name: 'seq',
      subAgents: [sayer('one'), scripted('two', [WORK, 'x'], { tools: [work] })],
    }),
    run: { resumable: true },
  }),
  'an agent as a tool': () => ({
    agent: caller(scripted('helper', [WORK, 'found'], { tools: [work], outputKey: 'o' })),
  }),
  'an agent as a tool whose events are passed on': () => ({
    agent: caller(scripted('helper', [WORK, { chunks: ['fo', 'und'] }], { tools: [work], outputKey: 'o' }), {
      streamInner: true,
    }),
  }),
  'two agents as one tool, whose events are passed on, and whose answers come in chunks': () => ({
    agent: caller(
      new SequentialAgent({
        name: 'pair',
        subAgents: [scripted('left', [{ chunks: ['o', 'ne'] }]), scripted('right', [{ chunks: ['t', 'wo'] }])],
      }),
      { streamInner: true },
    ),
    run: { resumable: true },
  }),
  'an agent as a tool that fails after an answer in chunks': () => ({
    agent: caller(
      new SequentialAgent({
        name: 'pair',
        subAgents: [scripted('left', [{ chunks: ['o', 'ne'] }]), scripted('right', [{ error: new TypeError('no') }])],
      }),
      { streamInner: true },
    ),
  }),
  'an agent as a tool of an agent as a tool': () => ({
    agent: caller(
      scripted('middle', [{ calls: [call('deep', { request: 'x' })] }, 'm'], {
        tools: [new AgentTool({ agent: scripted('deep', [WORK, 'd'], { tools: [work] }), streamInner: true })],
      }),
      { streamInner: true },
    ),
  }),
  'parallel agents as tools that write the same key': () => ({ agent: parallelWriters(false) }),
  'parallel agents as tools that write the same key, whose events are passed on': () => ({
    agent: parallelWriters(true),
  }),
  'an agent as a tool that asks a person': () => ({
    agent: caller(
      scripted('helper', [{ calls: [call('pay')] }], {
        tools: [new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 1 })],
      }),
    ),
    run: { resumable: true },
  }),
  'output by a schema': () =>
    llm(['{"n": "x"}', '{"n": 1}'], { outputSchema: z.object({ n: z.number() }), outputKey: 'answer' }),
  'output by a schema beside tools': () =>
    llm([WORK, { calls: [call('set_model_response', { n: 1 })] }], {
      outputSchema: z.object({ n: z.number() }),
      tools: [work],
    }),
  'code and its result': () => llm(['```tool_code\n1 + 2\n```', 'It is 3.'], { codeExecutor: new Scripted() }),
  'callbacks that write state and say nothing': () =>
    llm(['Hello'], {
      beforeAgentCallback: ({ state }) => state.set('before', 1),
      afterAgentCallback: ({ state }) => state.set('after', 1),
    }),
  'an incomplete reply': () => llm([{ chunks: ['The ', 'dose'], response: { finishReason: 'MAX_TOKENS' } }]),
  'a model that fails in its reply': () => ({
    ...llm([{ chunks: ['The ', 'dose'], error: new TypeError('cut') }]),
    fails: true,
  }),
  'an agent that throws': () => ({
    agent: async function* (context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'so far' }] } });
      throw new TypeError('no');
    },
    fails: true,
  }),
  'a plugin that replaces events': () => ({
    ...llm([WORK, 'done'], { tools: [work] }),
    plugins: [new Rewriting('rewriting')],
  }),
  'a session that is compacted': () => ({
    ...llm(['a1', 'a2', 'a3']),
    messages: ['u1', 'u2', 'u3'],
    eventsCompaction: { summarizer: new NamingSummarizer(), compactionInterval: 1 },
  }),
};

describe('every complete event of the stream equals the stored event', () => {
  test.each(Object.keys(cases))('%s', async (name) => {
    const { streamed, stored } = await play(cases[name]?.() ?? expect.unreachable());
    const byId = new Map(stored.map((event) => [event.id, serializeEvent(event)]));
    const complete = streamed.filter((event) => !neverStored(event));
    expect(complete.length).toBeGreaterThan(0);
    for (const event of complete) expect(serializeEvent(event)).toBe(byId.get(event.id));
    for (const event of streamed.filter(neverStored)) expect(byId.has(event.id)).toBe(false);
  });
});

test.each(Object.keys(cases))(
  'a caller that sends its message again after a restart gets every complete event in the same order: %s',
  async (name) => {
    const { streamed, followed } = await play(cases[name]?.() ?? expect.unreachable());
    const complete = streamed.filter((event) => !neverStored(event));
    expect(followed.map((event) => serializeEvent(event))).toEqual(complete.map((event) => serializeEvent(event)));
  },
);

test('responses of parallel AgentTools that write the same key have their own newest values', async () => {
  const { streamed } = await play({ agent: parallelWriters(false) });
  const changes = streamed
    .filter((event) => responsesOf(event).length > 0)
    .map(({ author, actions }) => [author, actions.stateDelta]);
  expect(Object.fromEntries(changes)).toEqual({
    lead: { early: 'first' },
    second: { inner: 'second', key: 'second', 'user:key': 'second' },
  });
});
