import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Approval, Grant } from "@autonous/runtime/internal";
import { describe, expect, test } from "vitest";
import { scratchPlace, startService, until } from "./support/service.ts";
import type { Served } from "./support/service.ts";

/** Tasks that wait for a person, answered by HTTP. */

async function pending(service: Served): Promise<readonly Approval[]> {
  const { approvals } = (await (await service.request("/api/approvals")).json()) as { approvals: readonly Approval[] };
  return approvals;
}

async function onePending(service: Served): Promise<Approval["request"]> {
  await until(async () => (await pending(service)).length === 1, "the task to ask");
  const [approval] = await pending(service);
  if (approval === undefined) throw new Error("nothing waits");
  return approval.request;
}

async function answer(service: Served, approval_id: string, body: object): Promise<Response> {
  return await service.request(`/api/approvals/${approval_id}`, { method: "POST", body: JSON.stringify(body) });
}

async function stateOf(service: Served, task_id: string): Promise<string> {
  const { task } = (await (await service.request(`/api/tasks/${task_id}`)).json()) as { task: { state: string } };
  return task.state;
}

const DELETE = { text: "/delete_file a.txt", chat: "one" } as const;

test("a task that waits holds up only its own chat, survives kill -9 of everything, and goes on when it is granted", async () => {
  const place = scratchPlace();
  const first = await startService(place);
  const { task_id } = await first.post(DELETE);
  const request = await onePending(first);
  expect(request).toMatchObject({
    tool: "delete_file",
    task_id,
    touches: [{ path: "a.txt", access: "delete" }],
    changes: [{ path: "a.txt", diff: expect.stringContaining("-a") as string }],
  });
  await until(async () => (await stateOf(first, task_id)) === "waiting_approval", "the task to be parked");

  const behind = await first.post({ text: "/ls .", chat: "one" });
  const elsewhere = await first.ask({ text: "/ls .", chat: "two" });
  expect(elsewhere.reply?.text).toBe("a.txt");
  expect(await stateOf(first, behind.task_id)).toBe("queued");

  await first.stop("SIGKILL");
  const second = await startService(place);
  expect(await onePending(second)).toEqual(request);
  expect(await stateOf(second, task_id)).toBe("waiting_approval");
  const granted = await answer(second, request.approval_id, { answer: "grant", by: "ada" });
  expect(granted.status).toBe(200);
  const late = await answer(second, request.approval_id, { answer: "deny", by: "bob" });
  expect([late.status, await late.json()]).toMatchObject([409, { won: false, approval: { answer: { by: "ada" } } }]);

  const { events, reply } = await second.follow(task_id);
  expect(reply).toMatchObject({ state: "done", text: expect.stringContaining("Deleted a.txt") as string });
  expect(existsSync(join(place.root, "a.txt"))).toBe(false);
  const types = events.map(({ type }) => type);
  expect(types.filter((type) => type === "tool_call.started")).toHaveLength(1);
  expect(types.filter((type) => type === "approval_required")).toHaveLength(1);
  const end = events.find(({ type }) => type === "tool_call.completed");
  expect(end?.payload["audit"]).toMatchObject({
    policy: { decision: "REQUIRE_CONFIRMATION", approved: true, approval_scope: "call", approved_by: "ada" },
  });
  expect((await second.follow(behind.task_id)).reply?.state).toBe("done");
  expect((await second.stop()).code).toBe(0);
});

test("a no goes back with its reason, and nothing runs", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const { task_id } = await service.post(DELETE);
  const { approval_id } = await onePending(service);
  await answer(service, approval_id, { answer: "deny", reason: "we still need it" });
  const { events } = await service.follow(task_id);
  const failed = events.find(({ type }) => type === "tool_call.failed");
  expect(failed?.payload["error"]).toMatchObject({
    code: "ApprovalDenied",
    message: expect.stringContaining("we still need it") as string,
  });
  expect(readFileSync(join(place.root, "a.txt"), "utf8")).toBe("a");
});

test("a request that is not answered in time counts as denied", async () => {
  const place = scratchPlace();
  const service = await startService(place, { environment: { AUTONOUS_APPROVAL_TIMEOUT_SECONDS: "1" } });
  const { task_id } = await service.post(DELETE);
  const { events } = await service.follow(task_id);
  const failed = events.find(({ type }) => type === "tool_call.failed");
  expect(failed?.payload["error"]).toMatchObject({ code: "ApprovalExpired" });
  expect(existsSync(join(place.root, "a.txt"))).toBe(true);
});

test("a yes to a file that changed meanwhile lets nothing run", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const { task_id } = await service.post(DELETE);
  const { approval_id } = await onePending(service);
  await until(async () => (await stateOf(service, task_id)) === "waiting_approval", "the task to be parked");
  writeFileSync(join(place.root, "a.txt"), "something else");
  await answer(service, approval_id, { answer: "grant" });
  const again = await onePending(service);
  expect(again.approval_id).not.toBe(approval_id);
  expect(existsSync(join(place.root, "a.txt"))).toBe(true);
  await answer(service, again.approval_id, { answer: "grant" });
  expect((await service.follow(task_id)).reply?.state).toBe("done");
  expect(existsSync(join(place.root, "a.txt"))).toBe(false);
});

test("a yes for the session counts for the chat's later tasks, until it is revoked", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const { task_id } = await service.post(DELETE);
  const { approval_id, offers } = await onePending(service);
  const wider = offers.find(({ pattern }) => pattern.kind === "path");
  expect(wider).toBeDefined();
  await answer(service, approval_id, { answer: "grant", scope: "session", offer: wider?.offer });
  expect((await service.follow(task_id)).reply?.state).toBe("done");

  writeFileSync(join(place.root, "a.txt"), "again");
  expect((await service.ask(DELETE)).reply?.text).toContain("Deleted");

  const { grants } = (await (await service.request("/api/grants")).json()) as { grants: readonly Grant[] };
  expect(grants).toMatchObject([{ scope: "session", by: "http", words: wider?.words }]);
  const gone = await service.request(`/api/grants/${grants[0]?.grant_id}`, { method: "DELETE" });
  expect(gone.status).toBe(200);
  writeFileSync(join(place.root, "a.txt"), "and again");
  await service.post(DELETE);
  expect(await onePending(service)).toMatchObject({ tool: "delete_file" });
});

describe("answers that cannot be", () => {
  test("are told what is wrong with them", async () => {
    const service = await startService(scratchPlace());
    await service.post(DELETE);
    const { approval_id } = await onePending(service);
    const statuses = [
      (await answer(service, "apr_none", { answer: "grant" })).status,
      (await answer(service, approval_id, { answer: "perhaps" })).status,
      (await answer(service, approval_id, { answer: "grant", via: "telegram" })).status,
      (await answer(service, approval_id, { answer: "grant", scope: "run", offer: "all" })).status,
      (await answer(service, approval_id, { answer: "grant", offer: "path" })).status,
      (await service.request(`/api/approvals/${approval_id}`, { method: "POST", body: "{" })).status,
      (await service.request("/api/approvals?state=maybe")).status,
      (await service.request("/api/grants/grant_none", { method: "DELETE" })).status,
      (await fetch(`${service.url}/api/approvals/${approval_id}`, { method: "POST", body: '{"answer":"grant"}' }))
        .status,
    ];
    expect(statuses).toEqual([404, 400, 400, 400, 400, 400, 400, 404, 401]);
    expect(await pending(service)).toHaveLength(1);
  });
});
