/** An answer whose body is JSON text already. */
export function jsonTextResponse(text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { headers: { 'content-type': 'application/json', ...headers } });
}

/** An answer with a value as JSON. */
export function jsonResponse(value: unknown, headers?: Readonly<Record<string, string>>): Response {
  return jsonTextResponse(JSON.stringify(value), headers);
}
