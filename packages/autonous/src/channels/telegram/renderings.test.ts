/** The pictures of the chat in docs/telegram.md, made of what the channel sent. UPDATE_RENDERINGS=1 writes them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { renderChat } from "../../../../../test/support/render-chat.ts";
import { scratchPlace } from "../../../../../test/support/telegram-channel.ts";
import { CASES } from "../../../../../test/support/telegram-renderings.ts";

const PAGE = join(import.meta.dirname, "../../../../../docs/telegram.md");
const [START, END] = ["<!-- renderings -->", "<!-- /renderings -->"];
const isWritten = process.env["UPDATE_RENDERINGS"] === "1";

const page = readFileSync(PAGE, "utf8");
const rendered = new Map<string, string>();

for (const { title, play, mask = (text: string) => text } of CASES) {
  test(`docs/telegram.md shows ${title}`, async () => {
    const place = await scratchPlace();
    const messages = await play(place);
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.flatMap(({ altered_entities }) => altered_entities)).toEqual([]); // Telegram shows all of our formatting
    const shown = `**${title.charAt(0).toUpperCase()}${title.slice(1)}**\n\n\`\`\`text\n${mask(renderChat(messages))}\n\`\`\``;
    rendered.set(title, shown);
    if (!isWritten) expect(page).toContain(shown);
  });
}

test("docs/telegram.md shows no rendering that is out of date", () => {
  const section = page.slice(page.indexOf(START), page.indexOf(END));
  if (!isWritten) expect(section.match(/^```text$/gm)?.length).toBe(CASES.length);
});

afterAll(() => {
  if (!isWritten || rendered.size !== CASES.length) return;
  const all = CASES.map(({ title }) => rendered.get(title)).join("\n\n");
  const [before, after] = [page.slice(0, page.indexOf(START)), page.slice(page.indexOf(END))];
  writeFileSync(PAGE, `${before}${START}\n\n${all}\n\n${after}`);
});
