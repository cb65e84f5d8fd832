/** Matches a Google API key, and the key in an address. */
const KEYS = /AIza[\w-]{35}|(?<=[?&]key=)[^&\s"']+/g;
const SECRET_HEADER = /auth|key|token|secret|cookie/i;
const REDACTED = '[redacted]';
/** Shorter values are not treated as secrets, because they would also match ordinary words. */
const SHORTEST = 8;

/** Creates a function that removes keys from a text: the given ones, the values of headers with keys, and text that looks like a key. */
export function secretRedactor(
  apiKey: string | undefined,
  ...headers: readonly (Readonly<Record<string, string>> | undefined)[]
): (text: string) => string {
  const values = headers.flatMap((record) =>
    Object.entries(record ?? {}).flatMap(([name, value]) => (SECRET_HEADER.test(name) ? [value] : [])),
  );
  // A header value is trimmed, and may have a scheme in front: each word is a secret by itself.
  const secrets = [apiKey ?? '', ...values]
    .flatMap((value) => value.split(/\s+/))
    .filter((word) => word.length >= SHORTEST);
  return (text) => {
    let redacted = text;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, REDACTED);
    return redacted.replace(KEYS, REDACTED);
  };
}
