import { serveChat } from './serve-chat.ts';

const { GEMINI_API_KEY = '' } = process.env;
const server = await serveChat({ apiKey: GEMINI_API_KEY, port: 8000 });
console.log(`Open http://localhost:${server.port}/chat in a browser. Ctrl-C ends it.`);
