import { type Event, getFunctionCalls, type ListEventsRequest, SessionBusyError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const IDS = { userId: 'u', sessionId: 's' };

/** Behind in what it lists: a replica that is not up to date. */
class StaleSessionService extends InMemorySessionService {
  override async listEvents(request: ListEventsRequest): Promise<{ events: Event[] }> {
    const { events } = await super.listEvents(request);
    return { events: events.filter(({ author }) => author === 'nobody') };
  }
}

test('an answer whose run is never the one that was looked up is refused, with the session given back', async () => {
  const platform = fixedPlatform();
  const sessionService = new StaleSessionService({ platform });
  await sessionService.createSession({ appName: 'app', ...IDS });
  const tool = new FunctionTool({
    name: 'ask',
    description: '',
    execute: (_, context) => context.requestInput({ message: 'Well?' }),
  });
  const agent = new LlmAgent({ name: 'a', model: new ScriptedModel([{ calls: [{ name: 'ask' }] }]), tools: [tool] });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, resumable: true });
  const asked = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  const call = asked.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_input');
  const answer = { functionResponse: { id: call?.id ?? '', response: { result: 'yes' } } };
  await expect(runner.run({ ...IDS, newMessage: { parts: [answer] } })).rejects.toThrow(SessionBusyError);
  await sessionService.acquireLease({ appName: 'app', ...IDS, ttlMs: 1000, onBusy: 'reject' });
});
