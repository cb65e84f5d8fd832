/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { ObjectType } from '@eventloom/core';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { caller, modelOf } from './fixtures/agent-tool-run.ts';
import { responsesOf, scenario, scripted, summaryOf, textOf } from './fixtures/scenario.ts';

describe('streamInner', () => {
  test.each([
    [true, undefined],
    [false, ['not_streamed']],
  ])('of %s stores the request to the inner agent with the tags %j', async (streamInner, tags) => {
    const { run, stored } = await scenario({ agent: caller(scripted('helper', ['It is fine.']), { streamInner }) });
    await run();
    const request = (await stored()).find(({ object }) => object === ObjectType.agentInput);
    expect(request?.tags).toEqual(tags);
  });

  test("streams the inner agent's events, and its answer once: chunk by chunk", async () => {
    const tool = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
    const helper = scripted('helper', [{ calls: [{ name: 'look' }] }, { chunks: ['It is ', 'fine.'] }], {
      tools: [tool],
    });
    const { run, stored } = await scenario({ agent: caller(helper, { streamInner: true }) });
    const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
    const inner = events.filter((event) => event.author === 'helper');
    expect(inner.map(textOf).filter((text) => text !== undefined)).toEqual(['It is ', 'fine.']);
    // The whole answer is stored, and its text is in the response.
    expect(inner.filter((event) => event.partial !== true).map(summaryOf)).toEqual([
      'helper: calls look',
      'helper: answers {"result":"seen"}',
    ]);
    expect((await stored()).filter((event) => textOf(event) === 'It is fine.')).toHaveLength(1);
    expect(responsesOf(events)).toContainEqual({ result: 'It is fine.' });
    expect(events.filter((event) => event.author === 'user')).toEqual([]);
  });

  test.each<[string, ScriptedStep[], string]>([
    ['is incomplete', [{ chunks: ['The dose ', 'is 5'], response: { finishReason: 'MAX_TOKENS' } }], 'MAX_TOKENS'],
    ['broke', [{ chunks: ['The dose ', 'is 5'], error: new TypeError('cut') }], 'MODEL_ERROR'],
  ])('reports the error and the partial answer when the answer %s', async (_, steps, errorCode) => {
    const { run } = await scenario({ agent: caller(scripted('helper', steps), { streamInner: true }) });
    const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
    const inner = events.filter((event) => event.author === 'helper');
    expect(inner.map((event) => [textOf(event), event.errorCode])).toEqual([
      ['The dose ', undefined],
      ['is 5', undefined],
      ['The dose is 5', errorCode],
    ]);
  });

  test('streams whole events other than the answer, such as those before the events of the last agent', async () => {
    const first = scripted('first', [{ chunks: ['o', 'ne'] }]);
    const second = scripted('second', [{ chunks: ['t', 'wo'] }]);
    const pair = new SequentialAgent({ name: 'pair', subAgents: [first, second] });
    const { run } = await scenario({ agent: caller(pair, { streamInner: true }) });
    const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
    expect(events.filter(({ author }) => author !== 'lead').map((event) => `${event.author} ${textOf(event)}`)).toEqual(
      ['first o', 'first ne', 'first one', 'second t', 'second wo'],
    );
    expect(responsesOf(events)).toEqual([{ result: 'two' }]);
  });

  test('streams the whole events from before the agent failed', async () => {
    const first = scripted('first', [{ chunks: ['o', 'ne'] }]);
    const second = new CustomAgent('second', async function* () {
      throw new TypeError('no');
    });
    const pair = new SequentialAgent({ name: 'pair', subAgents: [first, second] });
    const { run } = await scenario({ agent: caller(pair, { streamInner: true }) });
    const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
    expect(events.filter((event) => event.author === 'first').map(textOf)).toEqual(['o', 'ne', 'one']);
    expect(responsesOf(events)).toEqual([{ error: 'no' }]);
  });

  test('streams the answer once in a resumable run too', async () => {
    const { run } = await scenario({
      agent: caller(scripted('helper', [{ chunks: ['a', 'b'] }]), { streamInner: true }),
    });
    const events = await run('hi', { runConfig: { streamingMode: 'sse', resumable: true } });
    expect(events.filter((event) => event.author === 'helper').flatMap((event) => textOf(event) ?? [])).toEqual([
      'a',
      'b',
    ]);
  });

  test('without streaming yields whole events, including the answer', async () => {
    const { run } = await scenario({
      agent: caller(scripted('helper', [{ chunks: ['It is ', 'fine.'] }]), { streamInner: true }),
    });
    expect((await run()).map((event) => [event.author, textOf(event)])).toEqual([
      ['lead', undefined],
      ['helper', 'It is fine.'],
      ['lead', undefined],
      ['lead', 'done'],
    ]);
  });

  test('is off by default, and the inner model is then called without streaming', async () => {
    const helper = scripted('helper', [{ chunks: ['It is ', 'fine.'] }]);
    const { run } = await scenario({ agent: caller(helper) });
    const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
    expect(events.some((event) => event.author === 'helper')).toBe(false);
    expect(modelOf(helper).requests[0]?.stream).toBe(false);
  });

  test('yields events while the agent runs, each once, and stores each once', async () => {
    const gate = new Gate();
    const helper = new CustomAgent('helper', async function* (context) {
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'working' }] } });
      await gate.pass(context.abortSignal);
      yield context.createEvent({ content: { role: 'model', parts: [{ text: 'ready' }] } });
    });
    const { runner, stored } = await scenario({ agent: caller(helper, { streamInner: true }) });
    const seen: (string | undefined)[] = [];
    for await (const event of runner.runAsync({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
    })) {
      seen.push(textOf(event));
      if (textOf(event) === 'working') gate.open();
    }
    expect(seen).toEqual([undefined, 'working', 'ready', undefined, 'done']);
    const ids = (await stored()).map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('makes the agent wait for the reader', async () => {
    let made = 0;
    const helper = new CustomAgent('helper', async function* (context) {
      while (made < 50) {
        made++;
        yield context.createEvent({ content: { role: 'model', parts: [{ text: `${made}` }] } });
      }
    });
    const { runner } = await scenario({ agent: caller(helper, { streamInner: true }) });
    for await (const event of runner.runAsync({
      userId: 'u',
      sessionId: 's',
      newMessage: { parts: [{ text: 'hi' }] },
    })) {
      if (event.author === 'helper') expect(made).toBe(Number(textOf(event)));
    }
    expect(made).toBe(50);
  });

  test('passes events of nested AgentTools through both', async () => {
    const deep = scripted('deep', [{ chunks: ['d1', 'd2'] }]);
    const call = { calls: [{ name: 'deep', args: { request: 'x' } }] };
    const middle = scripted('middle', [call, 'm'], { tools: [new AgentTool({ agent: deep, streamInner: true })] });
    const { run, stored } = await scenario({ agent: caller(middle, { streamInner: true }) });
    const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
    expect(events.filter((event) => event.author === 'deep').map(textOf)).toEqual(['d1', 'd2']);
    const ids = (await stored()).map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
