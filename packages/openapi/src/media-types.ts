/** Returns a media type in lower case and without parameters. */
export function mediaTypeOf(text: string): string {
  const [type = ''] = text.split(';');
  return type.trim().toLowerCase();
}

export const FORM_TYPE = 'application/x-www-form-urlencoded';
export const JSON_TYPE: RegExp = /[/+]json$/;
export const MULTIPART_TYPE: RegExp = /^multipart\//;
export const TEXT_TYPE: RegExp =
  /^text\/|[/+](xml|yaml|x-yaml|javascript|x-ndjson|csv|graphql|jsonl|jsonlines)$|^application\/(x-www-form-urlencoded|jwt|jose)$/;
/** Media types that models can read. */
export const READABLE_MEDIA_TYPE: RegExp = /^(image|audio|video)\/|^application\/pdf$/;
