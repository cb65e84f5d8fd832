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
  const session = `${url}/apps/${encodeURIComponent(appName)}/users/me/sessions/first`;
  const quoted = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  const curl = `curl -s -o /dev/null -X POST ${session} --next -sN ${url}/run_sse -H 'content-type: application/json' -d '${quoted}'`;
  return `Eventloom serves ${appNames.join(', ')} at ${url} — try: ${curl}`;
}
