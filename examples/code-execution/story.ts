import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

const CODE = `\`\`\`javascript
const values = [12, 15, 11, 42, 14];
const sorted = values.toSorted((a, b) => a - b);
console.log("median", sorted[2], "mean", values.reduce((sum, value) => sum + value, 0) / values.length);
\`\`\``;

export const story: Story = {
  agent: rootAgent,
  replies: { analyst: [CODE, 'The median is 14 and the mean 18.8: one value, 42, is far from the others.'] },
  async tell(stage) {
    await stage.say('What are the median and the mean of 12, 15, 11, 42 and 14?');
  },
};
