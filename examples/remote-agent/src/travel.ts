import { tellTrip } from './tell-trip.ts';

const { GEMINI_API_KEY = '', HOTEL_TOKEN = 'hotel-token' } = process.env;
const [address = 'http://localhost:8001/a2a/hotel'] = process.argv.slice(2);
await tellTrip({ address, token: HOTEL_TOKEN, apiKey: GEMINI_API_KEY, print: console.log });
