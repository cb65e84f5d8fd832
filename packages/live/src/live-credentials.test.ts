import { type AuthConfig, type Event, getFunctionCalls, type ToolContext } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { ScriptedLiveModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY } from '../../runner/src/fixtures/scenario.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

const SECRET = 'hunter2';
const TOKEN = { authType: 'oauth2', oauth2: { accessToken: SECRET } };
const AUTH = {
  authScheme: { type: 'oauth2' },
  rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'me', clientSecret: SECRET } },
  credentialKey: 'calendar',
} satisfies AuthConfig;

test('a credential from the client is sent to its service, and appears in no event and no model request', async () => {
  const credentialService = new InMemoryCredentialService();
  const calendar = new FunctionTool({
    name: 'calendar',
    description: 'Reads.',
    execute: async (_args, context: ToolContext) =>
      (await context.loadCredential(AUTH)) ? 'read' : context.requestCredential(AUTH),
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
  const { queue, stream, session } = await liveScenario({ model, agent: { tools: [calendar] }, credentialService });
  const events: Event[] = [];
  let isAsked = false;
  for await (const event of stream) {
    events.push(event);
    const asked = getFunctionCalls(event).find(({ name }) => name === 'adk_request_credential');
    if (asked && !isAsked) {
      queue.sendToolResponse({ id: asked.id ?? '', name: 'adk_request_credential', response: TOKEN });
      isAsked = true;
    } else if (asked) queue.close();
    if (event.turnComplete) queue.close();
  }
  const { appName, userId } = KEY;
  expect(await credentialService.loadCredential({ appName, userId, credentialKey: 'calendar' })).toEqual(TOKEN);
  const outputs = [events, await session(), model.connections[0]?.sent];
  expect(JSON.stringify(outputs)).toContain('"provided":true');
  expect(JSON.stringify(outputs)).not.toContain(SECRET);
});
