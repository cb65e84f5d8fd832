import type { BaseAgent } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import { A2AProtocolError } from './errors.ts';

/** A skill in an agent card. */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

/** An address of an agent, with the protocol and the version that the agent speaks there. */
export interface AgentInterface {
  readonly url: string;
  /** `JSONRPC`, `HTTP+JSON` or `GRPC`. */
  readonly protocolBinding: string;
  /** `1.0` or `0.3`. */
  readonly protocolVersion: string;
  readonly tenant?: string;
}

/** The description of an agent that clients of A2A read, as JSON of A2A 1.0. */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  /** Version of the agent. */
  readonly version: string;
  readonly supportedInterfaces: readonly AgentInterface[];
  readonly capabilities: { readonly streaming?: boolean; readonly pushNotifications?: boolean };
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  readonly skills: readonly AgentSkill[];
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  /** Ways in which clients authenticate, by name: `{ bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }`. */
  readonly securitySchemes?: Readonly<Record<string, object>>;
  /** The schemes that a request needs: `[{ schemes: { bearer: { list: [] } } }]`. */
  readonly securityRequirements?: readonly object[];
}

/** The address of a card below that of its agent. */
export const AGENT_CARD_PATH = '.well-known/agent-card.json';

/**
 * Returns the card of an agent.
 * @param url the address of its endpoint
 * @param fields take precedence over those that come from the agent
 */
export function createAgentCard(agent: BaseAgent, url: string, fields: Partial<AgentCard> = {}): AgentCard {
  const address = { url, protocolBinding: 'JSONRPC' };
  return {
    name: agent.name,
    description: descriptionOf(agent),
    version: '1.0.0',
    supportedInterfaces: [
      { ...address, protocolVersion: '1.0' },
      { ...address, protocolVersion: '0.3' },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [
      { id: agent.name, name: agent.name, description: descriptionOf(agent), tags: ['agent'] },
      ...agent.subAgents.map((each) => ({
        id: `${agent.name}_${each.name}`,
        name: each.name,
        description: descriptionOf(each),
        tags: ['sub_agent'],
      })),
    ],
    ...fields,
  };
}

function descriptionOf({ name, description }: BaseAgent): string {
  return description === '' ? `The agent ${name}.` : description;
}

/** The address at which an agent takes JSON-RPC. */
export interface A2AEndpoint {
  readonly url: string;
  readonly version: '1.0' | '0.3';
  readonly isStreaming: boolean;
  readonly tenant: string | undefined;
}

/** The end of the error for a card that names only other transports. */
export const NO_JSON_RPC =
  'the card has no address for JSON-RPC of A2A 1.0 or 0.3, and no other transport is supported';

/**
 * Finds the address in a card, of A2A 1.0 or 0.3.
 * @throws A2AProtocolError for a value that is not a card, and for a card without an address for JSON-RPC
 */
export function readEndpoint(card: unknown): A2AEndpoint {
  if (!isRecord(card) || typeof card['name'] !== 'string')
    throw new A2AProtocolError(
      `expected an agent card, which is an object with a name, got ${describeKind(card)}; is the address that of a card, as /.well-known/agent-card.json?`,
    );
  const { capabilities, supportedInterfaces, url, preferredTransport, additionalInterfaces } = card;
  const isStreaming = isRecord(capabilities) && capabilities['streaming'] === true;
  const legacy = { url, protocolBinding: preferredTransport ?? 'JSONRPC', protocolVersion: '0.3' };
  const listed = Array.isArray(supportedInterfaces)
    ? supportedInterfaces
    : [legacy, ...(Array.isArray(additionalInterfaces) ? additionalInterfaces : [])];
  for (const version of ['1.0', '0.3'] as const) {
    for (const each of listed) {
      if (!isRecord(each) || typeof each['url'] !== 'string' || !isAddress(each['url'])) continue;
      const { url: address, protocolBinding, transport, protocolVersion = '0.3', tenant } = each;
      if ((protocolBinding ?? transport) !== 'JSONRPC') continue;
      if (typeof protocolVersion !== 'string' || !protocolVersion.startsWith(version === '1.0' ? '1' : version))
        continue;
      return {
        url: address,
        version,
        isStreaming,
        tenant: typeof tenant === 'string' && tenant !== '' ? tenant : undefined,
      };
    }
  }
  throw new A2AProtocolError(NO_JSON_RPC);
}

/** True for an address that requests can be sent to: HTTP or HTTPS, without a user name and a password. */
function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
}

/** Returns a card that clients of A2A 0.3 understand as well. They read the address and the version beside the other fields. */
export function withLegacyFields(card: AgentCard): object {
  const legacy = card.supportedInterfaces.find(({ protocolVersion }) => protocolVersion.startsWith('0.3'));
  if (!legacy) return card;
  const { securitySchemes, securityRequirements } = card;
  return {
    ...card,
    ...(securitySchemes ? { securitySchemes: mapValues(securitySchemes, withLegacyScheme) } : {}),
    ...(securityRequirements ? { security: securityRequirements.map(toLegacyRequirement) } : {}),
    url: legacy.url,
    preferredTransport: legacy.protocolBinding,
    protocolVersion: '0.3.0',
  };
}

/** The types of security schemes in A2A 0.3, by the field of 1.0 that has the scheme. */
const LEGACY_SCHEMES: Readonly<Record<string, string>> = {
  apiKeySecurityScheme: 'apiKey',
  httpAuthSecurityScheme: 'http',
  oauth2SecurityScheme: 'oauth2',
  openIdConnectSecurityScheme: 'openIdConnect',
  mtlsSecurityScheme: 'mutualTLS',
};

/** Adds the fields of a scheme in 0.3, which has them beside its type, as in OpenAPI. */
function withLegacyScheme(scheme: object): object {
  for (const [field, value] of Object.entries(scheme)) {
    const type = LEGACY_SCHEMES[field];
    if (type === undefined || !isRecord(value)) continue;
    const { location, ...fields } = value;
    return { ...scheme, type, ...fields, ...(location === undefined ? {} : { in: location }) };
  }
  return scheme;
}

/** Returns a requirement of 0.3: the scopes of each scheme by its name. */
function toLegacyRequirement(requirement: object): object {
  const schemes = 'schemes' in requirement && isRecord(requirement.schemes) ? requirement.schemes : {};
  return mapValues(schemes, (scopes) => (isRecord(scopes) && Array.isArray(scopes['list']) ? scopes['list'] : []));
}

function mapValues<T>(values: Readonly<Record<string, T>>, map: (value: T) => object): Record<string, object> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
