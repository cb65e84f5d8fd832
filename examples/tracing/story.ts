import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';
import { printSpans } from './print-spans.ts';

const used = (promptTokenCount: number, candidatesTokenCount: number) => ({
  usageMetadata: { promptTokenCount, candidatesTokenCount },
  modelVersion: 'gemini-flash-latest',
});

export const story: Story = {
  agent: rootAgent,
  replies: {
    travel: [
      { calls: [{ name: 'weather', args: { request: 'Lisbon, Saturday' } }], response: used(420, 18) },
      { calls: [{ name: 'find_flights', args: { from: 'Vienna', to: 'Lisbon' } }], response: used(510, 22) },
      { text: 'It will be sunny: take the flight at 09:40 for 120 euros.', response: used(600, 31) },
    ],
    weather: [{ text: 'Sunny, 24 °C.', response: used(90, 8) }],
  },
  tracing: printSpans,
  async tell(stage) {
    await stage.say('I would like to fly from Vienna to Lisbon on Saturday, if the weather is good.');
    await stage.flushSpans();
  },
};
