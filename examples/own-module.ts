/** The service with your own tools and handlers: its worker loads them from a module. */
import { join } from "node:path";
import { createService } from "autonous";

const service = await createService({
  roots: [process.cwd()],
  port: 0, // a free one
  modules: [join(import.meta.dirname, "modules/release.ts")],
  log: (line) => console.error(line),
});
for (const env of ["staging", "prod"]) {
  const sent = await fetch(`${service.url}/api/tasks`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.token}` },
    body: JSON.stringify({ text: `/release {"env":"${env}"}` }),
  });
  const [, data = ""] = /^event: reply\ndata: (.*)$/m.exec(await sent.text()) ?? [];
  console.log((JSON.parse(data) as { text: string }).text.trimEnd());
}
await service.close();
