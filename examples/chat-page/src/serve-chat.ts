import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { createServer, type Protocol } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { type BaseLlm, contentText, geminiModels, InMemorySessionService, LlmAgent, Runner } from 'eventloom';

/** Options of the chat server. */
export interface ServeChatOptions {
  /** A key of Gemini. */
  readonly apiKey?: string;
  /** A model that replies instead of Gemini. */
  readonly model?: BaseLlm;
  /** The port to listen on; 0 chooses a free one. */
  readonly port: number;
}

/** Serves the page, its script, a custom route and the agent on one port. */
export function serveChat({ apiKey = '', model, port }: ServeChatOptions): Promise<NodeServer> {
  const agent = new LlmAgent({
    name: 'helper',
    model: model ?? 'gemini-flash-latest',
    instruction: 'Answer in one or two sentences.',
  });
  const runner = new Runner({
    appName: 'chat',
    agent,
    // Turns model names such as "gemini-flash-latest" into models. Your own function can resolve other names.
    models: geminiModels({ apiKey }),
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  return serve(createServer({ runners: [runner], protocols: [page, conversations] }), { port, drainMs: 1000 });
}

const folder = join(import.meta.dirname, '..');
const html = readFileSync(join(folder, 'index.html'), 'utf8');
const script = stripTypeScriptTypes(readFileSync(join(folder, 'src/chat.ts'), 'utf8'));

/** Serves the page and its script without authentication, because they belong to no user. */
const page: Protocol = {
  name: 'page',
  routes: [],
  commonRoutes: [
    {
      method: 'get',
      path: '/chat',
      operationId: 'page',
      summary: 'The chat page',
      response: { contentType: 'text/html' },
      isPublic: true,
      handle: () => new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } }),
    },
    {
      method: 'get',
      path: '/chat.js',
      operationId: 'pageScript',
      summary: 'The script of the chat page',
      response: { contentType: 'text/javascript' },
      isPublic: true,
      handle: () => new Response(script, { headers: { 'content-type': 'text/javascript' } }),
    },
  ],
};

/** Lists a user's conversations with the first line of each. The path names the user, so the server answers that user only. */
const conversations: Protocol = {
  name: 'conversations',
  routes: [
    {
      method: 'get',
      path: '/conversations/{appName}/{userId}',
      operationId: 'conversations',
      summary: 'Lists the conversations of a user with the first line of each',
      response: { schema: { type: 'array', items: { type: 'object' } } },
      handle: async (request) => {
        const owner = { appName: request.param('appName'), userId: request.param('userId') };
        const sessionService = request.sessions(owner.appName);
        const { sessions } = await sessionService.listSessions(owner);
        const list = sessions.map(async ({ id }) => {
          const { events } = await sessionService.listEvents({ ...owner, sessionId: id, limit: 1 });
          return { id, title: contentText(events[0]?.content) };
        });
        return Response.json(await Promise.all(list));
      },
    },
  ],
};
