// The server as a Cloudflare Worker: a router, an object for each user, and one for each app's state.

export type { CloudflareBindings, ObjectNamespace, ObjectState, ObjectStorage } from './cloudflare-bindings.ts';
export type { CloudflareServerOptions, CloudflareServices } from './cloudflare-server-options.ts';
export type { CloudflareServer, ObjectClass } from './create-cloudflare-server.ts';
export { createCloudflareServer } from './create-cloudflare-server.ts';

export { AppStateUnreachableError, UserObjectError } from './errors.ts';
