/** What a text says as JSON; one that is no JSON is a text, which some schema takes. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
