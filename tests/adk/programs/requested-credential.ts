import {
  type AuthConfig,
  AuthCredentialTypes,
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const authConfig: AuthConfig = {
  credentialKey: 'tide-api',
  authScheme: { type: 'apiKey', in: 'header', name: 'x-api-key' },
};

const readTides = new FunctionTool({
  name: 'read_tides',
  description: 'Reads the tides of a harbour.',
  parameters: z.object({ harbour: z.string() }),
  execute: ({ harbour }, context) => {
    const credential = context?.getAuthResponse(authConfig);
    if (!credential?.apiKey) {
      context?.requestCredential(authConfig);
      return { status: 'waiting for a key' };
    }
    context?.state.set('user:has_key', true);
    return { harbour, high: '12:40', keyLength: credential.apiKey.length };
  },
});
const agent = new LlmAgent({
  name: 'pilot',
  model: 'gemini-flash-latest',
  instruction: 'Read the tides.',
  tools: [readTides],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'read_tides', args: { harbour: 'Brest' } }] })),
    jsonReply(wireResponse('At 12:40.')),
    jsonReply(wireResponse('At 12:40, as I said.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'tides' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'tides', userId: 'ann' });
    let request = '';
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        tell(event);
        for (const { name, id = '' } of getFunctionCalls(event))
          if (name === REQUEST_CREDENTIAL_FUNCTION_CALL_NAME) request = id;
      }
    };
    await send(createUserContent('When is the tide high in Brest?'));
    const exchangedAuthCredential = { authType: AuthCredentialTypes.API_KEY, apiKey: 'secret' };
    const response = { ...authConfig, exchangedAuthCredential };
    const name = REQUEST_CREDENTIAL_FUNCTION_CALL_NAME;
    await send({ role: 'user', parts: [{ functionResponse: { id: request, name, response } }] });
  },
};
export default program;
