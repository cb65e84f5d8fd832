import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BaseLlm, InMemoryRunner, LlmAgent } from 'eventloom';
import { expect, onTestFinished, test } from 'vitest';
import { ChatModel } from './chat-model.ts';

const SESSION = { userId: 'ann', sessionId: 's' };

function makeRunner(model: BaseLlm) {
  const agent = new LlmAgent({ name: 'helper', model, instruction: 'Be brief.' });
  return new InMemoryRunner({ agent, autoCreateSession: true });
}

const ask = (runner: InMemoryRunner, text: string) => runner.run({ ...SESSION, newMessage: { parts: [{ text }] } });

/** A service with the chat protocol; returns the requests it received. */
async function startChatService(status: number, text: string) {
  const asked: unknown[] = [];
  const service = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      asked.push(JSON.parse(body));
      response.writeHead(status).end(JSON.stringify({ choices: [{ message: { content: text } }] }));
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void service.close());
  return {
    asked,
    model: new ChatModel({ model: 'small', url: `http://127.0.0.1:${(service.address() as AddressInfo).port}` }),
  };
}

test('a model of another service gets the conversation, and its reply is the answer', async () => {
  const { asked, model } = await startChatService(200, 'Hello, Ann.');
  const events = await ask(makeRunner(model), 'I am Ann.');
  expect(events.map(({ author, content }) => [author, content?.parts])).toEqual([
    ['helper', [{ text: 'Hello, Ann.' }]],
  ]);
  expect(asked).toMatchObject([
    { model: 'small', messages: [{ role: 'system' }, { role: 'user', content: 'I am Ann.' }] },
  ]);
});

test('an error of that service fails the run', async () => {
  const { model } = await startChatService(500, 'out of order');
  await expect(ask(makeRunner(model), 'Hi')).rejects.toThrow('out of order');
});
