import { type CodeFile, decodeBase64 } from '@eventloom/core';

const TEXT = /^text\/|\b(?:json|xml|yaml|csv|javascript)$/;

/** The text of a file whose type is one of text; the base64 of any other. */
export function fileText({ content, mimeType }: CodeFile): string {
  const [type = ''] = mimeType.split(';');
  return TEXT.test(type.trim()) ? new TextDecoder().decode(decodeBase64(content)) : content;
}
