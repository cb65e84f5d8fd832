import { encodeBase64 } from 'eventloom';
import type { Story } from '../stage/story.ts';
import { describeMessage } from '../stage/transcript.ts';
import { createPlugins, rootAgent } from './agent.ts';

const PLAN = 'Basel, two nights. A quiet hotel with a view.';

export const story: Story = {
  agent: rootAgent,
  plugins: createPlugins,
  replies: {
    trip_desk: [
      { calls: [{ id: 'c1', name: 'load_artifacts', args: { artifact_names: ['plan.txt'] } }] },
      { calls: [{ id: 'c2', name: 'google_search_agent', args: { request: 'Quiet hotels with a view in Basel' } }] },
      { calls: [{ id: 'c3', name: 'book_hotel', args: { hotel: 'Belvue', nights: 2 } }] },
      { calls: [{ id: 'c4', name: 'book_hotel', args: { hotel: 'Bellevue', nights: 2 } }] },
      'Two nights in the Bellevue are booked. Sources: hotels.example.',
    ],
    google_search_agent: ['The Bellevue is quiet and looks over the Rhine.'],
  },
  async tell(stage) {
    const data = encodeBase64(new TextEncoder().encode(PLAN));
    const file = { inlineData: { mimeType: 'text/plain', displayName: 'plan.txt', data } };
    stage.note('', ...describeMessage('Book what is in my plan. (with a file)'));
    await stage.send([{ text: 'Book what is in my plan.' }, file]);
  },
};
