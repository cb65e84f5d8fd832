import { FunctionTool, LlmAgent, ParallelAgent, SequentialAgent } from 'eventloom';
import * as z from 'zod';

const model = 'gemini-flash-latest';

/** Creates an agent that researches one subject and stores its findings in state under its name. */
function scout(name: string, found: Readonly<Record<string, string>>): LlmAgent {
  const lookUp = new FunctionTool({
    name: `look_up_${name}`,
    description: `Looks up the ${name} of a city.`,
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => found[city] ?? { error: `nothing is known of ${city}` },
  });
  return new LlmAgent({
    name,
    model,
    instruction: `Look up the ${name} for the user's journey and say in one line what you found.`,
    tools: [lookUp],
    outputKey: name,
  });
}

const scouts = new ParallelAgent({
  name: 'scouts',
  subAgents: [
    scout('trains', { Ghent: 'every 30 minutes from Brussels, 9.40 EUR' }),
    scout('hotels', { Ghent: 'Hotel Lys, 95 EUR a night' }),
    scout('weather', { Ghent: '17 °C, dry' }),
  ],
});

const planner = new LlmAgent({
  name: 'planner',
  model,
  instruction: 'Make a plan of three lines for the user.\nTrains: {trains}\nHotels: {hotels}\nWeather: {weather}',
});

export const rootAgent = new SequentialAgent({ name: 'journey', subAgents: [scouts, planner] });
