import { type AuthConfig, type Event, getFunctionCalls, type ToolContext } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedLiveModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { live } from './live.ts';
import { LiveRequestQueue } from './live-request-queue.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const SECRET = 'hunter2';
const TOKEN = { authType: 'oauth2', oauth2: { accessToken: SECRET } };
const AUTH = {
  authScheme: { type: 'oauth2' },
  rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'me', clientSecret: SECRET } },
  credentialKey: 'calendar',
} satisfies AuthConfig;

test('a credential that the client gives goes to the service, and into no event and to no model', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const credentialService = new InMemoryCredentialService();
  const calendar = new FunctionTool({
    name: 'calendar',
    description: 'Reads.',
    execute: async (_args, context: ToolContext) =>
      (await context.getAuthResponse(AUTH)) ? 'read' : context.requestCredential(AUTH),
  });
  const functionCall = { id: 'c1', name: 'calendar', args: {} };
  const model = new ScriptedLiveModel([
    [
      { content: { role: 'model', parts: [{ functionCall }] } },
      { heard: /requires a credential/ },
      { heard: /read/ },
      { turnComplete: true },
    ],
  ]);
  const agent = new LlmAgent({ name: 'bot', model, tools: [calendar] });
  const runner = new Runner({ appName: 'app', live: live(), agent, sessionService, platform, credentialService });
  const liveRequestQueue = new LiveRequestQueue();
  const events: Event[] = [];
  let isAsked = false;
  for await (const event of runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue })) {
    events.push(event);
    const asked = getFunctionCalls(event).find(({ name }) => name === 'adk_request_credential');
    if (asked && !isAsked) {
      liveRequestQueue.sendToolResponse({ id: asked.id ?? '', name: 'adk_request_credential', response: TOKEN });
      isAsked = true;
    } else if (asked) liveRequestQueue.close();
    if (event.turnComplete) liveRequestQueue.close();
  }
  const { appName, userId } = KEY;
  expect(await credentialService.loadCredential({ appName, userId, credentialKey: 'calendar' })).toEqual(TOKEN);
  const told = [events, await sessionService.getSession(KEY), model.connections[0]?.sent];
  expect(JSON.stringify(told)).toContain('"provided":true');
  expect(JSON.stringify(told)).not.toContain(SECRET);
});
