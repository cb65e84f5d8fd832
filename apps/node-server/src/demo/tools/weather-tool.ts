import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';
import { WEATHER } from '../weather-table.ts';

/** Looks a city up in the table. */
export const weatherTool = new FunctionTool({
  name: 'get_weather',
  description: 'Says what the weather in a city is.',
  parameters: z.object({ city: z.string().describe('Its English name, e.g. Rome') }),
  execute({ city }) {
    const wanted = city.trim().toLowerCase();
    const name = Object.keys(WEATHER).find((known) => known.toLowerCase() === wanted);
    const weather = name === undefined ? undefined : WEATHER[name];
    if (!weather) return { error: `the table has no weather for ${city}; it has ${Object.keys(WEATHER).join(', ')}` };
    return { city: name, ...weather };
  },
});
