import { join } from 'node:path';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { dev, SpanStore } from '@eventloom/dev';
import { uiFiles } from '@eventloom/dev/node';
import { liveEndpoint } from '@eventloom/live/server';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { inject } from 'vitest';
import { createRunners } from './agent.ts';

/**
 * A server with the apps `plain` and `resumable`, with the same agent, and `voice` and `bidi-demo` for calls. Other files may use it at the
 * same time, so each has a user of its own.
 */
export interface Started {
  readonly url: string;
  stop(): Promise<void>;
}

/** The built page of adk-web, in its package. */
const PAGE = join(import.meta.dirname, 'node_modules/@google/adk-devtools/dist/browser');

async function startOnNode(): Promise<Started> {
  const services = { sessionService: new InMemorySessionService(), artifactService: new InMemoryArtifactService() };
  const spans = new SpanStore();
  const server = await serve(
    createServer({
      runners: createRunners(services, spans),
      protocols: [dev({ spans, ui: await uiFiles(PAGE) })],
      live: liveEndpoint(),
      onError: () => undefined,
    }),
    { port: 0, drainMs: 0 },
  );
  return { url: server.url, stop: () => server.shutDown() };
}

/** Asks for the Worker that all files share. */
async function startOnWorkerd(): Promise<Started> {
  const response = await fetch(inject('clientsWorker'));
  const text = await response.text();
  if (!response.ok) throw new TypeError(text);
  return { url: text, stop: () => Promise.resolve() };
}

/** The places where the servers of the tests run. */
export const places: readonly (readonly [place: string, start: () => Promise<Started>])[] = [
  ['Node', startOnNode],
  ['wrangler dev', startOnWorkerd],
];

export const apps = ['plain', 'resumable'] as const;
