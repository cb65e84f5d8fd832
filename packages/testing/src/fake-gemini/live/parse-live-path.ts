/** The parts of a live connection's path. */
export interface LivePath {
  /** Version of the API: `v1`, `v1beta`, … */
  readonly apiVersion: string;
  readonly vertexai: boolean;
  /** API key in the query, for the Gemini API. Absent for Vertex AI. */
  readonly apiKey?: string;
}

const GEMINI = /^\/ws\/google\.ai\.generativelanguage\.(v\d\w*)\.GenerativeService\.BidiGenerateContent$/;
const VERTEX = /^\/ws\/google\.cloud\.aiplatform\.(v\d\w*)\.LlmBidiService\/BidiGenerateContent$/;

/** Reads the paths of the Gemini API and of Vertex AI; undefined for any other. The client puts two slashes in front. */
export function parseLivePath(path: string): LivePath | undefined {
  const url = new URL(path.replace(/^\/+/, '/'), 'http://localhost');
  const gemini = GEMINI.exec(url.pathname)?.[1];
  const apiVersion = gemini ?? VERTEX.exec(url.pathname)?.[1];
  if (apiVersion === undefined) return undefined;
  const apiKey = url.searchParams.get('key');
  return { apiVersion, vertexai: gemini === undefined, ...(apiKey !== null && { apiKey }) };
}
