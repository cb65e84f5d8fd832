import {
  type AuthConfig,
  type AuthCredential,
  AuthCredentialTypes,
  createEvent,
  getUserInputRequests,
  InMemoryRunner,
  node,
  type NodeContext,
  Workflow,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import type { Program } from '../stage.ts';

const authConfig: AuthConfig = {
  authScheme: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
  rawAuthCredential: { authType: AuthCredentialTypes.API_KEY, apiKey: 'placeholder' },
  credentialKey: 'weather_key',
};
const fetchWeather = node(
  (context: NodeContext) => {
    const credential = context.state.get<AuthCredential>('temp:weather_key');
    return { city: 'Oslo', key: `${(credential?.apiKey ?? '????').slice(0, 4)}…` };
  },
  { name: 'fetch_weather', authConfig, rerunOnResume: true },
);
const report = node(
  (_context: NodeContext, { city, key }: { city: string; key: string }) =>
    createEvent({ content: { role: 'model', parts: [{ text: `${city} with ${key}` }] } }),
  { name: 'report' },
);
const rootAgent = new Workflow({ name: 'weather', edges: [['START', fetchWeather, report]] });

const program: Program = {
  replies: [],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: rootAgent, appName: 'weather' });
    const session = await runner.sessionService.createSession({ appName: 'weather', userId: 'ann' });
    let asked = { id: '', name: '' };
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell(event);
        for (const { interruptId: id, functionCallName: name } of getUserInputRequests(event)) asked = { id, name };
      }
    };
    await send(createUserContent('The weather?'));
    const exchangedAuthCredential = { authType: AuthCredentialTypes.API_KEY, apiKey: 'abcd-1234' };
    const response = { ...authConfig, exchangedAuthCredential };
    await send({ role: 'user', parts: [{ functionResponse: { ...asked, response } }] });
  },
};
export default program;
