import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';
import { answerTo } from './answer.ts';

export const story: Story = {
  agent: rootAgent,
  replies: { clerk: [{ calls: [{ name: 'order_shirt', args: {} }] }, 'It is ordered.'] },
  resumable: true,
  async tell(stage) {
    await stage.say('I want a shirt.');
    for (const result of ['L', 'Friday']) {
      const answer = answerTo(stage.events, result);
      if (answer) await stage.send(answer);
    }
  },
};
