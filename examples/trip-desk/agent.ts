import { FunctionTool, LlmAgent } from 'eventloom';
import { LoggingPlugin, ReflectAndRetryToolPlugin, SaveFilesAsArtifactsPlugin } from 'eventloom/plugins';
import { createGoogleSearchAgent, ExampleTool, GoogleSearchAgentTool, LOAD_ARTIFACTS } from 'eventloom/tools';
import * as z from 'zod';

const MODEL = 'gemini-2.5-flash';
const HOTELS = ['Bellevue', 'Krone'];

const book = new FunctionTool({
  name: 'book_hotel',
  description: 'Books a room in a hotel.',
  parameters: z.object({ hotel: z.string(), nights: z.int().min(1) }),
  execute: ({ hotel, nights }) => {
    if (!HOTELS.includes(hotel)) throw new RangeError(`there is no hotel ${hotel}; there are ${HOTELS.join(' and ')}`);
    return { status: 'booked', hotel, nights };
  },
});

/** Google Search is the only tool of a separate agent, because Gemini 2 cannot combine it with functions. */
const search = new GoogleSearchAgentTool(createGoogleSearchAgent(MODEL));

const tone = new ExampleTool([
  {
    input: { role: 'user', parts: [{ text: 'Is it warm in Basel?' }] },
    output: [{ role: 'model', parts: [{ text: 'Basel, today: 24 degrees. Sources: meteo.example.' }] }],
  },
]);

export const rootAgent = new LlmAgent({
  name: 'trip_desk',
  model: MODEL,
  instruction: 'You plan trips. Read the files of the user before you book.',
  tools: [LOAD_ARTIFACTS, search, book, tone],
});

/** Plugins for all agents: uploads become artifacts, and calls that failed are repaired. */
export function createPlugins(log: (line: string) => void) {
  return [
    new LoggingPlugin({ log }),
    new SaveFilesAsArtifactsPlugin(),
    new ReflectAndRetryToolPlugin({ maxRetries: 2 }),
  ];
}
