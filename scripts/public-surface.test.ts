import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";

interface Statement {
  readonly type: string;
  readonly source: { readonly value: string } | null;
  readonly specifiers?: readonly { readonly exported: { readonly name: string } }[];
}

/** The exported names of an index file, sorted, and the packages whose names it passes on. */
function namesOf(file: string): readonly string[] {
  const path = join(import.meta.dirname, "..", file);
  const { body } = parseAst(readFileSync(path, "utf8"), { lang: "ts" }, path) as unknown as {
    readonly body: readonly Statement[];
  };
  const names = body.flatMap((statement) => {
    if (statement.type === "ExportAllDeclaration") return [`* of ${statement.source?.value}`];
    expect(statement.type, `${file} only re-exports`).toBe("ExportNamedDeclaration");
    return (statement.specifiers ?? []).map(({ exported }) => exported.name);
  });
  return names.toSorted();
}

// A name added here is a promise to users: it needs documentation, and stays until the next major version.
test("@autonous/runtime exports these names", () => {
  expect(namesOf("packages/runtime/src/index.ts")).toEqual([
    "ApprovalAnswer",
    "ApprovalRequest",
    "AuditVerdict",
    "CallError",
    "CallOptions",
    "Decision",
    "ERRORS",
    "ErrorCode",
    "Explanation",
    "OnApproval",
    "OnCheckpoint",
    "OnReverseThinking",
    "PolicyConfiguration",
    "PolicyRule",
    "Runtime",
    "RuntimeEvent",
    "RuntimeOptions",
    "Tool",
    "ToolCallInput",
    "ToolCallResult",
    "ToolContext",
    "ToolDeclaration",
    "ToolError",
    "ToolInfo",
    "ToolOutput",
    "Touch",
    "createRuntime",
    "defineTool",
    "redact",
    "verifyAudit",
  ]);
});

test("autonous exports these names, and those of @autonous/runtime", () => {
  expect(namesOf("packages/autonous/src/index.ts")).toEqual([
    "* of @autonous/runtime",
    "AgentOptions",
    "AgentOutcome",
    "AiSdkToolCall",
    "AnthropicBlock",
    "CannotServe",
    "ModelProvider",
    "OpenAiChatCall",
    "OpenAiResponsesCall",
    "Service",
    "ServiceOptions",
    "aiSdkFunctionTools",
    "aiSdkTools",
    "anthropicTools",
    "createProvider",
    "createService",
    "openAiChatTools",
    "openAiResponsesTools",
    "runAgent",
    "runAiSdkToolCall",
    "runAnthropicToolUses",
    "runOpenAiToolCall",
  ]);
});

test.each(["packages/runtime/src/index.ts", "packages/autonous/src/index.ts"])(
  "docs/library.md documents every name of %s",
  (index) => {
    const page = readFileSync(join(import.meta.dirname, "../docs/library.md"), "utf8");
    const names = namesOf(index).filter((name) => !name.startsWith("*"));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !new RegExp(`^(?:\\| \`|### )${name}\\b`, "m").test(page))).toEqual([]);
  },
);

test("no public name is also an internal one", () => {
  const internal = new Set(namesOf("packages/runtime/src/internal.ts"));
  expect(internal.size).toBeGreaterThan(0);
  expect(namesOf("packages/runtime/src/index.ts").filter((name) => internal.has(name))).toEqual([]);
});
