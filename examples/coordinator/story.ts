import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

const handOver = (name: string) => ({ calls: [{ name: 'transfer_to_agent', args: { agent_name: name } }] });

export const story: Story = {
  agent: rootAgent,
  replies: {
    reception: [handOver('billing'), 'You are welcome. Good bye.'],
    billing: [
      { calls: [{ name: 'find_invoice', args: { number: '2071' } }] },
      'Invoice 2071 is over 48.00 EUR, and not paid yet.',
      'By the end of the month.',
      handOver('support'),
    ],
    support: [
      { calls: [{ name: 'restart_router', args: {} }] },
      'I have restarted your router. It is back in two minutes.',
      handOver('reception'),
    ],
  },
  async tell(stage) {
    await stage.say('Have I paid invoice 2071?');
    await stage.say('When do I have to?');
    await stage.say('And my internet is down.');
    await stage.say('Thank you, that was all.');
  },
};
