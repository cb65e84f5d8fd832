import { ScriptedModel } from '@eventloom/testing';
import {
  type Content,
  type Event,
  geminiModels,
  getFunctionCalls,
  getFunctionResponses,
  InMemoryRunner,
  stringifyContent,
} from 'eventloom';
import { createClerk } from './agent.ts';
import { openWarehouse } from './warehouse.ts';

interface Stage {
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

const REPLIES = [
  {
    calls: [
      { name: 'get_item', args: { item: 'lamp' } },
      { name: 'get_item', args: { item: 'chair' } },
    ],
  },
  { calls: [{ name: 'create_order', args: { body: { item: 'chair', count: 6 } } }] },
  'There are 4 lamps. The chairs were gone, so I ordered 6.',
];

/** Returns one line for each part of an event. */
function linesOf(event: Event): string[] {
  return [
    ...getFunctionCalls(event).map(({ name, args }) => `${event.author} → ${name} ${JSON.stringify(args)}`),
    ...getFunctionResponses(event).map(({ name, response }) => `${event.author} ← ${name} ${JSON.stringify(response)}`),
    ...(stringifyContent(event) === '' ? [] : [`${event.author} ${stringifyContent(event)}`]),
  ];
}

export const story = {
  isServed: true,
  async tell({ apiKey, print }: Stage): Promise<void> {
    const warehouse = await openWarehouse();
    try {
      const model = apiKey === '' ? new ScriptedModel(REPLIES) : 'gemini-flash-latest';
      const models = apiKey === '' ? undefined : geminiModels({ apiKey });
      const agent = await createClerk(warehouse.url, model);
      const runner = new InMemoryRunner({ agent, autoCreateSession: true, ...(models && { models }) });
      const say = async (newMessage: Content): Promise<Event[]> => {
        const events = await runner.run({ userId: 'ann', sessionId: 's', newMessage });
        for (const line of events.flatMap(linesOf)) print(line);
        return events;
      };
      const text = 'How many lamps and chairs are there? Order 6 of what is gone.';
      print(`you ${text}`);
      let events = await say({ role: 'user', parts: [{ text }] });
      // An order waits until a person approves it.
      for (;;) {
        const questions = events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_confirmation');
        if (questions.length === 0) break;
        print('you Yes.');
        const parts = questions.map(({ id = '', name = '' }) => ({
          functionResponse: { id, name, response: { confirmed: true } },
        }));
        events = await say({ role: 'user', parts });
      }
      print(`ordered: ${JSON.stringify(warehouse.orders)}`);
    } finally {
      await warehouse.close();
    }
  },
} as const;
