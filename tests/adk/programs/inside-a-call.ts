import {
  type AuthConfig,
  AuthCredentialTypes,
  createEvent,
  createEventActions,
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  toStructuredEvents,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program, Tell } from '../stage.ts';

const authConfig: AuthConfig = {
  credentialKey: 'shop-api',
  authScheme: { type: 'apiKey', in: 'header', name: 'x-api-key' },
};

/** A tool that looks at what a call gives it. */
const look = (tell: Tell): FunctionTool =>
  new FunctionTool({
    name: 'look',
    description: 'Looks around.',
    execute: (_args, context) => {
      const { streamingMode, maxLlmCalls, saveInputBlobsAsArtifacts } = context?.invocationContext.runConfig ?? {};
      tell({ streamingMode, maxLlmCalls, saves: String(saveInputBlobsAsArtifacts) });
      if (context) context.actions.stateDelta['step'] = 2;
      tell({ step: context?.state.get('step'), has: context?.state.has('step'), all: context?.state.toRecord() });
      const credential = context?.getAuthResponse(authConfig);
      if (!credential) context?.requestCredential(authConfig);
      return { key: credential?.apiKey ?? 'none' };
    },
  });

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'look', args: {} }] })),
    jsonReply(wireResponse('I looked.')),
    jsonReply(wireResponse('I looked again.')),
  ],
  async main(tell) {
    const agent = new LlmAgent({
      name: 'guest',
      model: 'gemini-flash-latest',
      instruction: 'Look.',
      tools: [look(tell)],
      beforeModelCallback: ({ request }) => {
        tell({ connects: typeof Reflect.get(request, 'liveConnectConfig') });
        return undefined;
      },
    });
    const runner = new InMemoryRunner({ agent, appName: 'shop' });
    const key = { appName: 'shop', userId: 'ann' };
    const session = await runner.sessionService.createSession(key);
    let answer: Content | undefined;
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell({ says: event.content?.parts?.[0]?.functionResponse?.response ?? event.content?.parts?.[0]?.text });
        for (const { id = '', name, args } of getFunctionCalls(event)) {
          if (name !== REQUEST_CREDENTIAL_FUNCTION_CALL_NAME) continue;
          const config = args?.['auth_config'] as AuthConfig;
          tell({ asksFor: config.credentialKey });
          config.exchangedAuthCredential = { authType: AuthCredentialTypes.API_KEY, apiKey: 'secret' };
          answer = { role: 'user', parts: [{ functionResponse: { id, name, response: { ...config } } }] };
        }
      }
    };
    await send(createUserContent('Look around.'));
    if (answer) await send(answer);

    const kinds = [
      createEvent({ author: 'guest' }),
      createEvent({ author: 'guest', partial: true }),
      createEvent({ author: 'guest', content: { role: 'model', parts: [{ text: '' }] } }),
      createEvent({ author: 'guest', actions: createEventActions({ stateDelta: { step: 3 } }) }),
      createEvent({ author: 'guest', content: { role: 'model', parts: [{ functionCall: { name: 'look' } }] } }),
    ];
    for (const event of kinds) tell({ parts: toStructuredEvents(event).map(({ type }) => type) });
  },
};
export default program;
