import type { OpenApiSchemaName } from '@eventloom/core/wire';
import type { FrontContext, ServerContext } from '../server-context.ts';
import type { RunOwner } from '../protocol.ts';
import type { ServerRequest } from './server-request.ts';

/** The name of a schema among the components of the OpenAPI document. */
export type ComponentName = OpenApiSchemaName;

/** A query parameter: its description, or its description and type. Default type: text. */
export type QuerySpec = string | { readonly type: 'integer' | 'number'; readonly description: string };

/** The body of a route: the function that parses it, and its schema in the OpenAPI document. */
export interface BodySpec<T = unknown> {
  readonly component: ComponentName;
  /** @throws InvalidRequestError that names the fault and its place */
  readonly read: (body: unknown) => T;
  /** True if the body may be absent. */
  readonly isOptional?: boolean;
}

/**
 * The response of a route: a component of the OpenAPI document, a list of it, a JSON Schema, other content, a stream of events, or a
 * WebSocket.
 */
export type ResponseSpec =
  | { readonly component: ComponentName; readonly isList?: boolean }
  | { readonly schema: object }
  | { readonly contentType: string }
  | { readonly stream: ComponentName }
  | { readonly webSocket: ComponentName };

/** A path with its documentation, from which the OpenAPI document is built. */
export interface RouteSpec {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** Path with parameters in braces: `/apps/{appName}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** The query parameters and headers that the route reads, by name, with their descriptions. */
  readonly query?: Readonly<Record<string, QuerySpec>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodySpec;
  /** The JSON Schema of a body that the route itself checks. */
  readonly bodySchema?: object;
  readonly response: ResponseSpec;
  /** The status of the response. Default 200. */
  readonly status?: 200 | 202;
  /** JSON Schema of the response to a request whose header `Accept` names JSON, if it differs. */
  readonly asJson?: object;
  /** The description of status 204, for a route that may have nothing to return. */
  readonly noContent?: string;
  /** Headers of the response, by name, with their descriptions. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Error statuses of this route in addition to those of all routes. */
  readonly errors?: readonly number[];
  /** Error codes of this route in addition to those of all routes, for the OpenAPI document. Their statuses need not be in `errors`. */
  readonly codes?: readonly string[];
  /** Statuses of responses that have the schema of the response too, with their descriptions. */
  readonly otherStatuses?: Readonly<Record<number, string>>;
  /** True for a route without authentication. */
  readonly isPublic?: boolean;
}

/** A route: its path, its description and the function that answers it. */
export interface HttpRoute<Server extends FrontContext = ServerContext> extends RouteSpec {
  /**
   * Returns the user and app that a request is for, if the path does not name them. On Workers the Durable Object of that user answers the
   * request.
   */
  owner?(request: ServerRequest<FrontContext>): RunOwner | Promise<RunOwner>;
  handle(request: ServerRequest<Server>): Response | Promise<Response>;
}
