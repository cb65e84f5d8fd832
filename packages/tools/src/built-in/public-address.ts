import { AddressRefusedError } from '../errors.ts';

/** Options of a request to a host of the public internet. */
export interface PublicRequest {
  /** The HTTP method. Default: `GET`. */
  readonly method?: string | undefined;
  /** Headers, with names in lower case. Default: only `accept`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Parses a URL and checks that it can be public: the scheme is `http:` or `https:`, there is no user or password, and the host is not the
 * name or an address of this machine or an internal network. A name may still resolve to an internal address: see `guardedFetch`.
 * @throws AddressRefusedError
 */
export function checkPublicUrl(url: string): URL {
  if (!URL.canParse(url))
    throw new AddressRefusedError('is not a URL; write it with its scheme, as in https://example.com/');
  const parsed = new URL(url);
  const { protocol, hostname, username, password } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new AddressRefusedError(`has the scheme ${protocol} and not http: or https:`);
  if (username !== '' || password !== '') throw new AddressRefusedError('has a user or a password');
  if (!isPublicHost(hostname)) throw new AddressRefusedError(`the host ${hostname} is not public`);
  return parsed;
}

/** True for an address to which a secret must not be sent: one on the internet that begins with `http:`. */
export function isUnencrypted(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol !== 'https:' && isPublicHost(hostname);
}

/** Domains that are not on the internet: RFC 6761, 6762, 8375 and the names of cloud metadata services. */
const INTERNAL_DOMAINS = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'test', 'invalid', 'onion'];

/**
 * True for a host that may be public. Names are not resolved.
 * @param hostname host of a parsed URL: in lower case, IPv4 with dots, IPv6 in brackets
 */
function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return isPublicAddress(hostname.slice(1, -1));
  if (ipv4(hostname) !== undefined) return isPublicAddress(hostname);
  const name = hostname.replace(/\.$/, '');
  // A name without a dot is looked up in the domain of this machine.
  return name.includes('.') && !INTERNAL_DOMAINS.some((domain) => name === domain || name.endsWith(`.${domain}`));
}

/** Blocks of IPv4 that are not public, by first address and length of the prefix (IANA special-purpose registry). */
const INTERNAL_IPV4: readonly (readonly [number, number])[] = [
  [0x00000000, 8],
  [0x0a000000, 8],
  [0x64400000, 10],
  [0x7f000000, 8],
  [0xa9fe0000, 16],
  [0xac100000, 12],
  [0xc0000000, 24],
  [0xc0000200, 24],
  [0xc0586300, 24],
  [0xc0a80000, 16],
  [0xc6120000, 15],
  [0xc6336400, 24],
  [0xcb007100, 24],
  [0xe0000000, 4],
  [0xf0000000, 4],
];

/** True for an IPv4 or IPv6 address of the public internet. False for any other text. */
export function isPublicAddress(address: string): boolean {
  const four = ipv4(address);
  if (four !== undefined) return isPublicIpv4(four);
  const six = ipv6(address);
  return six !== undefined && isPublicIpv6(six);
}

function isPublicIpv4(value: number): boolean {
  return !INTERNAL_IPV4.some(([first, length]) => value >>> (32 - length) === first >>> (32 - length));
}

/**
 * True for an IPv6 address of the public internet.
 * @param groups the eight 16-bit numbers of the address
 */
function isPublicIpv6(groups: readonly number[]): boolean {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const last = (g * 0x10000 + h) >>> 0;
  // Addresses that contain an IPv4 address (mapped, NAT64 and 6to4) are checked by that.
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff) return isPublicIpv4(last);
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return isPublicIpv4(last);
  if (a === 0x2002) return isPublicIpv4((b * 0x10000 + c) >>> 0);
  // Only 2000::/3 is assigned to the internet. Of it, 2001::/23 (Teredo and others), 2001:db8::/32 and 3fff::/20 are not.
  if (a >>> 13 !== 1) return false;
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return false;
  return !(a === 0x3fff && b < 0x1000);
}

/** Parses `a.b.c.d` to a 32-bit number; undefined for other text. */
function ipv4(text: string): number | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** Parses an IPv6 address, possibly with an IPv4 address at its end, to eight 16-bit numbers; undefined for other text. */
function ipv6(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(ipv6Groups);
  if (!head || (halves.length === 2 && !tail)) return undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (halves.length === 1) return missing === 0 ? head : undefined;
  return missing < 1 ? undefined : [...head, ...Array.from({ length: missing }, () => 0), ...(tail ?? [])];
}

function ipv6Groups(text: string): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  for (const part of text.split(':')) {
    const four = ipv4(part);
    if (four !== undefined) groups.push(four >>> 16, four & 0xffff);
    else if (/^[\da-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}
