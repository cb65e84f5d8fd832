import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { LOAD_WEB_PAGE, loadWebPage, type LoadWebPageOptions } from './load-web-page.ts';

const PAGE = 'https://example.com/page';

/** Opens pages from a table, and refuses others. */
function pages(table: Record<string, () => Response>) {
  const opened: string[] = [];
  const open: LoadWebPageOptions['open'] = (url) => {
    opened.push(url);
    return table[url]?.() ?? expect.unreachable(url);
  };
  return { open, opened };
}

function html(body: string, type = 'text/html; charset=utf-8'): Response {
  return new Response(body, { headers: { 'content-type': type } });
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } });
}

test('the tool returns the text of a page', async () => {
  const { open } = pages({ [PAGE]: () => html('<h1>News</h1><script>x</script><p>All is <b>well</b>.') });
  expect(await loadWebPage(PAGE, { open })).toBe('News\nAll is well.');
});

test('the tool returns text and JSON unchanged', async () => {
  const { open } = pages({ [PAGE]: () => html('{"a": "<b>"}', 'application/json') });
  expect(await loadWebPage(PAGE, { open })).toBe('{"a": "<b>"}');
});

test('the tool decodes the character set of the page', async () => {
  const latin = Uint8Array.of(0x63, 0x61, 0x66, 0xe9);
  const headers = { 'content-type': 'text/plain; charset="ISO-8859-1"' };
  const { open } = pages({ [PAGE]: () => new Response(latin, { headers }) });
  expect(await loadWebPage(PAGE, { open })).toBe('café');
});

test('the tool follows redirects, and checks each address', async () => {
  const { open, opened } = pages({
    'http://example.com/': () => redirect('https://example.com/'),
    'https://example.com/': () => redirect('/page'),
    [PAGE]: () => html('here'),
  });
  expect(await loadWebPage('http://example.com/', { open })).toBe('here');
  expect(opened).toEqual(['http://example.com/', 'https://example.com/', PAGE]);
});

test('the tool gives up after five redirects', async () => {
  const { open, opened } = pages({ [PAGE]: () => redirect('/page') });
  expect(await loadWebPage(PAGE, { open })).toBe(`Failed to fetch url: ${PAGE} (it redirects more than 5 times)`);
  expect(opened).toHaveLength(6);
});

test('the tool truncates a long text', async () => {
  const { open } = pages({ [PAGE]: () => html('word '.repeat(100)) });
  expect(await loadWebPage(PAGE, { open, maxCharacters: 10 })).toBe('word word …');
});

test('the tool reads at most five megabytes', async () => {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(1024 * 1024).fill(97));
    },
  });
  const { open } = pages({ [PAGE]: () => new Response(body, { headers: { 'content-type': 'text/plain' } }) });
  expect(await loadWebPage(PAGE, { open, maxCharacters: 6_000_000 })).toHaveLength(5 * 1024 * 1024);
  expect(pulled).toBeLessThan(9);
});

test.each([
  ['a status other than 200', () => new Response('x', { status: 404 }), 'it answered with HTTP status 404'],
  ['a page that is not text', () => html('x', 'application/pdf'), 'it is application/pdf and not text'],
  ['a redirect to no URL', () => redirect('http://['), 'it redirects to an invalid URL'],
])('%s is returned as text', async (_, answer, reason) => {
  const { open } = pages({ [PAGE]: answer });
  expect(await loadWebPage(PAGE, { open })).toBe(`Failed to fetch url: ${PAGE} (${reason})`);
});

test('the tool gives up after the time-out', async () => {
  const open = (_url: string, signal: AbortSignal): Promise<Response> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  expect(await loadWebPage(PAGE, { open, timeoutMs: 1 })).toBe(`Failed to fetch url: ${PAGE} (no answer in 1 ms)`);
});

test.each(['http://127.0.0.1/', 'http://localhost:1/', 'file:///etc/passwd', 'http://[::1]/'])(
  '%s is refused before a connection',
  async (url) => {
    expect(await loadWebPage(url)).toMatch(/^Failed to fetch url: \S+ \((the host .* is not public|has the scheme)/);
  },
);

test.each([{ timeoutMs: 0 }, { maxCharacters: 1.5 }, { timeout: 1 } as object])('%j is refused', async (options) => {
  await expect(loadWebPage(PAGE, options)).rejects.toThrow(ConfigurationError);
});

test('LOAD_WEB_PAGE declares its url', () => {
  expect(LOAD_WEB_PAGE._getDeclaration()).toMatchObject({
    name: 'load_web_page',
    parametersJsonSchema: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
  });
});
