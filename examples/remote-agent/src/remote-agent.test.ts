import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { serveHotel } from './hotel.ts';
import { story } from './story.ts';
import { tellTrip } from './tell-trip.ts';

const TRANSCRIPT = [
  'you Is there a room on the first of May 2027?',
  'guide → transfer_to_agent',
  'hotel Room 12 is free on the first of May, for 90 euros.',
  'you Book it, please.',
  'guide → transfer_to_agent',
  'hotel asks: Please approve or reject the call of book_room.',
  'you Yes.',
  'hotel Room 12 is yours.',
];

test('the guide hands over to the hotel on its server, and its question reaches the traveller', async () => {
  const lines: string[] = [];
  await story.tell({ apiKey: '', print: (line) => lines.push(line) });
  expect(lines).toEqual(TRANSCRIPT);
});

test('the two programs talk to each other', async () => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, PORT: '0', HOTEL_TOKEN: 'secret' };
  const program = (name: string): string => join(import.meta.dirname, name);
  const hotel = spawn(process.execPath, [program('serve.ts')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void hotel.kill('SIGKILL'));
  const [line] = (await once(createInterface(hotel.stdout), 'line')) as [string];
  const address = /http\S*\/a2a\/hotel/.exec(line)?.[0] ?? line;
  const { stdout } = await promisify(execFile)(process.execPath, [program('travel.ts'), address], { env });
  expect(stdout.trimEnd().split('\n')).toEqual(TRANSCRIPT);
});

test('a client with another token is refused', async () => {
  const server = await serveHotel({ apiKey: '', token: 'one', port: 0 });
  onTestFinished(() => server.shutDown());
  const address = `${server.url}/a2a/hotel`;
  const trip = tellTrip({ address, token: 'other', apiKey: '', print: () => undefined });
  await expect(trip).rejects.toThrow('401');
});
