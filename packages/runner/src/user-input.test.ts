import {
  BaseAgent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  InvalidMessageError,
  type InvocationContext,
  requestInput,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { RunAsyncParams } from './run-params.ts';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const HI = { newMessage: { parts: [{ text: 'hi' }] } };

async function setUp(config: Partial<RunnerConfig> = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  /** Each run has a runner of its own, as in a new process. */
  const runnerOf = (agent: BaseAgent) => new Runner({ appName: 'app', agent, sessionService, platform, ...config });
  const run = (agent: BaseAgent, params: Partial<RunAsyncParams> = HI): Promise<Event[]> =>
    runnerOf(agent).run({ userId: 'u', sessionId: 's', ...params });
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  return { run, runnerOf, stored, platform };
}

type Execute = (args: Record<string, unknown>, context: ToolContext) => unknown;

function agentOf(name: string, steps: readonly ScriptedStep[], execute: Execute = askSize): LlmAgent {
  const order = new FunctionTool({ name: 'order', description: '', execute });
  return new LlmAgent({ name, model: new ScriptedModel(steps), tools: [order] });
}

const askSize: Execute = (_, context) => {
  const size = context.getInput();
  return size === undefined ? context.requestInput({ message: 'Which size?' }) : { ordered: size };
};

const ORDER = { calls: [{ id: 'o1', name: 'order' }] } satisfies ScriptedStep;
const questions = (events: readonly Event[]) =>
  events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_input');
const responses = (events: readonly Event[]) => events.flatMap(getFunctionResponses).map(({ response }) => response);
const textsOf = (events: readonly Event[]) =>
  events.flatMap(({ content }) => content?.parts?.flatMap(({ text }) => text ?? []) ?? []);

/** Answers to the questions in events, in their order. */
function answer(events: readonly Event[], ...results: unknown[]) {
  const parts = results.map((result, index) => answerPart(questions(events)[index]?.id, { result }));
  return { newMessage: { parts } };
}

function answerPart(id: string | undefined, response: object) {
  return { functionResponse: { id: id ?? '', name: 'adk_request_input', response: { ...response } } };
}

describe.each([false, true])('a tool that asks for input, in a run that can be resumed: %s', (resumable) => {
  test('pauses, and has the answer when it is run again', async () => {
    const { run } = await setUp({ resumable });
    const asked = await run(agentOf('bot', [ORDER]));
    const [question] = questions(asked);
    expect(question?.args).toEqual({ interruptId: question?.id, functionCallId: 'o1', message: 'Which size?' });
    expect(asked.find((event) => questions([event]).length > 0)?.longRunningToolIds).toEqual([question?.id]);
    expect(responses(asked)).toEqual([{ error: 'This tool call requires input of a person.' }]);
    const rest = await run(agentOf('bot', ['It comes.']), answer(asked, 'large'));
    expect(responses(rest)).toEqual([{ ordered: 'large' }]);
    expect(textsOf(rest)).toEqual(['It comes.']);
    await expect(run(agentOf('bot', []), answer(asked, 'small'))).rejects.toThrow('was answered already');
  });

  test('may be asked for several things at once, and runs when the last one is answered, in any order', async () => {
    const { run } = await setUp({ resumable });
    const execute: Execute = (_, context) => {
      const [size, colour] = [context.getInput('size'), context.getInput('colour')];
      if (size !== undefined && colour !== undefined) return { size, colour };
      context.requestInput({ key: 'size' });
      return context.requestInput({ key: 'colour', payload: { from: ['red', 'blue'] } });
    };
    const asked = await run(agentOf('bot', [ORDER], execute));
    const [size, colour] = questions(asked);
    expect([size?.args?.['key'], colour?.args]).toMatchObject(['size', { payload: { from: ['red', 'blue'] } }]);
    const between = await run(agentOf('bot', [], execute), {
      newMessage: { parts: [answerPart(colour?.id, { result: 'red' })] },
    });
    expect(responses(between)).toEqual([]);
    const rest = await run(agentOf('bot', ['ok'], execute), {
      newMessage: { parts: [answerPart(size?.id, { result: 5 })] },
    });
    expect(responses(rest)).toEqual([{ size: 5, colour: 'red' }]);
  });

  test('may ask for one thing after the other, and keeps the answers', async () => {
    const { run } = await setUp({ resumable });
    const execute: Execute = (_, context) => {
      for (const key of ['size', 'colour'])
        if (context.getInput(key) === undefined) return context.requestInput({ key });
      return { size: context.getInput('size'), colour: context.getInput('colour') };
    };
    const first = await run(agentOf('bot', [ORDER], execute));
    const second = await run(agentOf('bot', [], execute), answer(first, 5));
    expect(questions(second).map(({ args }) => args?.['key'])).toEqual(['colour']);
    const third = await run(agentOf('bot', ['ok'], execute), answer(second, 'red'));
    expect(responses(third)).toEqual([{ size: 5, colour: 'red' }]);
    expect(textsOf(third)).toEqual(['ok']);
  });

  test('is not run when the answer comes too late', async () => {
    const { run, platform } = await setUp({ resumable, requestTtlMs: 1000 });
    const asked = await run(agentOf('bot', [ORDER]));
    platform.advance(1001);
    const rest = await run(agentOf('bot', ['ok']), answer(asked, 'large'));
    expect(responses(rest)).toEqual([{ error: 'This tool call was not run: it was answered too late.' }]);
  });

  test('several calls of a reply ask each for itself, and one message answers all', async () => {
    const { run } = await setUp({ resumable });
    const two = {
      calls: [
        { id: 'o1', name: 'order' },
        { id: 'o2', name: 'order' },
      ],
    } satisfies ScriptedStep;
    const asked = await run(agentOf('bot', [two]));
    const rest = await run(agentOf('bot', ['ok']), answer(asked, 'small', 'large'));
    expect(responses(rest)).toEqual([{ ordered: 'small' }, { ordered: 'large' }]);
  });
});

describe('an answer', () => {
  const responseSchema = z.object({ approved: z.boolean(), days: z.int().optional() });
  const execute: Execute = (_, context) => context.getInput() ?? context.requestInput({ responseSchema });

  test('is what the schema lets through; the question says it as JSON Schema', async () => {
    const { run } = await setUp();
    const asked = await run(agentOf('bot', [ORDER], execute));
    expect(questions(asked)[0]?.args?.['response_schema']).toMatchObject({
      type: 'object',
      properties: { approved: { type: 'boolean' } },
      required: ['approved'],
    });
    const rest = await run(agentOf('bot', ['ok'], execute), answer(asked, { approved: true, days: 2 }));
    expect(responses(rest)).toEqual([{ approved: true, days: 2 }]);
  });

  test.each([
    ['an object that is the answer itself', { approved: true }],
    ['JSON that somebody typed', { result: '{"approved": true}' }],
  ])('may be %s', async (_, response) => {
    const { run } = await setUp();
    const [question] = questions(await run(agentOf('bot', [ORDER], execute)));
    const newMessage = { parts: [answerPart(question?.id, response)] };
    expect(responses(await run(agentOf('bot', ['ok'], execute), { newMessage }))).toEqual([{ approved: true }]);
  });

  test.each([
    ['of another shape', { result: { approved: 'yes' } }],
    ['without what is required', { result: {} }],
    ['that is a text', { result: 'yes' }],
    ['that is null', { result: null }],
    ['that is empty', {}],
  ])('%s is refused, and nothing is written', async (_, response) => {
    const { run, stored } = await setUp();
    const [question] = questions(await run(agentOf('bot', [ORDER], execute)));
    const before = await stored();
    const newMessage = { parts: [answerPart(question?.id, response)] };
    await expect(run(agentOf('bot', [], execute), { newMessage })).rejects.toThrow(InvalidMessageError);
    await expect(run(agentOf('bot', [], execute), { newMessage })).rejects.toThrow('not as it was asked for');
    expect(await stored()).toEqual(before);
  });

  test('may be an object that is called as the runtime calls an answer', async () => {
    const asking: Execute = (_, context) =>
      context.getInput() ?? context.requestInput({ responseSchema: z.object({ result: z.number() }) });
    for (const response of [{ result: 3 }, { result: { result: 3 } }]) {
      const { run } = await setUp();
      const [question] = questions(await run(agentOf('bot', [ORDER], asking)));
      const newMessage = { parts: [answerPart(question?.id, response)] };
      expect(responses(await run(agentOf('bot', ['ok'], asking), { newMessage }))).toEqual([{ result: 3 }]);
    }
  });

  test('given twice in one message is refused', async () => {
    const { run } = await setUp();
    const [question] = questions(await run(agentOf('bot', [ORDER], execute)));
    const part = answerPart(question?.id, { result: { approved: true } });
    await expect(run(agentOf('bot', [], execute), { newMessage: { parts: [part, part] } })).rejects.toThrow(
      'is answered twice',
    );
  });
});

test('a model is not told of questions for input, nor of their answers', async () => {
  const { run } = await setUp();
  const asked = await run(agentOf('bot', [ORDER]));
  const matches = ({ contents }: { readonly contents: unknown }) =>
    expect(JSON.stringify(contents)).not.toContain('adk_request_input');
  await run(agentOf('bot', [{ text: 'ok', expect: { matches } }]), answer(asked, 'large'));
});

test('a tool of an agent that is called as a tool asks in a run that can be resumed, and is told that it cannot in others', async () => {
  const tree = (lead: ScriptedStep[], helper: ScriptedStep[]) =>
    new LlmAgent({
      name: 'lead',
      model: new ScriptedModel(lead),
      tools: [new AgentTool({ agent: agentOf('helper', helper) })],
    });
  const ask = { calls: [{ id: 'c1', name: 'helper', args: { request: 'x' } }] };
  const paused = await setUp({ resumable: true });
  const asked = await paused.run(tree([ask], [ORDER]));
  const rest = await paused.run(tree(['done'], ['It comes.']), answer(asked, 'large'));
  expect(responses(rest)).toEqual([{ result: 'It comes.' }]);
  expect(responses(await paused.stored())).toContainEqual({ ordered: 'large' });
  const other = await setUp();
  const events = await other.run(tree([ask, 'done'], [ORDER, 'I cannot ask.']));
  expect(questions(events)).toEqual([]);
  expect(responses(events)).toEqual([{ result: 'I cannot ask.' }]);
});

/** Asks for a size and then for a colour, and says both. */
class Clerk extends BaseAgent {
  constructor(name = 'clerk') {
    super({ name });
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const size = yield* requestInput(context, { key: 'size', responseSchema: { type: 'integer' } });
    if (size === undefined) return;
    const colour = yield* requestInput(context, { key: 'colour', message: `Which colour in ${JSON.stringify(size)}?` });
    if (colour === undefined) return;
    yield context.createEvent({
      content: { parts: [{ text: `${JSON.stringify(colour)} in ${JSON.stringify(size)}` }] },
    });
  }
}

describe('an agent of one’s own that asks for input', () => {
  test.each([false, true])('has the answers when it is run again (resumable: %s)', async (resumable) => {
    const { run } = await setUp({ resumable });
    const first = await run(new Clerk());
    expect(questions(first)).toMatchObject([{ args: { key: 'size', response_schema: { type: 'integer' } } }]);
    await expect(run(new Clerk(), answer(first, 'large'))).rejects.toThrow('not as it was asked for');
    const second = await run(new Clerk(), answer(first, 5));
    expect(questions(second)).toMatchObject([{ args: { key: 'colour', message: 'Which colour in 5?' } }]);
    const third = await run(new Clerk(), answer(second, 'red'));
    expect(textsOf(third)).toEqual(['"red" in 5']);
    await expect(run(new Clerk(), answer(first, 6))).rejects.toThrow('was answered already');
  });

  test('pauses the workflow around it, which goes on to its end with the answers', async () => {
    const { run } = await setUp({ resumable: true });
    const flow = (steps: ScriptedStep[]) =>
      new SequentialAgent({ name: 'flow', subAgents: [new Clerk(), agentOf('last', steps)] });
    const first = await run(flow([]));
    // Asked to go on without the answer, it waits and does not ask again.
    expect(questions(await run(flow([]), { invocationId: first[0]?.invocationId }))).toEqual([]);
    const second = await run(flow([]), answer(first, 5));
    const third = await run(flow(['the end']), answer(second, 'red'));
    expect(textsOf(third)).toEqual(['"red" in 5', 'the end']);
    expect(new Set([...first, ...second, ...third].map(({ invocationId }) => invocationId)).size).toBe(1);
  });

  test('may stand beside others: each has its own answer, also from one message', async () => {
    const { run } = await setUp({ resumable: true });
    const flow = () => new ParallelAgent({ name: 'par', subAgents: [new Clerk('left'), new Clerk('right')] });
    const first = await run(flow());
    const second = await run(flow(), answer(first, 1, 2));
    expect(questions(second)).toHaveLength(2);
    const byAuthor = new Map(second.map((event) => [event.author, questions([event])[0]]));
    const parts = [
      answerPart(byAuthor.get('right')?.id, { result: 'blue' }),
      answerPart(byAuthor.get('left')?.id, { result: 'red' }),
    ];
    expect(textsOf(await run(flow(), { newMessage: { parts } })).toSorted()).toEqual(['"blue" in 2', '"red" in 1']);
  });

  test('can be answered in a run of its own when its run is given up', async () => {
    const { run, stored, runnerOf } = await setUp({ resumable: true });
    const first = await run(new Clerk());
    const invocationId = first[0]?.invocationId ?? '';
    await runnerOf(new Clerk()).closeRun({ userId: 'u', sessionId: 's', invocationId, reason: 'enough' });
    expect(responses(await stored())).toEqual([]);
    expect(questions(await run(new Clerk(), answer(first, 5)))).toMatchObject([{ args: { key: 'colour' } }]);
  });

  test('asks again when it is spoken to anew', async () => {
    const { run } = await setUp();
    const first = await run(new Clerk());
    await run(new Clerk(), answer(first, 5));
    expect(questions(await run(new Clerk()))).toMatchObject([{ args: { key: 'size' } }]);
  });

  test('asks again when the answer came too late', async () => {
    const { run, platform } = await setUp({ resumable: true, requestTtlMs: 1000 });
    const first = await run(new Clerk());
    platform.advance(1001);
    const again = await run(new Clerk(), answer(first, 'anything'));
    expect(questions(again)).toMatchObject([{ args: { key: 'size' } }]);
    expect(questions(await run(new Clerk(), answer(again, 5)))).toMatchObject([{ args: { key: 'colour' } }]);
  });
});

test('an agent of one’s own that makes a call whose result comes later waits by itself in a run that can be resumed', async () => {
  class Caller extends BaseAgent {
    constructor() {
      super({ name: 'caller' });
    }

    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const given = context.session.events.flatMap(getFunctionResponses).find(({ id }) => id === 'k1');
      if (given) {
        yield context.createEvent({ content: { parts: [{ text: `got ${String(given.response?.['n'])}` }] } });
        return;
      }
      const functionCall = { id: 'k1', name: 'elsewhere', args: {} };
      yield context.createEvent({ content: { role: 'model', parts: [{ functionCall }] }, longRunningToolIds: ['k1'] });
    }
  }
  const { run } = await setUp({ resumable: true });
  const flow = (steps: ScriptedStep[]) =>
    new SequentialAgent({ name: 'flow', subAgents: [new Caller(), agentOf('last', steps)] });
  const first = await run(flow([]));
  expect(await run(flow([]), { invocationId: first[0]?.invocationId })).toEqual([]);
  const newMessage = { parts: [{ functionResponse: { id: 'k1', response: { n: 7 } } }] };
  expect(textsOf(await run(flow(['the end']), { newMessage }))).toEqual(['got 7', 'the end']);
});
