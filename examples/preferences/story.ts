import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: {
    waiter: [
      { calls: [{ name: 'remember', args: { what: 'mushrooms' } }] },
      'I will keep that in mind.',
      'The risotto with mushrooms.',
      { calls: [{ name: 'forget', args: {} }] },
      'It is forgotten.',
    ],
  },
  async tell(stage) {
    await stage.say('I like mushrooms.', 'at noon');
    await stage.say('What shall I have?', 'in the evening');
    await stage.say('Forget what I like.', 'in the evening');
  },
};
