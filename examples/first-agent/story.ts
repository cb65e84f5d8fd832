import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: { math: [{ calls: [{ name: 'add', args: { a: 17, b: 25 } }] }, '17 plus 25 is 42.'] },
  tell: (stage) => stage.say('What is 17 plus 25?'),
};
