import { type Content, contentText } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { BasePlugin, InMemoryRunner, LlmAgent } from './index.ts';

/** Hides numbers in the message of the user, in place. */
class HideNumbers extends BasePlugin {
  override onUserMessageCallback({ userMessage }: { userMessage: Content }): undefined {
    for (const part of userMessage.parts ?? []) if (part.text) part.text = part.text.replaceAll(/\d+/g, '…');
  }
}

test.each([
  ['Card 4111', 'Card …'],
  ['Hello', 'Hello'],
])(
  'a plugin that changes the message %j in place changes what is stored and what the model reads',
  async (sent, read) => {
    const model = new ScriptedModel(['Thanks.']);
    const agent = new LlmAgent({ name: 'clerk', model });
    const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [new HideNumbers('hide-numbers')] });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
    const newMessage = { role: 'user', parts: [{ text: sent }] };
    for await (const _event of runner.runAsync({ userId: 'ann', sessionId, newMessage }));
    const stored = await runner.sessionService.getSession({ appName: 'app', userId: 'ann', sessionId });
    expect(contentText(stored?.events[0]?.content)).toBe(read);
    expect(contentText(model.requests[0]?.request.contents[0])).toBe(read);
    expect(newMessage.parts).toEqual([{ text: sent }]);
  },
);
