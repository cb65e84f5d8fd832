const FOREIGN = /[^A-Za-z0-9+/]/;

/** Base64 as the service documents it: standard alphabet, padded, in one line. Text that is so already is given back as it is. */
export function normaliseBase64(data: string): string {
  const end = data.length % 4 === 0 ? data.replace(/={1,2}$/, '').length : -1;
  if (end >= 0 && !FOREIGN.test(end === data.length ? data : data.slice(0, end))) return data;
  const digits = data.replace(/[\s=]/g, '').replaceAll('-', '+').replaceAll('_', '/');
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
}
