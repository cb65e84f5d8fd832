import { type Content, type Event, getFunctionCalls, type ListEventsRequest } from '@eventloom/core';
import { hasBeginOfRun, readNewest } from '@eventloom/core/internal';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const IDS = { userId: 'u', sessionId: 's' };

/** A service whose listings are outdated, like those of a replica of a database. */
class StaleSessionService extends InMemorySessionService {
  override async listEvents(request: ListEventsRequest): Promise<{ events: Event[] }> {
    const { events } = await super.listEvents(request);
    return { events: events.filter(({ author }) => author === 'nobody') };
  }
}

test('an answer resumes its run even if the listing of events is outdated', async () => {
  const platform = fixedPlatform();
  const sessionService = new StaleSessionService({ platform });
  await sessionService.createSession({ appName: 'app', ...IDS });
  const tool = new FunctionTool({
    name: 'ask',
    description: '',
    execute: (_, context) => context.requestInput({ message: 'Well?' }),
  });
  const agent = new LlmAgent({
    name: 'a',
    model: new ScriptedModel([{ calls: [{ name: 'ask' }] }]),
    tools: [tool],
  });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, resumable: true });
  const asked = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  const call = asked.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_input');
  const answer = { functionResponse: { id: call?.id ?? '', response: { result: 'yes' } } };
  const events = await runner.run({ ...IDS, newMessage: { parts: [answer] } });
  expect(events[0]?.invocationId).toBe(asked[0]?.invocationId);
});

test.each([12, 13, 14, 15])(
  'an answer resumes the run that requested it, %s rounds after its last answer, even if another run has a call with the same id',
  async (rounds) => {
    const sessionService = new InMemorySessionService();
    await sessionService.createSession({ appName: 'app', ...IDS });
    const ask = new LongRunningFunctionTool({ name: 'ask', description: '', execute: () => undefined });
    const work = new FunctionTool({ name: 'work', description: '', execute: () => 1 });
    const calls = (name: string, id: string) => ({ calls: [{ id, name }] });
    const model = new ScriptedModel([
      calls('ask', 'call_0'),
      calls('ask', 'call_0'),
      ...Array.from({ length: rounds }, (_, index) => calls('work', `work_${index}`)),
      calls('ask', 'call_1'),
      'done',
    ]);
    const agent = new LlmAgent({ name: 'a', model, tools: [ask, work] });
    const runner = new Runner({ appName: 'app', agent, sessionService, platform: fixedPlatform(), resumable: true });
    const answer = (id: string): Content => ({
      parts: [{ functionResponse: { id, name: 'ask', response: { result: 1 } } }],
    });
    const [begun] = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'one' }] } });
    const invocationId = begun?.invocationId ?? '';
    await runner.run({ ...IDS, newMessage: { parts: [{ text: 'two' }] } });
    await runner.run({ ...IDS, invocationId, newMessage: answer('call_0') });
    const key = { appName: 'app', ...IDS };
    const read = await readNewest(sessionService, key, (events) => hasBeginOfRun(events, invocationId));
    expect(read.some((event) => event.actions.agentState?.['resumable'] && event.invocationId === invocationId)).toBe(
      true,
    );
    const last = await runner.run({ ...IDS, newMessage: answer('call_1') });
    expect(last.at(-1)?.invocationId).toBe(invocationId);
  },
);
