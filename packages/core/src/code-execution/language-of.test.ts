import { expect, test } from 'vitest';
import { languageOf } from './language-of.ts';

test.each([
  ['```js\n', 'javascript'],
  ['```tool_code\n', 'python'],
  ['```C++\n', 'c++'],
  ['PYTHON', 'python'],
  ['LANGUAGE_UNSPECIFIED', ''],
  ['<<', ''],
])('%j stands for the language %j', (text, language) => {
  expect(languageOf(text)).toBe(language);
});
