import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: {
    researcher: [
      { calls: [{ name: 'read_source', args: { topic: 'tides' } }] },
      '- The moon pulls more at the near side of the earth.\n- Most coasts have two high tides a day.',
    ],
    writer: [
      'The moon pulls at the sea, most of all on the side that is near. So each coast has three high tides a day.',
    ],
    reviewer: [
      'The moon pulls at the sea, most of all on the side that is near. So most coasts have two high tides a day.',
    ],
  },
  async tell(stage) {
    await stage.say('Why are there tides?');
  },
};
