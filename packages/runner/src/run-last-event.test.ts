import { BasePlugin, type Event, type InvocationContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { KEY, scenario, type Scenario, textOf } from './fixtures/scenario.ts';

class RunPlugin extends BasePlugin {
  override async afterRunCallback(): Promise<void> {}
}

class EventPlugin extends BasePlugin {
  override async onEventCallback(): Promise<undefined> {}
}

/** Returns the state of the run after its first event, at which its reader still waits. */
async function atFirstEvent({ start, sessionService }: Scenario): Promise<string> {
  const stream = start();
  await stream.next();
  const record = await sessionService.findRun({ ...KEY, id: stream.invocationId });
  await stream.return();
  return record?.open ? 'open' : (record?.end?.state ?? 'unknown');
}

describe('the last event of an agent', () => {
  test('is stored together with the end of the run', async () => {
    expect(await atFirstEvent(await scenario({ model: ['done'] }))).toBe('completed');
  });

  test('is followed by the next run of the session, before its reader continues', async () => {
    const { start, run, stored } = await scenario({ model: ['one', 'two'] });
    const stream = start();
    const first = await stream.next();
    expect((await run()).map(textOf)).toEqual(['two']);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect([textOf(first.value ?? undefined), stream.offset]).toEqual(['one', 1]);
    expect((await stored()).map(textOf)).toEqual(['hi', 'one', 'hi', 'two']);
  });

  test('completes the run, so that a later abort changes nothing', async () => {
    const abort = new AbortController();
    const { start, stored } = await scenario({ model: ['one'] });
    const texts: string[] = [];
    for await (const event of start('hi', { abortSignal: abort.signal })) {
      texts.push(textOf(event) ?? '');
      abort.abort();
    }
    expect(texts).toEqual(['one']);
    expect((await stored()).map(textOf)).toEqual(['hi', 'one']);
  });

  test('does not end the run if a subclass of LlmAgent yields another event', async () => {
    class Signing extends LlmAgent {
      protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        yield* super.runAsyncImpl(context);
        yield context.createEvent({ content: { role: 'model', parts: [{ text: 'signed' }] } });
      }
    }
    const set = await scenario({ agent: new Signing({ name: 'bot', model: new ScriptedModel(['one']) }) });
    expect((await set.run()).map(textOf)).toEqual(['one', 'signed']);
  });

  test.each([
    ['an afterAgentCallback', { agent: { afterAgentCallback: () => undefined } }],
    ['a plugin with afterRunCallback', { plugins: [new RunPlugin('p')] }],
    ['a plugin with onEventCallback', { plugins: [new EventPlugin('p')] }],
    ['a resumable run', { resumable: true }],
  ])('leaves the run open for %s', async (_, options) => {
    expect(await atFirstEvent(await scenario({ model: ['done'], ...options }))).toBe('open');
  });

  test('of a sub-agent does not end the run of a workflow agent', async () => {
    const first = new LlmAgent({ name: 'first', model: new ScriptedModel(['one']) });
    const second = new LlmAgent({ name: 'second', model: new ScriptedModel(['two']) });
    const set = await scenario({ agent: new SequentialAgent({ name: 'bot', subAgents: [first, second] }) });
    expect((await set.run()).map(textOf)).toEqual(['one', 'two']);
  });
});
