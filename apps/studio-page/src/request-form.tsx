import { useState } from 'react';
import type { AuthCredential } from '@eventloom/core';
import type { PersonAnswer, PersonRequest } from '@eventloom/client';
import { Button } from 'react-aria-components';
import { JsonView } from './json-view.tsx';

interface RequestFormProps {
  readonly request: PersonRequest;
  readonly onAnswer: (answer: PersonAnswer) => void;
}

const TITLES: Readonly<Record<PersonRequest['kind'], string>> = {
  confirmation: 'Approve this call?',
  credential: 'This tool needs a credential',
  input: 'The agent asks',
  call: 'This call waits for its result',
};

/** Shows a request to the person, with a form for the answer. */
export function RequestForm({ request, onAnswer }: RequestFormProps) {
  const { kind, message, args, payload, author } = request;
  return (
    <section className="request" aria-label={TITLES[kind]}>
      <h2>{TITLES[kind]}</h2>
      {message !== undefined && <p>{message}</p>}
      {args !== undefined && <JsonView value={args} />}
      {payload !== undefined && <JsonView value={payload} />}
      <small>{author}</small>
      {kind === 'confirmation' && (
        <div className="row">
          <Button className="primary" onPress={() => onAnswer({ kind, confirmed: true })}>
            Approve
          </Button>
          <Button className="danger" onPress={() => onAnswer({ kind, confirmed: false })}>
            Reject
          </Button>
        </div>
      )}
      {kind === 'input' && (
        <InputForm schema={request.responseSchema} onSubmit={(value) => onAnswer({ kind, value })} />
      )}
      {kind === 'credential' && (
        <CredentialForm request={request} onSubmit={(credential) => onAnswer({ kind, credential })} />
      )}
      {kind === 'call' && (
        <InputForm
          schema={{ type: 'object' }}
          onSubmit={(value) => onAnswer({ kind, response: isRecord(value) ? value : { result: value } })}
        />
      )}
    </section>
  );
}

interface FormField {
  readonly name: string;
  readonly type: string;
  readonly choices: readonly unknown[] | undefined;
  readonly description: string | undefined;
  readonly isRequired: boolean;
}

type JsonFields = Readonly<Record<string, unknown>>;

/**
 * Shows a form made from a JSON Schema, with a field for each property of an object, and a field for JSON text if there
 * is no simple field.
 */
