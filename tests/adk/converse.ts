import { type BaseAgent, getUserInputRequests, InMemoryRunner, type Workflow } from '@google/adk';
import type { Content } from '@google/genai';
import type { Tell } from './stage.ts';

/** A message of the user: a text, or the answer to the agent's last request. */
export type Message = string | { readonly answer: Record<string, unknown> };

/**
 * Runs an agent or a workflow in one session, message by message, and reports its events, and the state of the session
 * at the end.
 */
export async function converse(tell: Tell, agent: BaseAgent | Workflow, messages: readonly Message[]): Promise<void> {
  const runner = new InMemoryRunner({ agent, appName: 'talk' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
  let asked = { id: '', name: '' };
  for (const message of messages) {
    const newMessage: Content =
      typeof message === 'string'
        ? { role: 'user', parts: [{ text: message }] }
        : { role: 'user', parts: [{ functionResponse: { ...asked, response: message.answer } }] };
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
      tell(event);
      for (const { interruptId: id, functionCallName: name } of getUserInputRequests(event)) asked = { id, name };
    }
  }
  const session = await runner.sessionService.getSession({ appName: 'talk', userId: 'ann', sessionId });
  tell({ state: { ...session?.state } });
}
