import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: {
    writer: ['The bicycle that you will want to ride each day of the year.', 'Velox. Every day, a ride.'],
    critic: ['Too long, and it does not name Velox.', { calls: [{ name: 'exit_loop', args: {} }] }],
  },
  async tell(stage) {
    await stage.say('A slogan for our bicycle, the Velox.');
  },
};