function InputForm({
  schema,
  onSubmit,
}: {
  readonly schema: JsonFields | undefined;
  readonly onSubmit: (value: unknown) => void;
}) {
  const fields = schema ? fieldsOf(schema) : undefined;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [error, setError] = useState<string>();
  const single: FormField = {
    name: 'answer',
    type: schema === undefined ? 'string' : typeof schema['type'] === 'string' ? schema['type'] : 'json',
    choices: Array.isArray(schema?.['enum']) ? (schema['enum'] as readonly unknown[]) : undefined,
    description: undefined,
    isRequired: true,
  };
  const shown = fields ?? [single];
  const submit = (): void => {
    try {
      const read = Object.fromEntries(
        shown.flatMap((field) => {
          const text = values[field.name] ?? '';
          return text === '' && !field.isRequired ? [] : [[field.name, readField(field, text)]];
        }),
      );
      setError(undefined);
      onSubmit(fields ? read : read['answer']);
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {shown.map((field) => (
        <label key={field.name} className="field">
          {field.name}
          {field.description !== undefined && <small>{field.description}</small>}
          <FieldInput
            field={field}
            value={values[field.name] ?? ''}
            onChange={(text) => setValues({ ...values, [field.name]: text })}
          />
        </label>
      ))}
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      <Button className="primary" type="submit">
        Send
      </Button>
    </form>
  );
}

function FieldInput({
  field,
  value,
  onChange,
}: {
  readonly field: FormField;
  readonly value: string;
  readonly onChange: (text: string) => void;
}) {
  const choices = field.type === 'boolean' ? [true, false] : field.choices;
  if (choices)
    return (
      <select value={value} required={field.isRequired} onChange={({ target }) => onChange(target.value)}>
        <option value="" />
        {choices.map((choice) => (
          <option key={String(choice)}>{String(choice)}</option>
        ))}
      </select>
    );
  const isNumber = field.type === 'number' || field.type === 'integer';
  if (isNumber || field.type === 'string')
    return (
      <input
        type={isNumber ? 'number' : 'text'}
        step={field.type === 'integer' ? 1 : 'any'}
        required={field.isRequired}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    );
  return (
    <textarea
      rows={4}
      required={field.isRequired}
      placeholder="JSON"
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

function fieldsOf(schema: JsonFields): readonly FormField[] | undefined {
  const { properties, required } = schema;
  if (schema['type'] !== 'object' || !isRecord(properties)) return undefined;
  const names = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).map(([name, property]) => {
    const { type, enum: choices, description } = isRecord(property) ? property : {};
    return {
      name,
      type: typeof type === 'string' ? type : 'json',
      choices: Array.isArray(choices) ? choices : undefined,
      description: typeof description === 'string' ? description : undefined,
      isRequired: names.has(name),
    };
  });
}

/** @throws Error if the text is not a value of the field's type */
function readField({ name, type, choices }: FormField, text: string): unknown {
  if (choices) return choices.find((choice) => String(choice) === text);
  switch (type) {
    case 'string':
      return text;
    case 'boolean':
      return text === 'true';
    case 'number':
    case 'integer':
      return Number(text);
    default:
      try {
        return JSON.parse(text) as unknown;
      } catch (cause) {
        throw new Error(`${name}: expected JSON, such as {"approved": true}`, { cause });
      }
  }
}

interface CredentialFormProps {
  readonly request: PersonRequest;
  readonly onSubmit: (credential: AuthCredential) => void;
}

/** Requests a key or a token. A login page of the service opens in a new window. */
function CredentialForm({ request, onSubmit }: CredentialFormProps) {
  const [secret, setSecret] = useState('');
  const { authConfig = {} } = request;
  const scheme = isRecord(authConfig['authScheme']) ? authConfig['authScheme'] : {};
  const isApiKey = scheme['type'] === 'apiKey';
  const authUri = findAuthUri(authConfig);
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(credentialOf(isApiKey, authUri !== undefined, secret));
      }}
    >
      {authUri !== undefined && (
        <a href={authUri} target="_blank" rel="noopener noreferrer">
          Open the login page
        </a>
      )}
      <label className="field">
        {authUri === undefined ? (isApiKey ? 'API key' : 'Token') : 'Address that the login page led to'}
        <input
          type={authUri === undefined ? 'password' : 'url'}
          required
          value={secret}
          autoComplete="off"
          onChange={({ target }) => setSecret(target.value)}
        />
      </label>
      <Button className="primary" type="submit">
        Send
      </Button>
    </form>
  );
}

function credentialOf(isApiKey: boolean, isLogin: boolean, secret: string): AuthCredential {
  if (isLogin) return { authType: 'oauth2', oauth2: { authResponseUri: secret } };
  if (isApiKey) return { authType: 'apiKey', apiKey: secret };
  return { authType: 'http', http: { scheme: 'bearer', credentials: { token: secret } } };
}

/** Returns an address only if it is a web address: a server could send one that runs a script. */
function findAuthUri(authConfig: JsonFields): string | undefined {
  for (const key of ['exchangedAuthCredential', 'rawAuthCredential']) {
    const credential = authConfig[key];
    const oauth2 = isRecord(credential) ? credential['oauth2'] : undefined;
    const uri = isRecord(oauth2) ? oauth2['authUri'] : undefined;
    if (typeof uri === 'string' && /^https?:\/\//.test(uri)) return uri;
  }
  return undefined;
}

function isRecord(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
