/** Words and turns that readers have to decode; AGENTS.md says what to write instead. */
const WORDS =
  /\b(?:untold|(?<!for )whom|who(?:m?ever)|whatsoever|anew|thereof|therein|hereby|nought|lest|save for|in vain|in no wise|of one's own|(?<!there )(?:is|are|was|were) none(?= of\b|[:;,.')"`]|$)|lets? go of|is let go|(?:goes|went) on|(?:is|are|was|were|been|being|not|never|when) told|told (?:of|apart|by|to|from)|tells? of|cut (?:off|short)|(?:is|was|are|were) away|nobody knows whether|as far as (?:it|they) (?:is|are) not|by and by)(?![\w-])/i;

/** Returns the first word or turn in a text that readers have to decode; undefined for plain English. */
export function findWordToDecode(text: string): string | undefined {
  return WORDS.exec(text.replaceAll(/\s*\n\s*(?:\*(?!\/)\s?|\/\/\s?)?/g, ' '))?.[0];
}

/** First words of a docstring without a subject. A label is fine: `In live runs: true if …`. */
const STARTS =
  /^(?:What|How|Whether|Who|Whom|Whose|Where|Which|When|Why|It|That|So|As|Is|Told|Nothing|Neither|None|Those|These|Like|To|At|By|Before|Until|While|Since|Within|There|Also|And|But|If|(?:For|From|In|With|Without)\b(?![^.:]{1,50}:\s))\b/;

/** Returns the first word of a docstring that begins neither with a verb nor with the thing itself; undefined for others. */
export function findStartWithoutSubject(docstring: string): string | undefined {
  return STARTS.exec(docstring.replace(/^[\s*]+/, ''))?.[0];
}

/**
 * Returns the package name in a docstring that editors read as a tag, because no backtick stands before its `@`; undefined if there is none.
 * They break the text there.
 */
export function findPackageAsTag(docstring: string): string | undefined {
  return /(?:^|[\s(])(@[\w-]+\/[\w-]+)/.exec(docstring)?.[1];
}
