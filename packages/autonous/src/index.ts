export * from "@autonous/runtime";
export { parseReply } from "./model/json-reply.ts";
export { runAgent } from "./agent/loop.ts";
export type { AgentOptions, AgentOutcome } from "./agent/run.ts";
export { createProvider } from "./model/choose.ts";
export type { ModelProvider } from "./model/provider.ts";
export { CannotServe, createService } from "./service.ts";
export type { Service, ServiceOptions } from "./service.ts";
