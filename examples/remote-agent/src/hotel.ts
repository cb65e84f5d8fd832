import { a2a } from '@eventloom/a2a';
import { createServer } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import {
  type Content,
  contentText,
  type FunctionCall,
  FunctionTool,
  geminiModels,
  InMemorySessionService,
  LlmAgent,
  Runner,
} from 'eventloom';
import * as z from 'zod';
import { RuleModel } from './rule-model.ts';

const findRooms = new FunctionTool({
  name: 'find_rooms',
  description: 'Returns the free rooms of a night.',
  parameters: z.object({ night: z.iso.date() }),
  execute: ({ night }) => ({ night, rooms: [{ number: 12, euros: 90 }] }),
});

const bookRoom = new FunctionTool({
  name: 'book_room',
  description: 'Books a room.',
  parameters: z.object({ room: z.number(), night: z.iso.date() }),
  requireConfirmation: true,
  execute: ({ room, night }) => ({ booked: `room ${room} on ${night}` }),
});

/** Options of the hotel. */
export interface HotelOptions {
  /** A key of Gemini. Empty: the replies follow rules. */
  readonly apiKey: string;
  /** The token that clients send. */
  readonly token: string;
  /** The port to listen on; 0 chooses a free one. */
  readonly port: number;
}

/** Serves the hotel's agent over A2A. */
export function serveHotel({ apiKey, token, port }: HotelOptions): Promise<NodeServer> {
  const agent = new LlmAgent({
    name: 'hotel',
    description: 'Finds and books rooms of the Hotel Lisboa.',
    model: apiKey === '' ? new RuleModel(replyOf) : 'gemini-flash-latest',
    instruction: 'You are the reception of the Hotel Lisboa. Offer a room first. Book it when the guest says so.',
    tools: [findRooms, bookRoom],
  });
  const runner = new Runner({
    appName: 'hotel',
    agent,
    models: geminiModels({ apiKey }),
    sessionService: new InMemorySessionService(),
  });
  const server = createServer({
    runners: [runner],
    authenticate: ({ headers }) =>
      headers.get('authorization') === `Bearer ${token}` ? { userId: 'travel-agency' } : undefined,
    protocols: [
      a2a({
        agents: { hotel: agent },
        card: {
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
          securityRequirements: [{ schemes: { bearer: { list: [] } } }],
        },
      }),
    ],
  });
  return serve(server, { port, drainMs: 1000 });
}

const NIGHT = '2027-05-01';

/** Plays the model of the hotel. */
function replyOf(newest: Content): string | FunctionCall {
  const { name, response } = newest.parts?.at(-1)?.functionResponse ?? {};
  if (name === 'find_rooms') return 'Room 12 is free on the first of May, for 90 euros.';
  if (name === 'book_room') return response?.['booked'] ? 'Room 12 is yours.' : 'Then I book nothing.';
  return contentText(newest).includes('Book')
    ? { name: 'book_room', args: { room: 12, night: NIGHT } }
    : { name: 'find_rooms', args: { night: NIGHT } };
}
