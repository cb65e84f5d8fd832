import { InMemoryRunner, RemoteA2AAgent } from '@google/adk';
import type { Client } from '@a2a-js/sdk/client';
import type { Program } from '../stage.ts';

type Item = ReturnType<Client['sendMessageStream']> extends AsyncIterable<infer T> ? T : never;

const text = (value: string) => ({ kind: 'text', text: value }) as const;

function status(state: string, words?: string): Item {
  const parts = words === undefined ? [] : [text(words)];
  const message = { kind: 'message', messageId: `m-${words}`, role: 'agent', parts, taskId: 't', contextId: 'c' };
  const said = words === undefined ? {} : { message };
  return { kind: 'status-update', taskId: 't', contextId: 'c', final: true, status: { state, ...said } } as Item;
}

function artifact(artifactId: string, words: string): Item {
  const whole = { artifactId, parts: [text(words)] };
  return { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact: whole, append: false, lastChunk: true };
}

/** Answers of servers that are not agents of the ADK, by their names: one list of items, or an error, for each message. */
const ANSWERS: Readonly<Record<string, readonly (Item | Error)[][]>> = {
  'an artifact of one answer changes': [[artifact('a', 'step 1'), artifact('a', 'step 2'), status('completed')]],
  'an artifact of a later answer': [
    [artifact('a', 'draft 1'), status('input-required', 'Better?')],
    [artifact('a', 'draft 2'), status('completed')],
  ],
  'a failed task': [[status('failed', 'no luck')], [status('completed', 'now')]],
  'a rejected task': [[status('rejected', 'not allowed')]],
  'a task that requires a credential': [[status('auth-required', 'log in')], [status('completed', 'in')]],
  'an error of the client': [[artifact('a', 'half'), new Error('task not found')]],
};

function clientOf(answers: readonly (Item | Error)[][], tell: (sent: object) => void): Client {
  let index = 0;
  return {
    async *sendMessageStream({ message }: Parameters<Client['sendMessageStream']>[0]) {
      tell({ sent: message.parts, context: message.contextId });
      for (const item of answers[index++] ?? []) {
        if (item instanceof Error) throw item;
        yield item;
      }
    },
    cancelTask: () => Promise.resolve({ kind: 'task', id: 't', contextId: 'c', status: { state: 'canceled' } }),
  } as unknown as Client;
}

const program: Program = {
  replies: [],
  async main(tell) {
    for (const [title, answers] of Object.entries(ANSWERS)) {
      tell(title);
      const agent = new RemoteA2AAgent({ name: 'remote', client: clientOf(answers, tell) });
      const runner = new InMemoryRunner({ agent, appName: 'talk' });
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
      for (const said of ['go', 'on'].slice(0, answers.length)) {
        const newMessage = { role: 'user', parts: [{ text: said }] };
        for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
      }
    }
  },
};
export default program;
