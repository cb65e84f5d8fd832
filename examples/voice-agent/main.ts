import { readFile, writeFile } from 'node:fs/promises';
import { InMemoryRunner } from 'eventloom';
import { rootAgent } from './agent.ts';
import { call } from './call.ts';

const { GEMINI_API_KEY = '' } = process.env;
const runner = new InMemoryRunner({ agent: rootAgent, gemini: { apiKey: GEMINI_API_KEY }, autoCreateSession: true });

// PCM of 16 bits, one channel and 16,000 samples a second, in pieces of 100 ms.
const question = await readFile('question.pcm');
async function* record(): AsyncGenerator<string> {
  for (let at = 0; at < question.length; at += 3200) yield question.subarray(at, at + 3200).toString('base64');
}

const answer: Buffer[] = [];
const speaker = {
  play: (piece: string) => void answer.push(Buffer.from(piece, 'base64')),
  clear: () => void (answer.length = 0),
};
for await (const event of call(runner, { mimeType: 'audio/pcm;rate=16000', pieces: record() }, speaker)) {
  if (event.outputTranscription && !event.partial) console.log(event.outputTranscription.text);
}
await writeFile('answer.pcm', Buffer.concat(answer));
