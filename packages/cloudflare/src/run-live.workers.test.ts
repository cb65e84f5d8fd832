import { env } from 'cloudflare:workers';
import { LiveClient } from '../../live/src/server/fixtures/live-client.ts';
import { liveSuite } from '../../live/src/server/fixtures/live-suite.ts';
import { callWorker } from './fixtures/call-worker.ts';
import { protocolServer } from './fixtures/protocol-worker.ts';

const fetch = (request: Request): Promise<Response> => protocolServer.handler.fetch(request, env);

liveSuite(() =>
  Promise.resolve({
    fetch: (path, init) => fetch(new Request(`http://localhost${path}`, init)),
    call: (query, headers): Promise<LiveClient> => callWorker(fetch, query, headers),
  }),
);
