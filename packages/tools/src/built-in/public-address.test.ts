import { expect, test } from 'vitest';
import { checkPublicUrl, isPublicAddress } from './public-address.ts';

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700:4700::1111',
  '2001:4860:4860::8888',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

const INTERNAL_IPV4 = [
  '0.0.0.0',
  '0.0.0.1',
  '0.255.255.255',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.168.1.1',
  '198.19.0.1',
  '203.0.113.9',
  '224.0.0.1',
  '255.255.255.255',
];

const INTERNAL_IPV6 = [
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '2002:7f00:1::1',
  '2001::1',
  '2001:db8::1',
  '3fff::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
];

test.each([...INTERNAL_IPV4, ...INTERNAL_IPV6, '1:2:3:4:5:6:7', '1::2::3', '256.1.1.1', 'example.com', ''])(
  '%j is not public',
  (address) => {
    expect(isPublicAddress(address)).toBe(false);
  },
);

test.each(['https://example.com/', 'http://93.184.215.14:8080/a?b', 'https://[2606:4700::1]/'])(
  '%s is a public URL',
  (url) => {
    expect(checkPublicUrl(url).href).toBe(url);
  },
);

test.each([...INTERNAL_IPV4, ...INTERNAL_IPV6.map((address) => `[${address}]`)])(
  'a URL with the internal address %s is refused',
  (host) => {
    const url = `http://${host}:8080/a`;
    expect(() => checkPublicUrl(url)).toThrow(`the host ${new URL(url).hostname} is not public`);
  },
);

test.each([
  ['http://localhost/', 'the host localhost is not public'],
  ['http://LOCALHOST./', 'the host localhost. is not public'],
  ['http://a.localhost:3000/', 'the host a.localhost is not public'],
  ['http://metadata/', 'the host metadata is not public'],
  ['http://metadata.google.internal/', 'the host metadata.google.internal is not public'],
  ['http://printer.local/', 'the host printer.local is not public'],
  ['http://0/', 'the host 0.0.0.0 is not public'],
  ['http://0x0:3000/', 'the host 0.0.0.0 is not public'],
  ['http://127.1/', 'the host 127.0.0.1 is not public'],
  ['http://2130706433/', 'the host 127.0.0.1 is not public'],
  ['http://0x7f.0.0.1/', 'the host 127.0.0.1 is not public'],
  ['http://0177.0.0.1/', 'the host 127.0.0.1 is not public'],
  ['http://１２７.０.０.１/', 'the host 127.0.0.1 is not public'],
  ['http://[::1]/', 'the host [::1] is not public'],
  ['http://[::ffff:169.254.169.254]/', 'the host [::ffff:a9fe:a9fe] is not public'],
  ['http://169.254.169.254/latest/meta-data', 'the host 169.254.169.254 is not public'],
  ['file:///etc/passwd', 'has the scheme file: and not http: or https:'],
  ['ftp://example.com/', 'has the scheme ftp: and not http: or https:'],
  ['https://user:pass@example.com/', 'has a user or a password'],
  ['example.com', 'is not a URL; write it with its scheme, as in https://example.com/'],
])('%s is refused: %s', (url, reason) => {
  expect(() => checkPublicUrl(url)).toThrow(reason);
});
