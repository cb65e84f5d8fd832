import type { Story } from '../stage/story.ts';
import { rootAgent } from './agent.ts';

const lookUp = (what: string) => ({ calls: [{ name: `look_up_${what}`, args: { city: 'Ghent' } }] });

export const story: Story = {
  agent: rootAgent,
  replies: {
    trains: [lookUp('trains'), 'A train from Brussels every 30 minutes, 9.40 EUR.'],
    hotels: [lookUp('hotels'), 'Hotel Lys has rooms for 95 EUR a night.'],
    weather: [lookUp('weather'), '17 °C and dry.'],
    planner: ['Take any train from Brussels.\nSleep at Hotel Lys.\nIt stays dry: walk along the canals.'],
  },
  async tell(stage) {
    await stage.say('I am in Brussels and want to spend a night in Ghent.');
  },
};
