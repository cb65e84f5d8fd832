import { inspect } from 'node:util';
import { type BaseAgent, EventloomError, ModelError, toError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import type { Runner } from '@eventloom/runner';

const DEMO_QUESTION = 'What is the weather in Rome, and what is 17% of 340?';

/** Options of the text that is printed once the server listens. */
export interface ReadyOptions {
  /** True if requests need a token. Default false. */
  readonly needsToken?: boolean;
  /** True if a copy of adk-web is served. Default false. */
  readonly hasUi?: boolean;
}

/**
 * Returns the text that is printed once the server listens: its address in the first line, the addresses of its pages, and curl commands
 * that create a session and send a message, unless a token is needed.
 */
export function readyText(
  url: string,
  appNames: readonly string[],
  { needsToken = false, hasUi = false }: ReadyOptions = {},
): string {
  const ready = `Eventloom serves ${appNames.join(', ')} at ${url}`;
  const ui = hasUi ? [`adk-web is at ${url}/dev-ui`] : [];
  if (needsToken) return [`${ready} to users with a token`, ...ui].join('\n');
  const [appName = 'demo'] = appNames;
  const text = appName === 'demo' ? DEMO_QUESTION : 'Hello';
  const session = quoted(`${url}/apps/${encoded(appName)}/users/me/sessions/first`);
  const body = [
    '{',
    `  "appName": ${JSON.stringify(appName)}, "userId": "me", "sessionId": "first", "streaming": true,`,
    `  "newMessage": {"parts": [{"text":`,
    `    ${JSON.stringify(text)}}]}`,
    '}',
  ];
  return [
    ready,
    `Open ${url}/studio in a browser.`,
    ...ui,
    TRY_IT,
    '',
    'curl -gs -o /dev/null -X POST \\',
    `  ${session}`,
    `curl -gsN ${quoted(`${url}/run_sse`)} \\`,
    `  -H 'content-type: application/json' -d ${quoted(body.join('\n'))}`,
  ].join('\n');
}

/** The line before the commands. */
export const TRY_IT = 'Or try it in another terminal:';

/** Encodes a text for a path, without characters that are special in a shell or in curl. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Quotes a text so that a shell reads it as one word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns a warning that names the agents whose Gemini model has no key; undefined if there are none. */
export function missingKeyWarning(runners: readonly Runner[]): string | undefined {
  const named = runners.flatMap(({ appName, agent }) => {
    const models = new Set(modelNames(agent));
    return models.size > 0 ? [`${appName} (${[...models].join(', ')})`] : [];
  });
  if (named.length === 0) return undefined;
  return `no key is set, so these agents cannot ask their models: ${named.join(', ')}; set GEMINI_API_KEY and start again`;
}

/** Returns the models that an agent and those below it name. */
function modelNames(agent: BaseAgent): string[] {
  const own = agent instanceof LlmAgent && typeof agent.model === 'string' ? [agent.model] : [];
  return [...own, ...agent.subAgents.flatMap(modelNames)];
}

/**
 * Returns the line that is printed at a signal while runs are active: the number of runs, the maximum wait, and the way to end the program
 * immediately.
 */
export function endingLine(running: number, drainMs: number, signal: NodeJS.Signals): string {
  const again = signal === 'SIGINT' ? 'Ctrl-C again' : 'another signal';
  return `finishing ${running === 1 ? '1 run' : `${running} runs`}, for ${drainMs / 1000} s at most; ${again} ends at once`;
}

/** Codes of errors that an agent or a node caused: the stack of their cause is printed too. */
const CODES_OF_OWN_CODE: readonly string[] = ['AGENT', 'NODE'];

/** Returns the text of a failure: code and message of an EventloomError, message and stack of any other error. */
export function failureText(error: unknown): string {
  if (!EventloomError.isInstance(error)) return inspect(error);
  const { code, message, cause } = error;
  const line = `${code}: ${message}`;
  if (cause === undefined) return line;
  if (CODES_OF_OWN_CODE.includes(code)) return `${line}\n  because of ${failureText(cause)}`;
  const reason = toError(cause).message;
  // The text already has the message of the model API, and the cause is the same in JSON.
  const hasReason = ModelError.isInstance(error) && error.status !== undefined;
  return hasReason || message.includes(reason) ? line : `${line}: ${reason}`;
}
