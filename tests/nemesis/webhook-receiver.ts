import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientSession } from './client.ts';

/** A webhook that was received. */
export interface WebhookMessage {
  /** The id, which is the same for all attempts to send the message. */
  readonly id: string;
  readonly data: ClientSession & { readonly invocationId: string; readonly state: string };
}

/** A server that accepts every webhook. */
export interface WebhookReceiver extends AsyncDisposable {
  readonly origin: string;
  readonly messages: readonly WebhookMessage[];
  /** Resolves when a webhook of a session has arrived; the sessions have one run each. */
  received(session: ClientSession): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const messages: WebhookMessage[] = [];
  const arrivals = new Map<string, PromiseWithResolvers<void>>();
  const arrivalOf = ({ appName, userId, sessionId }: ClientSession): PromiseWithResolvers<void> => {
    const name = `${appName}/${userId}/${sessionId}`;
    const arrival = arrivals.get(name) ?? Promise.withResolvers<void>();
    arrivals.set(name, arrival);
    return arrival;
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { data } = JSON.parse(body) as Pick<WebhookMessage, 'data'>;
      messages.push({ id: String(request.headers['webhook-id']), data });
      arrivalOf(data).resolve();
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    received: (session) => arrivalOf(session).promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
