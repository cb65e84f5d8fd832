import { useId, useState } from 'react';
import type { AuthCredential } from '@eventloom/core';
import type { PersonAnswer, PersonRequest } from '@eventloom/client';
import { Button } from 'react-aria-components';
import { JsonView } from './json-view.tsx';
import { SchemaForm } from './schema-form.tsx';
import { isRecord, type JsonFields } from './schema-reader.ts';

interface RequestFormProps {
  readonly request: PersonRequest;
  /** The tool that the request is about; undefined if its call is not known. */
  readonly toolName: string | undefined;
  /** The sent answer; undefined until an answer is sent. */
  readonly given: PersonAnswer | undefined;
  /** The server's error about the sent answer. */
  readonly refusal: string | undefined;
  readonly isDisabled: boolean;
  readonly onAnswer: (answer: PersonAnswer) => void;
}

/** Returns who asks for what: `clerk wants to call pay`. */
function titleOf({ kind, author, name }: PersonRequest, toolName: string | undefined): string {
  switch (kind) {
    case 'confirmation':
      return `${author} wants to call ${toolName ?? 'a tool'}`;
    case 'credential':
      return `${author} needs a credential${toolName === undefined ? '' : ` for ${toolName}`}`;
    case 'input':
      return `${author} needs an input${toolName === undefined ? '' : ` for ${toolName}`}`;
    case 'call':
      return `${author} waits for the result of ${name}`;
  }
}

/**
 * Shows a request to the person, with a form for the answer. The person can fold it, and answer later. The form does not change while the
 * answer is sent.
 */
export function RequestForm({ request, toolName, given, refusal, isDisabled, onAnswer }: RequestFormProps) {
  const { kind, message, args, payload } = request;
  const titleId = useId();
  return (
    <details
      open
      className="request"
      aria-labelledby={titleId}
      data-answered={given !== undefined && refusal === undefined}
    >
      <summary>
        <h2 id={titleId}>{titleOf(request, toolName)}</h2>
      </summary>
      <div className="request-body">
        {message !== undefined && <p>{message}</p>}
        {args !== undefined && <JsonView value={args} />}
        {payload !== undefined && payload !== null && <JsonView value={payload} />}
        {kind === 'confirmation' && (
          <div className="row">
            <Button className="primary" isDisabled={isDisabled} onPress={() => onAnswer({ kind, confirmed: true })}>
              Approve
            </Button>
            <Button className="danger" isDisabled={isDisabled} onPress={() => onAnswer({ kind, confirmed: false })}>
              Reject
            </Button>
            {given?.kind === 'confirmation' && refusal === undefined && (
              <span>{given.confirmed ? 'Approved' : 'Rejected'}</span>
            )}
          </div>
        )}
        {kind !== 'input' && refusal !== undefined && (
          <p className="error" role="alert">
            {refusal}
          </p>
        )}
        {kind === 'input' && (
          <SchemaForm
            schema={request.responseSchema}
            isDisabled={isDisabled}
            refusal={refusal}
            onSubmit={(value) => onAnswer({ kind, value })}
          />
        )}
        {kind === 'credential' && (
          <CredentialForm
            request={request}
            isDisabled={isDisabled}
            onSubmit={(credential) => onAnswer({ kind, credential })}
          />
        )}
        {kind === 'call' && (
          <SchemaForm
            schema={ANY_OBJECT}
            isDisabled={isDisabled}
            refusal={undefined}
            onSubmit={(value) => onAnswer({ kind, response: isRecord(value) ? value : { result: value } })}
          />
        )}
      </div>
    </details>
  );
}

const ANY_OBJECT = { type: 'object', title: 'Result' };

interface CredentialFormProps {
  readonly request: PersonRequest;
  readonly isDisabled: boolean;
  readonly onSubmit: (credential: AuthCredential) => void;
}

