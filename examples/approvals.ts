/** You decide who approves a call before it runs: a chat, a ticket, or, as here, a function. */
import { createRuntime } from "autonous";
import type { ApprovalRequest } from "autonous";

function judge({ tool, touches }: ApprovalRequest) {
  console.log(`asked: ${tool} ${touches.map(({ access, path }) => `${access} ${path}`).join(", ")}`);
  const isScratch = touches.every(({ path }) => path.startsWith("scratch/"));
  if (!isScratch) return { answer: "deny", reason: "only scratch/ may be deleted", by: "judge" } as const;
  return { answer: "grant", scope: "call", by: "judge" } as const;
}

const runtime = await createRuntime({ roots: [process.cwd()], onApproval: judge });
for (const path of ["scratch/old.txt", "README.md"]) {
  await runtime.call({ name: "write", args: { path, content: "x\n" } });
  const { ok, error } = await runtime.call({ name: "delete_file", args: { path } });
  console.log(path, ok ? "deleted" : `${error?.code}: ${error?.message}`);
}
await runtime.close();
