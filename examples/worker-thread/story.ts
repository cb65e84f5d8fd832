import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: {
    mathematician: [
      { calls: [{ name: 'count_primes', args: { limit: 100_000 } }] },
      'There are 9,592 primes up to 100,000.',
    ],
  },
  async tell(stage) {
    await stage.say('How many primes are there up to 100,000?');
  },
};