/** Requests a key, a token, or a user name and a password. A login page of the service opens in a new window. */
function CredentialForm({ request, isDisabled, onSubmit }: CredentialFormProps) {
  const [secret, setSecret] = useState('');
  const [username, setUsername] = useState('');
  const { authConfig = {} } = request;
  const scheme = isRecord(authConfig['authScheme']) ? authConfig['authScheme'] : {};
  const { credentialKey } = authConfig;
  const authUri = findAuthUri(authConfig);
  const kind = authUri === undefined ? kindOf(scheme) : 'login';
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(credentialOf(kind, secret, username));
      }}
    >
      <p>
        {describeScheme(scheme)}
        {typeof credentialKey === 'string' && (
          <>
            , kept as <code>{credentialKey}</code>
          </>
        )}
      </p>
      {authUri !== undefined && (
        <a href={authUri} target="_blank" rel="noopener noreferrer">
          Open the login page
        </a>
      )}
      <fieldset className="fields" disabled={isDisabled}>
        {kind === 'basic' && (
          <label className="field">
            User name
            <input required value={username} autoComplete="off" onChange={({ target }) => setUsername(target.value)} />
          </label>
        )}
        <label className="field">
          {SECRETS[kind]}
          <input
            type={kind === 'login' ? 'url' : 'password'}
            required
            value={secret}
            autoComplete="off"
            onChange={({ target }) => setSecret(target.value)}
          />
        </label>
      </fieldset>
      <Button className="primary" type="submit" isDisabled={isDisabled}>
        Send
      </Button>
    </form>
  );
}

type CredentialKind = 'apiKey' | 'basic' | 'token' | 'login';

const SECRETS: Readonly<Record<CredentialKind, string>> = {
  apiKey: 'API key',
  basic: 'Password',
  token: 'Token',
  login: 'Address that the login page led to',
};

function kindOf({ type, scheme }: JsonFields): CredentialKind {
  if (type === 'apiKey') return 'apiKey';
  return type === 'http' && String(scheme).toLowerCase() === 'basic' ? 'basic' : 'token';
}

/** Returns a line about an OpenAPI security scheme, such as `API key in the header x-key`. */
function describeScheme(authScheme: JsonFields): string {
  const {
    type,
    scheme,
    name,
    in: place,
    description,
  } = Object.fromEntries(
    Object.entries(authScheme).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
  const described = describeType({ type, scheme, name, place });
  return description === undefined ? described : `${description} (${described})`;
}

function describeType({ type, scheme = 'bearer', name, place = 'header' }: Record<string, string | undefined>): string {
  switch (type) {
    case 'apiKey':
      return name === undefined ? 'API key' : `API key in the ${place} ${name}`;
    case 'http':
      return `HTTP ${scheme} authentication`;
    case 'oauth2':
      return 'OAuth 2';
    case 'openIdConnect':
      return 'OpenID Connect';
    default:
      return type ?? 'Credential';
  }
}

function credentialOf(kind: CredentialKind, secret: string, username: string): AuthCredential {
  switch (kind) {
    case 'login':
      return { authType: 'oauth2', oauth2: { authResponseUri: secret } };
    case 'apiKey':
      return { authType: 'apiKey', apiKey: secret };
    case 'basic':
      return { authType: 'http', http: { scheme: 'basic', credentials: { username, password: secret } } };
    case 'token':
      return { authType: 'http', http: { scheme: 'bearer', credentials: { token: secret } } };
  }
}

/** Returns an address only if it is a web address, because a server could send an address that runs a script. */
function findAuthUri(authConfig: JsonFields): string | undefined {
  for (const key of ['exchangedAuthCredential', 'rawAuthCredential']) {
    const credential = authConfig[key];
    const oauth2 = isRecord(credential) ? credential['oauth2'] : undefined;
    const uri = isRecord(oauth2) ? oauth2['authUri'] : undefined;
    if (typeof uri === 'string' && /^https?:\/\//.test(uri)) return uri;
  }
  return undefined;
}
