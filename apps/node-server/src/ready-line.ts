const DEMO_QUESTION = 'What is the weather in Rome, and what is 17% of 340?';

/** What is printed once the server answers: where it is, and a command that shows it at work. */
export function readyLine(url: string, appNames: readonly string[]): string {
  const [appName = 'demo'] = appNames;
  const text = appName === 'demo' ? DEMO_QUESTION : 'Hello';
  const body = {
    appName,
    userId: 'me',
    sessionId: 'first',
    newMessage: { parts: [{ text }] },
    streaming: true,
  };
  const session = quoted(`${url}/apps/${encoded(appName)}/users/me/sessions/first`);
  const run = `${quoted(`${url}/run_sse`)} -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`;
  const curl = `curl -gs -o /dev/null -X POST ${session} --next -gsN ${run}`;
  return `Eventloom serves ${appNames.join(', ')} at ${url} — try: ${curl}`;
}

/** For a path, and free of what a shell or curl takes for a sign of its own. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** As a shell takes it for one word, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
