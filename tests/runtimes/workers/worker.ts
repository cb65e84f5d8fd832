import { DurableObject } from 'cloudflare:workers';

/** An object that does nothing: tests run inside it, for its storage. */
export class StorageObject extends DurableObject {}

export default {
  fetch: (): Response => new Response(undefined, { status: 404 }),
};
