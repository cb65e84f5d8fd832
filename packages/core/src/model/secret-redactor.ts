/**
 * Patterns that match keys by their form: keys with a prefix of their vendor (Google and others), JSON Web Tokens, the
 * value after `Bearer`, the key and the password in an address, and the value after a word such as `API key provided:`.
 * Each reads a text in linear time.
 */
const KEYS: readonly RegExp[] = [
  /AIza[\w-]{35}/g,
  /\b(?:sk|pk|rk|key|gsk|csk|xai|hf|r8|fw|nvapi|pplx|tgp)[-_][\w*.-]{8,}/g,
  /\beyJ[\w-]{16,}(?:\.[\w-]+)*/g,
  /(?<=\bBearer\s)[\w.~+/=*-]{16,}/gi,
  /(?<=:\/\/[^\s/?#:@]*:)[^\s/?#]+(?=@)/g,
  /(?<=[?&](?:api[-_]?)?key=)[^&\s"']+/gi,
  /(?<=(?:\b|_|api)(?:key|token|secret|password|authorization)(?: provided)?["']?\s?[:=]\s?["']?)[^\s"'&,;]{8,}/gi,
];
const SECRET_HEADER = /auth|key|token|secret|cookie/i;
const REDACTED = '[redacted]';
/** Shorter values are not treated as secrets, because they would also match ordinary words. */
const SHORTEST = 8;

/** Creates a function that removes keys from a text: the given ones, the values of headers with keys, and text that looks like a key. */
export function secretRedactor(
  apiKey: string | undefined,
  ...headers: readonly (Readonly<Record<string, string | undefined>> | undefined)[]
): (text: string) => string {
  const values = headers.flatMap((record) =>
    Object.entries(record ?? {}).flatMap(([name, value]) =>
      SECRET_HEADER.test(name) && value !== undefined ? [value] : [],
    ),
  );
  // A header value is trimmed and may start with a scheme, so each word counts as a secret.
  const secrets = [apiKey ?? '', ...values]
    .flatMap((value) => value.split(/\s+/))
    .filter((word) => word.length >= SHORTEST);
  return (text) => {
    let redacted = text;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, REDACTED);
    for (const pattern of KEYS) redacted = redacted.replace(pattern, REDACTED);
    return redacted;
  };
}
