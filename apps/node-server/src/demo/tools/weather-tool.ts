import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';
import { WEATHER } from '../weather-table.ts';

const CITIES = Object.keys(WEATHER);

/** Looks a city up in the table. */
export const weatherTool = new FunctionTool({
  name: 'get_weather',
  description: 'Says what the weather in a city is.',
  parameters: z.object({ city: z.string().describe('Its English name, e.g. Rome') }),
  execute({ city }) {
    const wanted = city.trim().toLowerCase();
    const name = CITIES.find((known) => known.toLowerCase() === wanted);
    const weather = name === undefined ? undefined : WEATHER[name];
    if (!weather)
      return {
        error: `there is no weather for ${city} in the table of ${CITIES.length} cities, such as ${CITIES.slice(0, 6).join(', ')}`,
      };
    return { city: name, ...weather };
  },
});
