import { EventloomClient } from '@eventloom/client';

/** The server's address: the page is at `<server>/studio/index.html`. */
export const serverUrl = new URL('..', location.href).href.replace(/\/$/, '');

export const client = new EventloomClient({ baseUrl: serverUrl });

/** The root agent of an app, with messages to begin with. */
export interface AppAgent extends AgentNode {
  readonly prompts: readonly string[];
}

/** An agent of an app, as `/studio-api/…/agent` describes it. */
export interface AgentNode {
  readonly name: string;
  readonly kind: string;
  readonly description: string;
  readonly model?: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly subAgents: readonly AgentNode[];
  readonly calledAgents: readonly AgentNode[];
}

/** A graph and the path that a run took through it. */
export interface GraphDescription {
  readonly graph: {
    readonly name: string;
    readonly nodes: readonly { readonly name: string; readonly kind: string }[];
    readonly edges: readonly { readonly from: string; readonly to: string; readonly route?: string }[];
  };
}

async function readJson<T>(path: string): Promise<T> {
  const response = await fetch(serverUrl + path);
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

function userPath(appName: string, userId: string): string {
  return `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}`;
}

/** Reads the agents of an app. */
export function readAgent(appName: string, userId: string): Promise<AppAgent> {
  return readJson(`/studio-api${userPath(appName, userId)}/agent`);
}

/** Reads the graphs of an app; an empty list if it has none. */
export function readGraphs(appName: string, userId: string): Promise<GraphDescription[]> {
  return readJson(`${userPath(appName, userId)}/graphs`);
}
