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
import { openShop } from './shop.ts';

interface Stage {
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

const REPLIES = [
  {
    calls: [
      { name: 'shop_get_order', args: { id: '17' } },
      { name: 'load_skill', args: { name: 'refunds' } },
    ],
  },
  { calls: [{ name: 'load_skill_resource', args: { skill_name: 'refunds', path: 'references/rules.md' } }] },
  {
    calls: [
      {
        name: 'run_skill_script',
        args: { skill_name: 'refunds', script_path: 'scripts/refund.js', args: { euros: 80, days: 20 } },
      },
    ],
  },
  { calls: [{ name: 'shop_pay_back', args: { euros: 40 } }] },
  'You get 40 euros back.',
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
    const shop = openShop();
    const model = apiKey === '' ? new ScriptedModel(REPLIES) : 'gemini-flash-latest';
    const models = apiKey === '' ? undefined : geminiModels({ apiKey });
    const agent = await createClerk((request) => shop.answer(request), model);
    const runner = new InMemoryRunner({ agent, autoCreateSession: true, ...(models && { models }) });
    const say = async (newMessage: Content): Promise<Event[]> => {
      const events = await runner.run({ userId: 'ann', sessionId: 's', newMessage });
      for (const line of events.flatMap(linesOf)) print(line);
      return events;
    };
    const text = 'I bring back my lamp, order 17.';
    print(`you ${text}`);
    let events = await say({ role: 'user', parts: [{ text }] });
    // The server asks the customer during its call.
    for (;;) {
      const questions = events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_input');
      if (questions.length === 0) break;
      print('you To DE17.');
      const result = { action: 'accept', content: { account: 'DE17' } };
      const parts = questions.map(({ id = '', name = '' }) => ({
        functionResponse: { id, name, response: { result } },
      }));
      events = await say({ role: 'user', parts });
    }
    await runner.close();
    print(`paid back: ${JSON.stringify(shop.paid)}`);
  },
} as const;
