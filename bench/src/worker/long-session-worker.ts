import { createCloudflareServer } from '@eventloom/cloudflare';
import { BaseAgent, createEvent, type Event, type InvocationContext } from '@eventloom/core';
import { Runner } from '@eventloom/runner';

/**
 * An agent that writes events. The first number in a message is the number of events with which it fills the session; a second number is
 * their length in characters.
 */
class Talker extends BaseAgent {
  protected async *runAsyncImpl({ invocationId, userContent }: InvocationContext): AsyncGenerator<Event, void, void> {
    const [count = 0, chars = 0] = (userContent?.parts?.[0]?.text ?? '').split(' ').map(Number);
    for (let index = 0; index < count; index++) {
      const text =
        `Event ${index} says what a short answer of a model says: a sentence or two, and not more than that.`.padEnd(
          chars,
          '.',
        );
      yield createEvent({ invocationId, author: this.name, content: { role: 'model', parts: [{ text }] } });
    }
    yield createEvent({ invocationId, author: this.name, content: { role: 'model', parts: [{ text: 'done' }] } });
  }
}

/** Apps with the same kind of agent, which read the whole session; one of them reads only its newest 200 events. */
const server = createCloudflareServer({
  appNames: ['whole', 'large', 'window', 'state', 'wide'],
  runners: (_env, services) => [
    new Runner({ appName: 'whole', agent: new Talker({ name: 'talker' }), ...services }),
    new Runner({ appName: 'large', agent: new Talker({ name: 'talker' }), ...services }),
    new Runner({ appName: 'state', agent: new Talker({ name: 'talker' }), ...services }),
    new Runner({ appName: 'wide', agent: new Talker({ name: 'talker' }), ...services }),
    new Runner({
      appName: 'window',
      agent: new Talker({ name: 'talker' }),
      ...services,
      getSessionConfig: { numRecentEvents: 200 },
    }),
  ],
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
