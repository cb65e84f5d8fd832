// Names for other packages of Eventloom, which applications do not need. They may change with every release.

import { checkPublicHost as check, openPublicUrl as open } from '#open-public-url';
import type { PublicRequest } from '../built-in/public-address.ts';

/**
 * Sends a request to a host of the public internet, without following redirects. The type is written out, because older compilers cannot
 * resolve `#` imports.
 */
export const openPublicUrl: (url: string, signal: AbortSignal, request?: PublicRequest) => Promise<Response> = open;
/** Rejects for a URL whose host is not public or, on Node, resolves to an address that is not. */
export const checkPublicHost: (url: string) => Promise<void> = check;
export { checkPublicUrl, isUnencrypted } from '../built-in/public-address.ts';
export { AddressRefusedError } from '../errors.ts';
export { allowNull } from '../schema/json-schema.ts';
