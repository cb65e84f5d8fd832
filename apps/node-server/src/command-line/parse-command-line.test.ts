import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { parseCommandLine } from './parse-command-line.ts';

describe('the command line', () => {
  test('starts a server without arguments', () => {
    expect(parseCommandLine([])).toMatchObject({
      command: 'start',
      question: '',
      origins: [],
      json: false,
      help: false,
    });
  });

  test('accepts options before and after the question', () => {
    const line = parseCommandLine(['ask', '--json', 'how', 'are', 'you?', '--session=s']);
    expect(line).toMatchObject({ command: 'ask', question: 'how are you?', json: true, session: 's' });
  });

  test('accepts repeated options', () => {
    expect(parseCommandLine(['--resumable', '--resumable'])).toMatchObject({ resumable: true });
    const { origins } = parseCommandLine(['--origin', 'http://a.example', '--origin', 'http://b.example']);
    expect(origins).toEqual(['http://a.example', 'http://b.example']);
  });

  test('ignores the separator that pnpm passes on', () => {
    expect(parseCommandLine(['--', '--port', '1'])).toMatchObject({ command: 'start', port: '1' });
    expect(parseCommandLine(['ask', '--', 'hi', '--json'])).toMatchObject({ question: 'hi', json: true });
  });

  test.each([
    [['-5 plus 3'], '-5 plus 3'],
    [['is', '-5', 'below', '3?'], 'is -5 below 3?'],
    [['--', '-- is a comment'], '-- is a comment'],
    [['what', 'is', '--', '--json?'], 'what is --json?'],
  ])('reads %j as a question', (words, question) => {
    expect(parseCommandLine(['ask', ...words])).toMatchObject({ question, json: false });
  });

  test.each([
    [['--prot', '1'], 'there is no option --prot; did you mean --port?'],
    [['--agent=x'], 'there is no option --agent; did you mean --agents?'],
    [['--something-else'], 'there is no option --something-else; --help lists all options'],
    [['-5'], 'there is no command "-5"; there are start and ask'],
    [['-x'], 'there is no option -x; --help lists all options'],
    [['aks', 'hi'], 'there is no command "aks"; did you mean ask?'],
    [['serve'], 'there is no command "serve"; there are start and ask'],
    [['start', 'now'], 'start: expected only options, got "now"'],
    [['--session', 's'], '--session is an option of ask, not of start'],
    [['ask', 'hi', '--port', '1'], '--port is an option of start, not of ask'],
    [['--data', ''], '--data: is empty'],
    [['--port', '1', '--port=2'], '--port: is given more than once'],
    [['--port'], "Option '--port <value>' argument missing"],
    [['ask', '--json=yes'], "Option '--json' does not take an argument"],
  ])('%j is refused with a hint', (args, message) => {
    expect(() => parseCommandLine(args)).toThrow(UsageError);
    expect(() => parseCommandLine(args)).toThrow(message);
  });
});
