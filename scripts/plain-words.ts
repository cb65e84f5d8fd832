/** Words and turns that readers have to decode; AGENTS.md says what to write instead. */
const WORDS =
  /\b(?:untold|(?<!for )whom|who(?:m?ever)|whatsoever|anew|thereof|therein|hereby|nought|lest|save for|in vain|in no wise|of one's own|(?<!there )(?:is|are|was|were) none(?= of\b|[:;,.')"`]|$)|lets? go of|is let go|(?:goes|went) on|(?:is|are|was|were|been|being|not|never|when) told|told (?:of|apart|by|to|from)|tells? of|cut (?:off|short)|(?:is|was|are|were) away|nobody knows whether|as far as (?:it|they) (?:is|are) not|by and by|that (?:is|are) no(?! (?:longer|more)\b))(?![\w-])/i;

/** Returns the first word or turn in a text that readers have to decode; undefined for plain English. */
export function findWordToDecode(text: string): string | undefined {
  return WORDS.exec(text.replaceAll(/\s*\n\s*(?:\*(?!\/)\s?|\/\/\s?)?/g, ' '))?.[0];
}

/** Turns that only names contain: `onTold`, `goOn`. In texts some of them are plain English. */
const TURNS_OF_NAMES = /\b(?:told|(?:go|gone|goes|went) on|last words|make way|note inner|lacks something)\b/;

/** Names of classes and functions that had to be looked up, as a whole: "const turns" is plain English, "class Turns" is not. */
const REPLACED_NAMES = new Set(
  'Patience Seat Turns Slots Lanes Outbox confine fitting readUncovered recallSpeaker'.split(' '),
);

/** Names that are allowed: the protocol prescribes the code `RUN_GOES_ON`, and its error class is named after it. */
const PRESCRIBED = new Set(['RUN_GOES_ON', 'RunGoesOnError']);

/**
 * Returns the first word or turn in the name of a variable, a type, a member or a file that readers have to decode; undefined for a plain
 * name.
 */
export function findWordToDecodeInName(name: string): string | undefined {
  if (PRESCRIBED.has(name)) return undefined;
  if (REPLACED_NAMES.has(name.replace(/^#/, ''))) return name;
  const words = name.replaceAll(/([a-z\d])(?=[A-Z])|[_\-.#]/g, '$1 ').toLowerCase();
  return TURNS_OF_NAMES.exec(words)?.[0] ?? WORDS.exec(words)?.[0];
}

/** First words of a docstring without a subject. A label is fine: `In live runs: true if …`. */
const STARTS =
  /^(?:What|How|Whether|Who|Whom|Whose|Where|Which|When|Why|It|That|So|As|Is|Told|Nothing|Neither|None|Those|These|Like|Of|On|To|At|By|Before|Until|While|Since|Within|Under|Never|There|Also|And|But|If|(?:For|From|In|With|Without)\b(?![^.:]{1,50}:\s))\b/;

/** Returns the first word of a docstring that begins neither with a verb nor with the thing itself; undefined for others. */
export function findStartWithoutSubject(docstring: string): string | undefined {
  return STARTS.exec(docstring.replace(/^[\s*]+/, ''))?.[0];
}

/** First words of a test title that has no subject unless a `describe` around it has one. "Of two runs the later wins" is fine. */
const CONTINUATIONS =
  /^(?:is|are|was|were|has|have|had|does|that|whose|which|of(?! (?:two|three|several|many|all|models)\b)|(?:only )?(?:returns|throws|yields|declares|rejects|resolves|refuses|gets|cannot|must))\b/;

/** Returns the first word of a test title that continues the title of a `describe`; undefined for a title with a subject. */
export function findTitleWithoutSubject(title: string): string | undefined {
  return CONTINUATIONS.exec(title)?.[0];
}

/**
 * Returns the description of a docstring if it has too few words to say anything: "Secret.", "The program."; undefined for others. A
 * docstring may consist of tags, or of a value in backticks.
 */
export function findEmptyDescription(docstring: string): string | undefined {
  const [description = ''] = docstring
    .replaceAll(/\n\s*\*/g, ' ')
    .replace(/^[\s*]+/, '')
    .split(/(?:^|\s)@\w/);
  const words = description.trim().split(/\s+/);
  return words[0] !== '' && words.length < 3 && !/[`\d]/.test(description) ? description.trim() : undefined;
}

/**
 * Returns the package name in a docstring that editors read as a tag, because no backtick stands before its `@`;
 * undefined if there is none. They break the text there.
 */
export function findPackageAsTag(docstring: string): string | undefined {
  return /(?:^|[\s(])(@[\w-]+\/[\w-]+)/.exec(docstring)?.[1];
}
