import { checkPublicUrl, type PublicRequest } from '../public-address.ts';

/**
 * Sends a request to a host of the public internet, without following redirects. Does not resolve names, because Workers and browsers
 * cannot. Workers cannot reach an internal network by a name; browsers can only as their own rules allow.
 */
export async function openPublicUrl(
  url: string,
  signal: AbortSignal,
  { method = 'GET', headers, body }: PublicRequest = {},
): Promise<Response> {
  return fetch(checkPublicUrl(url), {
    redirect: 'manual',
    method,
    headers: { accept: 'text/html, text/*;q=0.9, */*;q=0.1', ...headers },
    body: body ?? null,
    signal,
  });
}

/** Rejects for a URL whose host is not public. Names are not resolved. @throws AddressRefusedError */
export function checkPublicHost(url: string): Promise<void> {
  return Promise.resolve(url)
    .then(checkPublicUrl)
    .then(() => undefined);
}
