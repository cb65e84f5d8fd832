import { type Context, InMemoryRunner, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import { createUserContent, type GenerateContentConfig } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** Gives the request a copy of its config, with a system instruction that is a content. */
function prefixInstruction({ request }: { context: Context; request: LlmRequest }): LlmResponse | undefined {
  const config = JSON.parse(JSON.stringify(request.config)) as GenerateContentConfig;
  const before = typeof config.systemInstruction === 'string' ? config.systemInstruction : '';
  config.systemInstruction = {
    role: 'system',
    parts: [{ text: `[Changed] ${before.includes('Be helpful.') ? 'Be helpful.' : ''}` }],
  };
  config.temperature = 0.5;
  request.config = config;
  return undefined;
}

/** Changes a copy of the reply. */
function replaceWords({ response }: { context: Context; response: LlmResponse }): LlmResponse | undefined {
  const changed = JSON.parse(JSON.stringify(response)) as LlmResponse;
  const part = changed.content?.parts?.[0];
  if (!part?.text?.includes('joke')) return undefined;
  part.text = part.text.replaceAll('joke', 'story');
  return changed;
}

/** Replaces the agent's answer with a content of the user, if the state says so. */
function addNote(context: Context) {
  return context.state.get('note') === true ? createUserContent(`A note by ${context.agentName}.`) : undefined;
}

const agent = new LlmAgent({
  name: 'helper',
  model: 'gemini-flash-latest',
  description: 'Helps.',
  instruction: 'Be helpful.',
  beforeModelCallback: prefixInstruction,
  afterModelCallback: replaceWords,
  afterAgentCallback: addNote,
});

const program: Program = {
  replies: ['A joke', 'A poem'].map((said) => ({ body }) => {
    const { systemInstruction, generationConfig } = body;
    return jsonReply(wireResponse(`${said}: ${JSON.stringify({ systemInstruction, generationConfig })}`));
  }),
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'jokes' });
    for (const note of [false, true]) {
      const session = await runner.sessionService.createSession({ appName: 'jokes', userId: 'ann', state: { note } });
      const newMessage = createUserContent('Write something.');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
    }
  },
};
export default program;
