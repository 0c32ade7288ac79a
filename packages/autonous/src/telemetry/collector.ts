/** Whether the standard OpenTelemetry variables name a collector. */
export function hasCollector(environment: NodeJS.ProcessEnv): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  const isOff = environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true";
  return !isOff && environment["OTEL_TRACES_EXPORTER"] !== "none" && [all, traces].some((each) => isSet(each));
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== "";
}
