import { type AuthConfig, type AuthCredential, encodeBase64, type ToolContext } from '@eventloom/core';
import { isRecord, setOwn } from '@eventloom/core/internal';
import type { RequestDraft } from './build-request.ts';
import type { RequiredScheme, SecurityAlternative } from './operations.ts';

/** Options that give the credentials of a toolset. */
export interface CredentialOptions {
  /** The app's own credential. */
  readonly authCredential: AuthCredential | undefined;
  /** Key of the user's credential; undefined for one of the API's host and the scheme's name. */
  readonly credentialKey: string | undefined;
  /** Host of the API, with its port. */
  readonly host: string;
}

/** A scheme and the credential that satisfies it. */
export interface HeldCredential {
  readonly scheme: RequiredScheme;
  readonly credential: AuthCredential;
  /** True for the credential of the user, which the user can replace. */
  readonly isOfUser: boolean;
}

/** The credentials of a call, or the config of one that the user has to give first. */
export type FoundCredentials = { readonly held: readonly HeldCredential[] } | { readonly missing: AuthConfig };

/**
 * Finds the credentials for one of the alternatives: the first one that the app's credential and those of the user satisfy. If there is
 * none, the result is no credential where the document allows that, and otherwise the first credential that is missing.
 */
export async function findCredentials(
  alternatives: readonly SecurityAlternative[],
  options: CredentialOptions,
  toolContext: ToolContext,
): Promise<FoundCredentials> {
  let missing: AuthConfig | undefined;
  for (const alternative of alternatives) {
    const held: HeldCredential[] = [];
    for (const scheme of alternative) {
      const credential = await findCredential(scheme, alternative.length, options, toolContext);
      if (credential) held.push(credential);
      else missing ??= configOf(scheme, alternative.length, options);
    }
    if (alternative.length > 0 && held.length === alternative.length) return { held };
  }
  const isOptional = alternatives.length === 0 || alternatives.some(({ length }) => length === 0);
  return isOptional || !missing ? { held: [] } : { missing };
}

async function findCredential(
  scheme: RequiredScheme,
  count: number,
  options: CredentialOptions,
  toolContext: ToolContext,
): Promise<HeldCredential | undefined> {
  const { authCredential } = options;
  if (authCredential && satisfies(scheme, authCredential))
    return { scheme, credential: authCredential, isOfUser: false };
  // Without a service a runner has no credentials of users; one that is needed is reported when it is requested.
  if (!toolContext.invocationContext.invocation.credentialService) return undefined;
  const credential = await toolContext.loadCredential(configOf(scheme, count, options));
  return credential && satisfies(scheme, credential) ? { scheme, credential, isOfUser: true } : undefined;
}

/** Returns the request for the user's credential of a scheme. */
export function configOf(
  { name, scheme }: RequiredScheme,
  count: number,
  { authCredential, credentialKey, host }: CredentialOptions,
): AuthConfig {
  const own = credentialKey !== undefined && count > 1 ? `${credentialKey}:${name}` : credentialKey;
  return {
    authScheme: { ...scheme.value, type: String(scheme.value['type']) },
    ...(authCredential && { rawAuthCredential: authCredential }),
    credentialKey: own ?? `openapi:${host}:${name}`,
  };
}

/** True for a credential that has what the scheme sends. */
function satisfies({ scheme }: RequiredScheme, credential: AuthCredential): boolean {
  const { type, scheme: kind } = scheme.value;
  if (type === 'apiKey') return Boolean(credential.apiKey);
  if (type === 'http' && isBasic(kind)) return credential.http?.credentials?.username !== undefined;
  return type !== 'mutualTLS' && tokenOf(credential) !== undefined;
}

function isBasic(kind: unknown): boolean {
  return typeof kind === 'string' && kind.toLowerCase() === 'basic';
}

function tokenOf(credential: AuthCredential): string | undefined {
  return credential.http?.credentials?.token || credential.oauth2?.accessToken || undefined;
}

/** Adds the credentials to a request. */
export function applyCredentials(draft: RequestDraft, held: readonly HeldCredential[]): void {
  for (const { scheme, credential } of held) {
    const { type, in: place, name, scheme: kind } = scheme.scheme.value;
    for (const [header, value] of Object.entries(credential.http?.additionalHeaders ?? {}))
      setOwn(draft.headers, header.toLowerCase(), value);
    if (type === 'apiKey') applyKey(draft, place, String(name), credential.apiKey ?? '');
    else if (type === 'http' && isBasic(kind)) {
      const { username = '', password = '' } = credential.http?.credentials ?? {};
      draft.headers['authorization'] = `Basic ${encodeBase64(new TextEncoder().encode(`${username}:${password}`))}`;
    } else {
      const word = type === 'http' && typeof kind === 'string' && kind.toLowerCase() !== 'bearer' ? kind : 'Bearer';
      draft.headers['authorization'] = `${word} ${tokenOf(credential) ?? ''}`;
    }
  }
}

function applyKey(draft: RequestDraft, place: unknown, name: string, key: string): void {
  const pair = `${encodeURIComponent(name)}=${encodeURIComponent(key)}`;
  if (place === 'query') draft.query.push(pair);
  else if (place === 'cookie') draft.cookies.push(pair);
  else setOwn(draft.headers, name.toLowerCase(), key);
}

/** True for a scheme of the options that has the fields of its type. */
export function isScheme(value: unknown): value is AuthConfig['authScheme'] {
  if (!isRecord(value)) return false;
  const { type, in: place, name, scheme } = value;
  if (type === 'apiKey') return ['header', 'query', 'cookie'].includes(String(place)) && typeof name === 'string';
  if (type === 'http') return typeof scheme === 'string';
  return type === 'oauth2' || type === 'openIdConnect';
}
