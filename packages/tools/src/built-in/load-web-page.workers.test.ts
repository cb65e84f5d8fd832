import { expect, test } from 'vitest';
import { openPublicUrl } from '#open-public-url';
import { loadWebPage } from './load-web-page.ts';

test.each(['http://127.0.0.1/', 'http://metadata.google.internal/', 'http://[::ffff:10.0.0.1]/', 'http://localhost/'])(
  'a Worker refuses %s before a request',
  async (url) => {
    expect(await loadWebPage(url)).toMatch(/^Failed to fetch url: \S+ \(the host \S+ is not public\)$/);
  },
);

test('a Worker checks a URL when it is opened', async () => {
  const { signal } = new AbortController();
  await expect(openPublicUrl('file:///etc/passwd', signal)).rejects.toThrow('has the scheme file:');
});
