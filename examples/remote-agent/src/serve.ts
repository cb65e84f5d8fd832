import { shutDownOnSignal } from '@eventloom/server/node';
import { serveHotel } from './hotel.ts';

const { GEMINI_API_KEY = '', HOTEL_TOKEN = 'hotel-token', PORT = '8001' } = process.env;
const server = await serveHotel({ apiKey: GEMINI_API_KEY, token: HOTEL_TOKEN, port: Number(PORT) });
shutDownOnSignal(server, () => process.exit(0));
console.log(`The hotel is at ${server.url}/a2a/hotel. Ctrl-C ends it.`);
