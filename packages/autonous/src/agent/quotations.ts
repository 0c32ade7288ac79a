import type { Run } from "./run.ts";

/** What tools put before the lines of a file: its name and numbers, marks of a diff or a quotation. */
const LINE_PREFIX = /^(?:[^\s:]{1,300}[:-]\d{1,9}[:-]|\s{0,10}\d{1,9}[\t:|→│ ]|> |[-+])/gm;

/**
 * Whether a text stands in what the model was given: results, what users said, notes of the workspace. A model that shows
 * what it has read does not call a tool by that, whatever the text says. White space, escapes and what tools put before
 * lines make no difference. Looks through the conversation once, when it is first asked.
 */
export function quotationCheck(run: Run): (markup: string) => boolean {
  let given: readonly string[] | undefined;
  return (markup) => {
    given ??= givenTexts(run).flatMap((text) => [squeeze(text), squeeze(text.replaceAll(LINE_PREFIX, ""))]);
    const wanted = squeeze(run.redact(markup));
    return given.some((text) => text.includes(wanted));
  };
}

function givenTexts({ messages, project }: Run): readonly string[] {
  const said = messages.flatMap((message) => (message.role === "assistant" ? [] : [message.text]));
  return [...said, JSON.stringify(project)];
}

/** Without white space and backslashes, and without the letters of escaped white space. */
function squeeze(text: string): string {
  return text.replaceAll(/\\[nrt]|[\s\\]/g, "");
}
