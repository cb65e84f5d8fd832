import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: { clerk: ['Yes: until it leaves tomorrow you can still cancel A-1001.'] },
  async tell(stage) {
    await stage.say('Where is A-1001?');
    await stage.say('Can I cancel it?');
    await stage.say('And A-1002?');
  },
};
