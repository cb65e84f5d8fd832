import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Event, FunctionTool, InMemoryRunner, LlmAgent, StreamingMode } from '@google/adk';
import { sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { serveLater } from '../local-servers.ts';
import type { Program } from '../stage.ts';

const lookUp = new FunctionTool({
  name: 'look_up',
  description: 'Looks a word up.',
  parameters: z.object({ word: z.string() }),
  execute: ({ word }) => ({ meaning: `${word} is a color.` }),
});
const agent = new LlmAgent({ name: 'explainer', model: 'gemini-2.5-flash', instruction: 'Explain.', tools: [lookUp] });
const runner = new InMemoryRunner({ appName: 'page', agent });

/** The text of a turn that was shown, so that a complete event adds only what no chunk had. */
class ShownText {
  private shown = '';

  add({ content, partial }: Event): string {
    const said = (content?.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
    if (said === '') return '';
    const added = partial || !said.startsWith(this.shown) ? said : said.slice(this.shown.length);
    this.shown = partial ? this.shown + said : '';
    return added;
  }
}

/** Writes the run of a message as server-sent events, and ends the run when the client leaves. */
async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body: { userId: string; sessionId: string; message: string } = JSON.parse(await text(request));
  const { userId, sessionId, message } = body;
  const address = { appName: 'page', userId, sessionId };
  if (!(await runner.sessionService.getSession(address))) await runner.sessionService.createSession(address);
  response.setHeader('Content-Type', 'text/event-stream');
  response.flushHeaders();
  const left = new AbortController();
  response.on('close', () => left.abort());
  const send = (frame: unknown) => response.write(`data: ${JSON.stringify(frame)}\n\n`);
  const shown = new ShownText();
  try {
    for await (const event of runner.runAsync({
      userId,
      sessionId,
      newMessage: { role: 'user', parts: [{ text: message }] },
      runConfig: { streamingMode: StreamingMode.SSE },
      abortSignal: left.signal,
    })) {
      const delta = shown.add(event);
      if (delta) send({ delta });
      if (event.errorCode) {
        send({ error: event.errorCode });
        break;
      }
    }
    send({ done: true });
  } catch (error) {
    send({ error: String(error) });
  } finally {
    response.end();
  }
}

const program: Program = {
  replies: [
    sseReply([
      wireResponse({ parts: [{ text: 'A word.', thought: true }] }),
      wireResponse({ text: 'Let me look. ', calls: [{ name: 'look_up', args: { word: 'blue' } }] }),
    ]),
    sseReply(wireChunks(['It is ', 'a color.'])),
    sseReply([wireResponse('Blue '), wireResponse({ text: 'lig', finishReason: 'MAX_TOKENS' })]),
    sseReply(wireChunks(['Blue ', 'light.'])),
  ],
  async main(tell) {
    await using server = await serveLater();
    server.listen((request, response) => void chat(request, response));
    for (const message of ['What is blue?', 'Why is the sky blue?', 'Once more.']) {
      const body = JSON.stringify({ userId: 'ann', sessionId: 'one', message });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${server.url}/chat`, { method: 'POST', headers, body });
      for (const frame of (await response.text()).trim().split('\n\n')) tell(frame);
    }
  },
};
export default program;
