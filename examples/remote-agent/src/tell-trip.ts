import {
  type Content,
  type Event,
  type FunctionCall,
  geminiModels,
  getFunctionCalls,
  InMemoryRunner,
  stringifyContent,
} from 'eventloom';
import { createGuide } from './guide.ts';
import { RuleModel } from './rule-model.ts';

/** Options of a trip. */
export interface TripOptions {
  /** The address of the hotel's agent. */
  readonly address: string;
  readonly token: string;
  /** A key of Gemini. Empty: the replies follow rules. */
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

/** Talks to the guide: asks for a room, books it, and confirms what the hotel asks. */
export async function tellTrip({ address, token, apiKey, print }: TripOptions): Promise<void> {
  const handOver: FunctionCall = { name: 'transfer_to_agent', args: { agentName: 'hotel' } };
  const agent = createGuide(address, token, apiKey === '' ? new RuleModel(() => handOver) : 'gemini-flash-latest');
  const runner = new InMemoryRunner({ agent, autoCreateSession: true, models: geminiModels({ apiKey }) });
  const send = async (newMessage: Content): Promise<FunctionCall[]> => {
    const events = await runner.run({ userId: 'ann', sessionId: 's', newMessage });
    for (const line of events.flatMap(linesOf)) print(line);
    return events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_input');
  };
  for (const text of ['Is there a room on the first of May 2027?', 'Book it, please.']) {
    print(`you ${text}`);
    let questions = await send({ role: 'user', parts: [{ text }] });
    while (questions.length > 0) {
      print('you Yes.');
      const parts = questions.map(({ id = '', name = '' }) => ({
        functionResponse: { id, name, response: { confirmed: true } },
      }));
      questions = await send({ role: 'user', parts });
    }
  }
}

/** Returns one line for each call and for the text of an event. */
function linesOf(event: Event): string[] {
  const calls = getFunctionCalls(event).map(({ name, args }) =>
    name === 'adk_request_input' ? `${event.author} asks: ${String(args?.['message'])}` : `${event.author} → ${name}`,
  );
  const text = stringifyContent(event);
  return text === '' ? calls : [...calls, `${event.author} ${text}`];
}
