/**
 * Adds routes to a server. At run time it is an app of hono. This interface declares a part of it, because the declarations of hono do not
 * compile with every TypeScript version from 5.6.
 */
export interface ServerApp {
  /** Answers GET requests to `path`, in which `:name` is a parameter. The routes of the server come first. */
  get(path: string, handler: AppHandler): unknown;
  /** Answers POST requests. */
  post(path: string, handler: AppHandler): unknown;
  /** Answers PUT requests. */
  put(path: string, handler: AppHandler): unknown;
  /** Answers PATCH requests. */
  patch(path: string, handler: AppHandler): unknown;
  /** Answers DELETE requests. */
  delete(path: string, handler: AppHandler): unknown;
  /** Answers requests with any method. */
  all(path: string, handler: AppHandler): unknown;
  /**
   * Passes every request below `path` to another app, for example to one of hono with middleware: `server.app.mount('/admin',
   * admin.fetch)`. The app gets the rest of the path.
   */
  mount(path: string, fetch: (request: Request) => Response | Promise<Response>): unknown;
}

/** Answers a request to a route of a `ServerApp`. An error that it throws is reported to `onError` and answered with its status. */
export type AppHandler = (context: AppContext) => Response | Promise<Response>;

/** The request that a route of a `ServerApp` handles, and ways to respond. A plain `Response` is a response as well. */
export interface AppContext {
  readonly req: AppRequest;
  /** Returns a response with text. Default status: 200. */
  readonly text: (text: string, status?: number, headers?: Record<string, string>) => Response;
  /** Returns a response with a page. */
  readonly html: (page: string, status?: number, headers?: Record<string, string>) => Response | Promise<Response>;
  /** Returns a response with a value as JSON. */
  readonly json: (value: object, status?: number, headers?: Record<string, string>) => Response;
  /** Returns a response with text or a stream; the headers name its type. */
  readonly body: (data: string | ReadableStream | null, status?: number, headers?: Record<string, string>) => Response;
  /** Returns a response that leads to another address. Default status: 302. */
  readonly redirect: (location: string, status?: number) => Response;
}

/** The request that a route of a `ServerApp` handles. */
export interface AppRequest {
  /** The web `Request`. */
  readonly raw: Request;
  readonly url: string;
  readonly method: string;
  /** The path of the address, without its query. */
  readonly path: string;
  /** Returns a parameter of the route's path, decoded; undefined if the path has none of this name. */
  param(name: string): string | undefined;
  /** Returns the first query parameter of this name; undefined if there is none. */
  query(name: string): string | undefined;
  /** Returns all query parameters of this name; undefined if there is none. */
  queries(name: string): string[] | undefined;
  /** Returns a header; undefined if the request has none of this name. */
  header(name: string): string | undefined;
  /** Returns the parsed body. Rejects if it is not JSON. */
  json(): Promise<unknown>;
  /** Returns the body as text. */
  text(): Promise<string>;
}
