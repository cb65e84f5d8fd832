import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

export const story: Story = {
  agent: rootAgent,
  replies: {
    mail_reader: [
      '{"product":"kettle","urgency":"urgent","wishes":["a new lid"]}',
      '{"product":"kettle","urgency":"high","wishes":["a new lid"]}',
    ],
  },
  async tell(stage) {
    await stage.say('The lid of my kettle is broken, and I have guests tomorrow. Please send a new one.');
  },
};
