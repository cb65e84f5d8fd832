/** The parts of a Gemini request's path. */
export interface GeminiPath {
  /** The version: `v1`, `v1beta`, … */
  readonly apiVersion: string;
  /** The model's id without its path; empty for requests about caches. */
  readonly model: string;
  /** True for `:streamGenerateContent`. */
  readonly stream: boolean;
  /** The project; only in paths of Vertex AI. */
  readonly project?: string;
  readonly location?: string;
  /** The id of the cache in a request about one; empty if the request creates one. */
  readonly cachedContent?: string;
}

const PATH =
  /^\/(?<apiVersion>v\d\w*)\/(?:projects\/(?<project>[^/]+)\/locations\/(?<location>[^/]+)\/)?(?:publishers\/[^/]+\/)?(?:models|tunedModels)\/(?<model>[^/:]+):(?<action>generateContent|streamGenerateContent)$/;

const CACHE_PATH =
  /^\/(?<apiVersion>v\d\w*)\/(?:projects\/(?<project>[^/]+)\/locations\/(?<location>[^/]+)\/)?cachedContents(?:\/(?<id>[^/:]+))?$/;

/** Parses a path of the Gemini API or of Vertex AI; undefined for any other. `path` may have a query. */
export function parseGeminiPath(path: string): GeminiPath | undefined {
  const url = new URL(path, 'http://localhost');
  const found = PATH.exec(url.pathname)?.groups;
  if (!found) return parseCachePath(url.pathname);
  const { apiVersion = '', model = '', action, project, location } = found;
  const stream = action === 'streamGenerateContent';
  // Without alt=sse the service streams one JSON array, which none of our clients reads.
  if (stream && url.searchParams.get('alt') !== 'sse') return undefined;
  return {
    apiVersion,
    model: decodeURIComponent(model),
    stream,
    ...(project !== undefined && { project }),
    ...(location !== undefined && { location }),
  };
}

function parseCachePath(pathname: string): GeminiPath | undefined {
  const found = CACHE_PATH.exec(pathname)?.groups;
  if (!found) return undefined;
  const { apiVersion = '', project, location, id = '' } = found;
  return {
    apiVersion,
    model: '',
    stream: false,
    cachedContent: id,
    ...(project !== undefined && { project }),
    ...(location !== undefined && { location }),
  };
}
