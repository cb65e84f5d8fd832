import {
  type AgentRouter,
  type BaseAgent,
  Gemini,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
  RoutedAgent,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const simple = new LlmAgent({ name: 'simple', model: 'gemini-flash-latest', instruction: 'Answer.' });
const complex = new LlmAgent({ name: 'complex', model: 'gemini-pro-latest', instruction: 'Think, then answer.' });
const classifier = new Gemini({ model: 'gemini-flash-lite-latest' });

const router: AgentRouter = async (_agents: Readonly<Record<string, BaseAgent>>, context: InvocationContext) => {
  const text = context.userContent?.parts?.[0]?.text ?? '';
  let said = '';
  const prompt = `Is this request simple or complex? ${text}`;
  for await (const response of classifier.generateContentAsync({
    contents: [{ role: 'user', parts: [{ text: prompt }] }],
    toolsDict: {},
    liveConnectConfig: {},
  }))
    said += response.content?.parts?.[0]?.text ?? '';
  return said.includes('complex') ? 'complex' : 'simple';
};

const agent = new RoutedAgent({ name: 'routed', agents: [simple, complex], router });

const program: Program = {
  replies: [jsonReply(wireResponse('complex')), jsonReply(wireResponse('42'))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'routes' });
    const session = await runner.sessionService.createSession({ appName: 'routes', userId: 'ann' });
    const newMessage = { role: 'user', parts: [{ text: 'What is the answer?' }] };
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
  },
};
export default program;
