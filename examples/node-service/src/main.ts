import { Gemini } from 'eventloom';
import { createRunner } from './create-runner.ts';
import { serveAgents } from './serve-agents.ts';

const { GEMINI_API_KEY = '', JWT_SECRET = '', PORT = '8000' } = process.env;
const model = new Gemini({ model: 'gemini-flash-latest', apiKey: GEMINI_API_KEY });
const { url } = await serveAgents(createRunner(model, './data', console.log), JWT_SECRET, Number(PORT));
console.log(`listening on ${url}`);
