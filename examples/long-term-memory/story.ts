import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: {
    concierge: [
      'I will keep in mind that you do not eat nuts.',
      { calls: [{ name: 'load_memory', args: { query: 'eat restaurant' } }] },
      'The Green Door: its kitchen uses no nuts.',
    ],
  },
  async tell(stage) {
    await stage.say('I cannot eat nuts.', 'in May');
    await stage.say('Where shall I have dinner?', 'in June');
  },
};
