/** The parts of a Gemini request's path. */
export interface GeminiPath {
  /** `v1`, `v1beta`, … */
  readonly apiVersion: string;
  /** The model's id without its path; empty for requests about caches. */
  readonly model: string;
  /** True for `:streamGenerateContent`. */
  readonly stream: boolean;
  /** Only on the Vertex AI paths. */
  readonly project?: string;
  readonly location?: string;
  /** Of requests about caches: the id of the one that is meant; empty when one is made. */
  readonly cachedContent?: string;
}

const PATH =
  /^\/(?<apiVersion>v\d\w*)\/(?:projects\/(?<project>[^/]+)\/locations\/(?<location>[^/]+)\/)?(?:publishers\/[^/]+\/)?(?:models|tunedModels)\/(?<model>[^/:]+):(?<action>generateContent|streamGenerateContent)$/;

const CACHE_PATH =
  /^\/(?<apiVersion>v\d\w*)\/(?:projects\/(?<project>[^/]+)\/locations\/(?<location>[^/]+)\/)?cachedContents(?:\/(?<id>[^/:]+))?$/;

/** Reads the paths of the Gemini API and of Vertex AI; undefined for any other. `path` may have a query. */
export function parseGeminiPath(path: string): GeminiPath | undefined {
  const url = new URL(path, 'http://localhost');
  const found = PATH.exec(url.pathname)?.groups;
  if (!found) return parseCachePath(url.pathname);
  const { apiVersion = '', model = '', action, project, location } = found;
  const stream = action === 'streamGenerateContent';
  // Without alt=sse the service streams one JSON array, which no client of ours reads.
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
